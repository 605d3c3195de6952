"""Which configuration a resource may have."""

from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.client_metrics_config import validate_client_metrics_config
from ottla.config.group_config import validate_group_config
from ottla.config.promises import require_kept_by_node
from ottla.config.topic import validate_topic_config
from ottla.controller.effective_configs import BROKER, CLUSTER_DEFAULT, TOPIC
from ottla.controller.settings import ControllerSettings, Situation
from ottla.controller.topic_names import validate_topic_name
from ottla.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from ottla.metadata.records import ConfigRecord

CORDONED_LOG_DIRS: Final = "cordoned.log.dirs"


def check_min_isr(record: ConfigRecord, elr_enabled: bool) -> None:
    """With eligible leader replicas all brokers must agree on min.insync.replicas: the cluster's one rules."""
    if not elr_enabled or record.name != "min.insync.replicas" or record.resource_type != BROKER:
        return
    if record.resource_name != CLUSTER_DEFAULT:
        reason = "Broker-level min.insync.replicas cannot be altered while ELR is enabled."
    elif record.value is None:
        reason = "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."
    else:
        return
    raise ApiError(ErrorCode.INVALID_CONFIG, reason)


def validate_configs(
    situation: Situation,
    resource: ConfigResource,
    proposed: Mapping[str, str],
    *,
    newly_created: bool,
) -> None:
    """An error unless the resource exists (or is being made) and may have all of ``proposed``."""
    validate = _VALIDATORS.get(resource.type)
    if validate is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")
    validate(situation, resource.name, proposed)
    if not newly_created:
        _check_existence(situation.image, situation.settings, resource)


def _validate_topic(situation: Situation, name: str, proposed: Mapping[str, str]) -> None:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    validate_topic_name(name)
    validate_topic_config(proposed, situation.settings.topic_defaults)


def _validate_broker(situation: Situation, name: str, proposed: Mapping[str, str]) -> None:
    """The broker that forwards a change checks all about it. Whoever comes to the controller himself, past a broker,
    has the values checked here: the controller's own elections depend on some, and Apache's would fail from then on.
    """
    if name != CLUSTER_DEFAULT:
        try:
            broker_id = int(name)
        except ValueError:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.") from None
        if broker_id < 0:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")
    current = situation.image.configs.properties(BROKER, name)
    changed = {key: value for key, value in proposed.items() if current.get(key) != value}
    for key, value in changed.items():
        if key in BROKER_CONFIG:
            BROKER_CONFIG[key].parse(value)
    require_kept_by_node(changed)
    if proposed.get(CORDONED_LOG_DIRS) != current.get(CORDONED_LOG_DIRS):
        _check_cordoned(situation, proposed.get(CORDONED_LOG_DIRS), current.get(CORDONED_LOG_DIRS))


def _validate_group(situation: Situation, name: str, proposed: Mapping[str, str]) -> None:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    validate_group_config(proposed, situation.settings.broker_values)


def _validate_client_metrics(_situation: Situation, name: str, proposed: Mapping[str, str]) -> None:
    validate_client_metrics_config(name, proposed)


def _check_cordoned(situation: Situation, proposed: str | None, current: str | None) -> None:
    if not situation.image.features.metadata_version.is_cordoned_log_dirs_supported:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"The {CORDONED_LOG_DIRS} configuration value cannot be set because it requires metadata.version >= "
            "4.3-IV0",
        )
    # Only a broker knows its paths, so that without one in between no directory can be added.
    if not situation.context.forwarded and not _paths(proposed) <= _paths(current):
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"When updating {CORDONED_LOG_DIRS} via controllers,  the new value must be a subset of the current "
            "configuration value.",
        )


def _paths(value: str | None) -> set[str]:
    return {path.strip() for path in (value or "").split(",") if path.strip()}


def _check_existence(image: MetadataImage, settings: ControllerSettings, resource: ConfigResource) -> None:
    if resource.type == TOPIC:
        if resource.name not in image.topics.by_name:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
    elif resource.type == BROKER and resource.name != CLUSTER_DEFAULT:
        node_id = int(resource.name)
        known = (image.cluster.brokers, image.cluster.controllers, settings.quorum_node_ids)
        if not any(node_id in ids for ids in known):
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {node_id} found.")


_VALIDATORS: Final[Mapping[int, Callable[[Situation, str, Mapping[str, str]], None]]] = {
    TOPIC: _validate_topic,
    BROKER: _validate_broker,
    ConfigResourceType.CLIENT_METRICS: _validate_client_metrics,
    ConfigResourceType.GROUP: _validate_group,
}
