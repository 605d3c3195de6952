"""Incremental changes that a node deals with itself: the levels of its loggers, and what a change makes of its keys."""

from collections.abc import Mapping, Sequence

from ottla.common.errors import InvalidConfigError, InvalidRequestError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.broker_loggers import check_level, check_unset, set_level, unset_level
from ottla.config.values import ConfigType, format_value
from ottla.controller.configs import OpType
from ottla.protocol.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource
from ottla.server.config_admin import node_id_of


def change_levels(node_id: int, resource: AlterConfigsResource, *, validate_only: bool) -> None:
    """Set and unset the levels of this node's loggers: all that are named, or with an error none."""
    requested = node_id_of(resource.resource_name, "Node")
    if requested != node_id:
        raise InvalidRequestError(f"Unexpected node id. Expected {node_id}, but received {requested}")
    for config in resource.configs:
        _check(config)
    if validate_only:
        return
    for config in resource.configs:
        if config.config_operation == OpType.SET:
            set_level(config.name, config.value or "")
        else:
            unset_level(config.name)


def _check(config: AlterableConfig) -> None:
    operation = config.config_operation
    if operation == OpType.SET:
        check_level(config.name, config.value or "")
    elif operation == OpType.DELETE:
        check_unset(config.name)
    elif operation in (OpType.APPEND, OpType.SUBTRACT):
        raise InvalidRequestError(f"{OpType(operation).name} operation is not allowed for the BROKER_LOGGER resource")
    else:
        raise InvalidRequestError(f"Unknown operation type {operation} is not allowed for the BROKER_LOGGER resource")


def changed_props(props: Mapping[str, str], configs: Sequence[AlterableConfig]) -> dict[str, str]:
    """A broker's own configuration after the changes; values are not null where an operation needs one."""
    changed = dict(props)
    for config in configs:
        operation = config.config_operation
        if operation == OpType.DELETE:
            changed.pop(config.name, None)
            continue
        assert config.value is not None, "nulls have been refused"
        if operation == OpType.SET:
            changed[config.name] = config.value
        elif operation == OpType.APPEND:
            parts = [part for part in _list(changed, config.name, "append") if part]
            parts += [part for part in config.value.split(",") if part not in parts]
            changed[config.name] = ",".join(parts)
        elif operation == OpType.SUBTRACT:
            parts = _list(changed, config.name, "subtract")
            for part in config.value.split(","):
                if part in parts:
                    parts.remove(part)
            changed[config.name] = ",".join(parts)
        else:
            raise InvalidRequestError(f"Unknown operations type {operation}")
    return changed


def _list(props: Mapping[str, str], name: str, operation: str) -> list[str]:
    """The parts of a list that is set, or of its default."""
    if name not in BROKER_CONFIG:
        raise InvalidConfigError(f"Unknown config name: {name}")
    key = BROKER_CONFIG[name]
    if key.type is not ConfigType.LIST:
        raise InvalidConfigError(f"Config value {operation} is not allowed for config key: {name}")
    text = props[name] if name in props else format_value(key.default)
    return (text or "").split(",")
