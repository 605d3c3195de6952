"""One key as DescribeConfigs shows it."""

from enum import IntEnum, unique
from typing import NamedTuple

from ottla.config.values import ConfigType


@unique
class ConfigSource(IntEnum):
    """Where a value comes from, under the protocol's ids."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """A place that gives a key a value, and the value there; None for a secret."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """A key, its value (None for a secret), and where else it could come from, the place that counts first."""

    name: str
    value: str | None
    config_source: ConfigSource
    is_sensitive: bool
    read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    config_type: int
    documentation: str | None


UNKNOWN_TYPE = 0
"""The protocol's id of the type of a name that is no key."""

TYPE_IDS = {
    "BOOLEAN": 1,
    "STRING": 2,
    "INT": 3,
    "SHORT": 4,
    "LONG": 5,
    "DOUBLE": 6,
    "LIST": 7,
    "CLASS": 8,
    "PASSWORD": 9,
}


def type_id(config_type: ConfigType | None) -> int:
    """The protocol's id of a type."""
    return UNKNOWN_TYPE if config_type is None else TYPE_IDS[config_type.name]


def is_sensitive(config_type: ConfigType | None) -> bool:
    """Whether a value must not be shown; of what is unknown, none is."""
    return config_type is None or config_type is ConfigType.PASSWORD
