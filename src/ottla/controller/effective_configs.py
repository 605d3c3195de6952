"""Which value of a topic's configuration is in force: the topic's own, a broker's, the cluster's, or a default."""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.config.definition import ConfigKey
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.topic import TOPIC_CONFIG
from ottla.config.values import ConfigType, format_value
from ottla.controller.settings import ControllerSettings
from ottla.metadata.image import ConfigResourceType, MetadataImage

TOPIC: Final = ConfigResourceType.TOPIC
BROKER: Final = ConfigResourceType.BROKER
CLUSTER_DEFAULT: Final = ""
"""The broker resource whose configuration counts for all brokers."""


class ConfigSource(IntEnum):
    """Where a value comes from, as responses say it."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class EffectiveConfig(NamedTuple):
    """One key with the value in force."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool


def effective_topic_configs(
    image: MetadataImage, settings: ControllerSettings, topic_configs: Mapping[str, str]
) -> Iterator[EffectiveConfig]:
    """Every key that a topic with this configuration shows, by name; internal keys only where they are set."""
    for key in sorted(TOPIC_CONFIG, key=lambda key: key.name):
        if not key.internal or key.name in topic_configs:
            yield _resolve(image, settings, topic_configs, key)


def effective_topic_value(image: MetadataImage, settings: ControllerSettings, topic: str, name: str) -> str:
    """The value of one key, which has a default, for an existing topic."""
    value = _resolve(image, settings, image.configs.properties(TOPIC, topic), TOPIC_CONFIG[name]).value
    assert value is not None, f"{name} has no default"
    return value


def static_min_insync_replicas(settings: ControllerSettings) -> int:
    """min.insync.replicas of the brokers' properties."""
    return int(settings.static_config.get("min.insync.replicas", TOPIC_CONFIG.default("min.insync.replicas")))


def _resolve(
    image: MetadataImage, settings: ControllerSettings, topic_configs: Mapping[str, str], key: ConfigKey
) -> EffectiveConfig:
    is_sensitive = key.type is ConfigType.PASSWORD
    if key.name in topic_configs:
        return EffectiveConfig(key.name, topic_configs[key.name], ConfigSource.DYNAMIC_TOPIC, is_sensitive)
    layers = (
        (image.configs.properties(BROKER, str(settings.node_id)), ConfigSource.DYNAMIC_BROKER),
        (image.configs.properties(BROKER, CLUSTER_DEFAULT), ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (settings.static_config, ConfigSource.STATIC_BROKER),
    )
    for properties, source in layers:
        for synonym in TOPIC_CONFIG_SYNONYMS.get(key.name, ()):
            value = properties.get(synonym.name)
            if value is not None:
                text = value if synonym.factor == 1 else str(int(value) * synonym.factor)
                return EffectiveConfig(key.name, text, source, is_sensitive)
    default = None if key.default is None else format_value(key.default)
    return EffectiveConfig(key.name, default, ConfigSource.DEFAULT, is_sensitive)
