"""IncrementalAlterConfigs and AlterConfigs: the dynamic configuration of topics and brokers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.client_metrics_config import CLIENT_METRICS_CONFIG
from ottla.config.definition import ConfigTable
from ottla.config.group_config import GROUP_CONFIG
from ottla.config.topic import TOPIC_CONFIG
from ottla.config.values import ConfigType, format_value
from ottla.controller.config_validation import check_min_isr, validate_configs
from ottla.controller.effective_configs import BROKER, TOPIC
from ottla.controller.result import ControllerResult, check_record_count, message_of
from ottla.controller.settings import ControllerRequestContext, ControllerSettings, Situation
from ottla.metadata.image import ConfigResource, ConfigResourceType, MetadataImage
from ottla.metadata.records import ClearElrRecord, ConfigRecord, MetadataRecord
from ottla.protocol.messages import alter_configs as legacy
from ottla.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

MAX_VALUE_LENGTH: Final = 32767

ResourceT = TypeVar("ResourceT", AlterConfigsResource, legacy.AlterConfigsResource)

_TABLES: Final[Mapping[int, ConfigTable]] = {
    TOPIC: TOPIC_CONFIG,
    BROKER: BROKER_CONFIG,
    ConfigResourceType.CLIENT_METRICS: CLIENT_METRICS_CONFIG,
    ConfigResourceType.GROUP: GROUP_CONFIG,
}


class OpType(IntEnum):
    """What to do with a key; lists can be added to and taken from."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigOperation(NamedTuple):
    """One change of one key."""

    type: OpType
    value: str | None


def incremental_alter_configs(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: IncrementalAlterConfigsRequest,
) -> ControllerResult[IncrementalAlterConfigsResponse]:
    """The changes of each resource: all of its keys or, with an error, none."""
    situation = Situation(image, settings, context)
    records: list[MetadataRecord] = []
    responses = []
    for owner, resource, count in _distinct(request.resources):
        response = AlterConfigsResourceResponse(resource_type=owner.type, resource_name=owner.name, error_message=None)
        try:
            _check_resource(owner, count)
            operations = {
                config.name: ConfigOperation(_op_type(config.config_operation), config.value)
                for config in resource.configs
            }
            records += incremental_alter_config(situation, owner, operations)
        except KafkaError as failure:
            response.error_code, response.error_message = failure.code, message_of(failure)
        responses.append(response)
    check_record_count(records)
    answer = IncrementalAlterConfigsResponse(responses=responses)
    return ControllerResult(() if request.validate_only else records, answer)


def alter_configs(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: legacy.AlterConfigsRequest,
) -> ControllerResult[legacy.AlterConfigsResponse]:
    """The old form: each resource gets exactly the keys named, and loses all others."""
    situation = Situation(image, settings, context)
    records: list[MetadataRecord] = []
    responses = []
    for owner, resource, count in _distinct(request.resources):
        response = legacy.AlterConfigsResourceResponse(
            resource_type=owner.type, resource_name=owner.name, error_message=None
        )
        try:
            _check_resource(owner, count)
            configs = {config.name: config.value for config in resource.configs}
            records += _replace_config(situation, owner, configs)
        except KafkaError as failure:
            response.error_code, response.error_message = failure.code, message_of(failure)
        responses.append(response)
    check_record_count(records)
    answer = legacy.AlterConfigsResponse(responses=responses)
    return ControllerResult(() if request.validate_only else records, answer)


def incremental_alter_config(
    situation: Situation,
    resource: ConfigResource,
    operations: Mapping[str, ConfigOperation],
    *,
    newly_created: bool = False,
) -> list[MetadataRecord]:
    """The records that make these changes in one resource; an error where any of them is not allowed."""
    current = situation.image.configs.properties(resource.type, resource.name)
    changed = []
    for name, operation in operations.items():
        value = _apply(resource, name, current.get(name), operation)
        # A broker reloads, say, a key store whose path is as before.
        if value != current.get(name) or resource.type == BROKER:
            changed.append(_record(resource, name, value))
    return _checked(situation, resource, changed, (), newly_created=newly_created)


def _replace_config(
    situation: Situation,
    resource: ConfigResource,
    configs: Mapping[str, str | None],
) -> list[MetadataRecord]:
    current = situation.image.configs.properties(resource.type, resource.name)
    changed = [
        _record(resource, name, value)
        for name, value in configs.items()
        if value != current.get(name) or resource.type == BROKER
    ]
    dropped = [_record(resource, name, None) for name in current if name not in configs]
    return _checked(situation, resource, changed, dropped)


def _checked(
    situation: Situation,
    resource: ConfigResource,
    changed: Sequence[ConfigRecord],
    dropped: Sequence[ConfigRecord],
    *,
    newly_created: bool = False,
) -> list[MetadataRecord]:
    elr_enabled = situation.image.features.is_elr_enabled
    proposed = dict(situation.image.configs.properties(resource.type, resource.name))
    for record in (*changed, *dropped):
        check_min_isr(record, elr_enabled)
        if record.value is None:
            proposed.pop(record.name, None)
        elif len(record.value) > MAX_VALUE_LENGTH:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"The configuration value cannot be added because it exceeds the maximum value size of "
                f"{MAX_VALUE_LENGTH} bytes.",
            )
        else:
            proposed[record.name] = record.value
    validate_configs(situation, resource, proposed, newly_created=newly_created)
    policy = situation.settings.alter_config_policy
    if policy is not None:
        # What the old API drops without naming it is no change that somebody asked for.
        policy(resource, {record.name: record.value for record in changed})
    records: list[MetadataRecord] = [*changed, *dropped]
    if elr_enabled:
        records += _clear_elr_records((*changed, *dropped))
    return records


def _clear_elr_records(records: Iterable[ConfigRecord]) -> list[ClearElrRecord]:
    """With another min.insync.replicas, other records may have been committed: nobody is eligible any more."""
    return [
        ClearElrRecord(topic_name=record.resource_name if record.resource_type == TOPIC else "")
        for record in records
        if record.name == "min.insync.replicas"
    ]


def _apply(resource: ConfigResource, name: str, current: str | None, operation: ConfigOperation) -> str | None:
    if operation.type is OpType.SET:
        return operation.value
    if operation.type is OpType.DELETE:
        return None
    table = _TABLES.get(resource.type)
    if table is None or name not in table or table[name].type is not ConfigType.LIST:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {operation.type.name} to key {name} because its type is not LIST.",
        )
    if current is None and table[name].default is not None:
        current = format_value(table[name].default)
    parts = [part for part in (current or "").split(",") if part]
    for part in (operation.value or "").split(","):
        if operation.type is OpType.SUBTRACT:
            if part in parts:
                parts.remove(part)
        elif part not in parts:
            parts.append(part)
    return ",".join(parts)


def _record(resource: ConfigResource, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)


def _op_type(code: int) -> OpType:
    try:
        return OpType(code)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown config operation {code}.") from None


def _distinct(resources: Sequence[ResourceT]) -> Iterator[tuple[ConfigResource, ResourceT, int]]:
    """Each resource where it is named first, with how often it is named."""
    counts = Counter(ConfigResource(resource.resource_type, resource.resource_name) for resource in resources)
    told: set[ConfigResource] = set()
    for resource in resources:
        owner = ConfigResource(resource.resource_type, resource.resource_name)
        if owner not in told:
            told.add(owner)
            yield owner, resource, counts[owner]


def _check_resource(owner: ConfigResource, count: int) -> None:
    if owner.type not in set(ConfigResourceType) - {ConfigResourceType.UNKNOWN}:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {owner.type}.")
    if count > 1:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
