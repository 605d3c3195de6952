"""How Kafka's metadata shell shows what a file of its tree holds: one line each."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ottla.common.endpoint import SecurityProtocol

if TYPE_CHECKING:
    from ottla.metadata.broker_registration import BrokerRegistration
    from ottla.metadata.controller_registration import ControllerRegistration
    from ottla.metadata.endpoint import Endpoint
    from ottla.metadata.image.acls import StandardAcl
    from ottla.metadata.image.delegation_tokens import DelegationTokenData
    from ottla.metadata.image.provenance import MetadataProvenance
    from ottla.metadata.image.scram import ScramCredentialData
    from ottla.metadata.partition_registration import PartitionRegistration
    from ottla.protocol.message import VersionRange

_NO_UPPER_LEVEL: Final = 32_767


def provenance_text(provenance: "MetadataProvenance") -> str:
    """The last record of the image, with its time."""
    offset, epoch, time_ms, _ = provenance
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{time_ms % 1000:03d}".rstrip("0").rstrip(".")
    return f"offset {offset}, epoch {epoch}, time {moment}{fraction}Z[UTC]"


def optional_text(value: object) -> str:
    """A value that may be missing."""
    return "Optional.empty" if value is None else f"Optional[{value}]"


def broker_text(broker: "BrokerRegistration") -> str:
    """A broker."""
    cordoned = "null" if broker.cordoned_directories is None else _list(broker.cordoned_directories)
    return (
        f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}, incarnationId={broker.incarnation_id}, "
        f"listeners={_listeners(broker.listeners)}, supportedFeatures={_features(broker.supported_features)}, "
        f"rack={optional_text(broker.rack)}, fenced={_bool(broker.fenced)}, "
        f"inControlledShutdown={_bool(broker.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={_bool(broker.is_migrating_zk_broker)}, directories={_list(broker.directories)}, "
        f"cordonedDirectories={cordoned})"
    )


def controller_text(controller: "ControllerRegistration") -> str:
    """A controller."""
    return (
        f"ControllerRegistration(id={controller.id}, incarnationId={controller.incarnation_id}, "
        f"zkMigrationReady={_bool(controller.zk_migration_ready)}, listeners={_listeners(controller.listeners)}, "
        f"supportedFeatures={_features(controller.supported_features)})"
    )


def partition_text(partition: "PartitionRegistration") -> str:
    """A partition."""
    return (
        f"PartitionRegistration(replicas={_list(partition.replicas)}, directories={_list(partition.directories)}, "
        f"isr={_list(partition.isr)}, removingReplicas={_list(partition.removing_replicas)}, "
        f"addingReplicas={_list(partition.adding_replicas)}, elr={_list(partition.elr)}, "
        f"lastKnownElr={_list(partition.last_known_elr)}, leader={partition.leader}, "
        f"leaderRecoveryState={partition.leader_recovery_state.name}, leaderEpoch={partition.leader_epoch}, "
        f"partitionEpoch={partition.partition_epoch})"
    )


def acl_text(acl: "StandardAcl") -> str:
    """An access control entry, with names instead of codes."""
    from ottla.clients.admin.acl_operation import AclOperation
    from ottla.clients.admin.acls import AclPermissionType, PatternType, ResourceType

    return (
        f"StandardAcl[resourceType={ResourceType(acl.resource_type).name}, resourceName={acl.resource_name}, "
        f"patternType={PatternType(acl.pattern_type).name}, principal={acl.principal}, host={acl.host}, "
        f"operation={AclOperation(acl.operation).name}, "
        f"permissionType={AclPermissionType(acl.permission_type).name}]"
    )


def scram_text(data: "ScramCredentialData") -> str:
    """What a server keeps of a password, for whoever can read its files anyway."""
    return (
        f"ScramCredentialData(salt={data.salt.hex()}, storedKey={data.stored_key.hex()}, "
        f"serverKey={data.server_key.hex()}, iterations={data.iterations})"
    )


def token_text(token: "DelegationTokenData") -> str:
    """A delegation token; the parentheses are Kafka's."""
    return (
        f"DelegationTokenDatatokenId={token.token_id}(owner={token.owner}(tokenRequester={token.requester}"
        f"(renewers={' '.join(token.renewers)}, issueTimestamp={token.issue_timestamp}, "
        f"maxTimestamp={token.max_timestamp}), expiryTimestamp={token.expiration_timestamp}"
    )


def _listeners(listeners: "Mapping[str, Endpoint]") -> str:
    return _list(
        f"Endpoint(listenerName='{each.name}', securityProtocol={SecurityProtocol(each.security_protocol).name}, "
        f"host='{each.host}', port={each.port})"
        for _, each in sorted(listeners.items())
    )


def _features(features: "Mapping[str, VersionRange]") -> str:
    return "{" + ", ".join(f"{name}: {_levels(*levels)}" for name, levels in sorted(features.items())) + "}"


def _levels(lowest: int, highest: int) -> str:
    if lowest == highest:
        return str(lowest)
    return f"{lowest}+" if highest == _NO_UPPER_LEVEL else f"{lowest}-{highest}"


def _list(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _bool(value: bool) -> str:
    return str(value).lower()
