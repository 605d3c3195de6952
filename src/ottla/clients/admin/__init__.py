"""The admin client: everything that can be asked of a cluster and changed in it, with plain dataclasses back.

Methods on one thing raise; methods on several give a result for each of them and raise the first error, or with
``raise_errors=False`` give errors as values. Names are imported when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.clients.admin.acl_operation import AclOperation as AclOperation
    from ottla.clients.admin.acls import AclBinding as AclBinding
    from ottla.clients.admin.acls import AclBindingFilter as AclBindingFilter
    from ottla.clients.admin.acls import AclPermissionType as AclPermissionType
    from ottla.clients.admin.acls import PatternType as PatternType
    from ottla.clients.admin.acls import ResourceType as ResourceType
    from ottla.clients.admin.admin import Admin as Admin
    from ottla.clients.admin.cluster import ApiVersionsDescription as ApiVersionsDescription
    from ottla.clients.admin.cluster import ClusterDescription as ClusterDescription
    from ottla.clients.admin.cluster import ClusterNode as ClusterNode
    from ottla.clients.admin.configs import AlterConfigOp as AlterConfigOp
    from ottla.clients.admin.configs import AlterConfigOpType as AlterConfigOpType
    from ottla.clients.admin.configs import ConfigEntry as ConfigEntry
    from ottla.clients.admin.configs import ConfigResource as ConfigResource
    from ottla.clients.admin.configs import ConfigResourceType as ConfigResourceType
    from ottla.clients.admin.configs import ConfigSynonym as ConfigSynonym
    from ottla.clients.admin.elections import ElectionType as ElectionType
    from ottla.clients.admin.features import FeatureMetadata as FeatureMetadata
    from ottla.clients.admin.features import FeatureUpdate as FeatureUpdate
    from ottla.clients.admin.features import FeatureUpgradeType as FeatureUpgradeType
    from ottla.clients.admin.group_descriptions import ClassicGroupDescription as ClassicGroupDescription
    from ottla.clients.admin.group_descriptions import ConsumerGroupDescription as ConsumerGroupDescription
    from ottla.clients.admin.group_descriptions import MemberDescription as MemberDescription
    from ottla.clients.admin.group_members import MemberToRemove as MemberToRemove
    from ottla.clients.admin.groups import GroupListing as GroupListing
    from ottla.clients.admin.groups import GroupState as GroupState
    from ottla.clients.admin.groups import GroupType as GroupType
    from ottla.clients.admin.log_dirs import LogDirDescription as LogDirDescription
    from ottla.clients.admin.log_dirs import ReplicaInfo as ReplicaInfo
    from ottla.clients.admin.log_dirs import TopicPartitionReplica as TopicPartitionReplica
    from ottla.clients.admin.offsets import IsolationLevel as IsolationLevel
    from ottla.clients.admin.offsets import ListedOffset as ListedOffset
    from ottla.clients.admin.offsets import OffsetSpec as OffsetSpec
    from ottla.clients.admin.partitions import DeletedRecords as DeletedRecords
    from ottla.clients.admin.partitions import NewPartitions as NewPartitions
    from ottla.clients.admin.producers import FencedProducer as FencedProducer
    from ottla.clients.admin.producers import ProducerState as ProducerState
    from ottla.clients.admin.quorum import QuorumInfo as QuorumInfo
    from ottla.clients.admin.quorum import RaftVoterEndpoint as RaftVoterEndpoint
    from ottla.clients.admin.quorum import ReplicaState as ReplicaState
    from ottla.clients.admin.quotas import ClientQuotaEntity as ClientQuotaEntity
    from ottla.clients.admin.quotas import ClientQuotaFilterComponent as ClientQuotaFilterComponent
    from ottla.clients.admin.quotas import quota_entity as quota_entity
    from ottla.clients.admin.reassignments import PartitionReassignment as PartitionReassignment
    from ottla.clients.admin.scram import ScramCredentialInfo as ScramCredentialInfo
    from ottla.clients.admin.scram import ScramMechanism as ScramMechanism
    from ottla.clients.admin.scram import UserScramCredentialAlteration as UserScramCredentialAlteration
    from ottla.clients.admin.scram import UserScramCredentialDeletion as UserScramCredentialDeletion
    from ottla.clients.admin.scram import UserScramCredentialUpsertion as UserScramCredentialUpsertion
    from ottla.clients.admin.tokens import DelegationToken as DelegationToken
    from ottla.clients.admin.topic_descriptions import PartitionDescription as PartitionDescription
    from ottla.clients.admin.topic_descriptions import TopicDescription as TopicDescription
    from ottla.clients.admin.topics import CreatedTopic as CreatedTopic
    from ottla.clients.admin.topics import NewTopic as NewTopic
    from ottla.clients.admin.topics import TopicListing as TopicListing
    from ottla.clients.admin.transactions import AbortTransactionSpec as AbortTransactionSpec
    from ottla.clients.admin.transactions import TransactionDescription as TransactionDescription
    from ottla.clients.admin.transactions import TransactionListing as TransactionListing
    from ottla.clients.admin.transactions import TransactionState as TransactionState
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata as OffsetAndMetadata
    from ottla.common.kafka_principal import KafkaPrincipal as KafkaPrincipal
    from ottla.common.topic_partition import TopicPartition as TopicPartition
    from ottla.config.config_entry import ConfigSource as ConfigSource
    from ottla.config.values import ConfigType as ConfigType

_HOMES: Final = {
    "AbortTransactionSpec": "ottla.clients.admin.transactions",
    "AclBinding": "ottla.clients.admin.acls",
    "AclBindingFilter": "ottla.clients.admin.acls",
    "AclOperation": "ottla.clients.admin.acl_operation",
    "AclPermissionType": "ottla.clients.admin.acls",
    "Admin": "ottla.clients.admin.admin",
    "AlterConfigOp": "ottla.clients.admin.configs",
    "AlterConfigOpType": "ottla.clients.admin.configs",
    "ApiVersionsDescription": "ottla.clients.admin.cluster",
    "ClassicGroupDescription": "ottla.clients.admin.group_descriptions",
    "ClientQuotaEntity": "ottla.clients.admin.quotas",
    "ClientQuotaFilterComponent": "ottla.clients.admin.quotas",
    "ClusterDescription": "ottla.clients.admin.cluster",
    "ClusterNode": "ottla.clients.admin.cluster",
    "ConfigEntry": "ottla.clients.admin.configs",
    "ConfigResource": "ottla.clients.admin.configs",
    "ConfigResourceType": "ottla.clients.admin.configs",
    "ConfigSource": "ottla.config.config_entry",
    "ConfigSynonym": "ottla.clients.admin.configs",
    "ConfigType": "ottla.config.values",
    "ConsumerGroupDescription": "ottla.clients.admin.group_descriptions",
    "CreatedTopic": "ottla.clients.admin.topics",
    "DelegationToken": "ottla.clients.admin.tokens",
    "DeletedRecords": "ottla.clients.admin.partitions",
    "ElectionType": "ottla.clients.admin.elections",
    "FeatureMetadata": "ottla.clients.admin.features",
    "FeatureUpdate": "ottla.clients.admin.features",
    "FeatureUpgradeType": "ottla.clients.admin.features",
    "FencedProducer": "ottla.clients.admin.producers",
    "GroupListing": "ottla.clients.admin.groups",
    "GroupState": "ottla.clients.admin.groups",
    "GroupType": "ottla.clients.admin.groups",
    "IsolationLevel": "ottla.clients.admin.offsets",
    "KafkaPrincipal": "ottla.common.kafka_principal",
    "ListedOffset": "ottla.clients.admin.offsets",
    "LogDirDescription": "ottla.clients.admin.log_dirs",
    "MemberDescription": "ottla.clients.admin.group_descriptions",
    "MemberToRemove": "ottla.clients.admin.group_members",
    "NewPartitions": "ottla.clients.admin.partitions",
    "NewTopic": "ottla.clients.admin.topics",
    "OffsetAndMetadata": "ottla.clients.consumer.offset_and_metadata",
    "OffsetSpec": "ottla.clients.admin.offsets",
    "PartitionDescription": "ottla.clients.admin.topic_descriptions",
    "PartitionReassignment": "ottla.clients.admin.reassignments",
    "PatternType": "ottla.clients.admin.acls",
    "ProducerState": "ottla.clients.admin.producers",
    "QuorumInfo": "ottla.clients.admin.quorum",
    "RaftVoterEndpoint": "ottla.clients.admin.quorum",
    "ReplicaInfo": "ottla.clients.admin.log_dirs",
    "ReplicaState": "ottla.clients.admin.quorum",
    "ResourceType": "ottla.clients.admin.acls",
    "ScramCredentialInfo": "ottla.clients.admin.scram",
    "ScramMechanism": "ottla.clients.admin.scram",
    "TopicDescription": "ottla.clients.admin.topic_descriptions",
    "TopicListing": "ottla.clients.admin.topics",
    "TopicPartition": "ottla.common.topic_partition",
    "TopicPartitionReplica": "ottla.clients.admin.log_dirs",
    "TransactionDescription": "ottla.clients.admin.transactions",
    "TransactionListing": "ottla.clients.admin.transactions",
    "TransactionState": "ottla.clients.admin.transactions",
    "UserScramCredentialAlteration": "ottla.clients.admin.scram",
    "UserScramCredentialDeletion": "ottla.clients.admin.scram",
    "UserScramCredentialUpsertion": "ottla.clients.admin.scram",
    "quota_entity": "ottla.clients.admin.quotas",
}

__all__ = [  # noqa: PLE0604 - the names of a table
    *_HOMES,
]


def __getattr__(name: str) -> object:
    """Import what is asked for: who needs a dataclass does not need the network."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
