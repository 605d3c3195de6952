"""The dynamic configuration of groups, as the metadata has it."""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from ottla.common.errors import InvalidConfigError
from ottla.config.group_config import GROUP_CONFIG
from ottla.config.values import ConfigValue
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage

logger = logging.getLogger(__name__)

_NOTHING: Final = ConsumerGroupConfig()


class _Parsed(NamedTuple):
    properties: Mapping[str, str]
    config: ConsumerGroupConfig


class MetadataGroupConfigs:
    """Called with a group's id; see :data:`ottla.group.consumer.context.GroupConfigs`.

    The image replaces a group's properties when they change, so what was parsed counts as long as they are the same.
    """

    __slots__ = ("_image", "_parsed")

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        self._parsed: dict[str, _Parsed] = {}  # of groups that have a configuration

    def __call__(self, group_id: str) -> ConsumerGroupConfig:
        """What is set for a group itself."""
        properties = self._image().configs.properties(ConfigResourceType.GROUP, group_id)
        if not properties:
            self._parsed.pop(group_id, None)
            return _NOTHING
        known = self._parsed.get(group_id)
        if known is None or known.properties is not properties:
            known = self._parsed[group_id] = _Parsed(properties, _parse(group_id, properties))
        return known.config


def _parse(group_id: str, properties: Mapping[str, str]) -> ConsumerGroupConfig:
    try:
        values = GROUP_CONFIG.parse(properties)
    except InvalidConfigError as error:
        logger.error("The configuration of group %s does not count: %s", group_id, error)
        return _NOTHING
    return ConsumerGroupConfig(
        session_timeout_ms=_number(values, "consumer.session.timeout.ms"),
        heartbeat_interval_ms=_number(values, "consumer.heartbeat.interval.ms"),
        assignment_interval_ms=_number(values, "consumer.assignment.interval.ms"),
    )


def _number(values: Mapping[str, ConfigValue], name: str) -> int | None:
    value = values.get(name)
    assert value is None or isinstance(value, int)
    return value
