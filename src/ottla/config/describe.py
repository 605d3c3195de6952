"""DescribeConfigs: every key of a resource with its value, where it comes from, and what else could give it."""

from collections.abc import Callable, Iterator, Mapping

from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.client_metrics_config import CLIENT_METRICS_CONFIG
from ottla.config.config_entry import ConfigEntry, ConfigSource, ConfigSynonym, is_sensitive, type_id
from ottla.config.definition import ConfigTable
from ottla.config.dynamic_config import DynamicConfig
from ottla.config.dynamic_keys import (
    ALL_DYNAMIC_KEYS,
    broker_config_key,
    broker_config_synonyms,
    broker_config_type,
)
from ottla.config.group_config import GROUP_CONFIG, GROUP_CONFIG_SYNONYMS
from ottla.config.synonyms import TOPIC_CONFIG_SYNONYMS
from ottla.config.topic_keys import TOPIC_CONFIG
from ottla.config.values import ConfigValue, Password, format_value

Props = Mapping[str, str]

_STATIC_DEFAULTS = {
    key.name: key.default.value if isinstance(key.default, Password) else format_value(key.default)
    for key in BROKER_CONFIG
    if key.default is not None
}


def describe_broker(config: DynamicConfig) -> list[ConfigEntry]:
    """All keys of this broker, and the names that were set without being keys; internal keys only where set."""
    names = [key.name for key in BROKER_CONFIG if not key.internal]
    names += [name for name in config.current.originals if name not in BROKER_CONFIG or BROKER_CONFIG[name].internal]
    return [_broker_entry(config, name, _current_value(config, name)) for name in names]


def describe_broker_default(config: DynamicConfig) -> list[ConfigEntry]:
    """The keys that are set for all brokers, and nothing else."""
    entries = []
    for name, value in config.dynamic_default.items():
        entry = _broker_entry(config, name, value)
        synonyms = tuple(
            synonym for synonym in entry.synonyms if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        )
        entries.append(entry._replace(synonyms=synonyms, config_source=_source(synonyms)))
    return entries


def describe_topic(config: DynamicConfig, overrides: Props) -> list[ConfigEntry]:
    """All keys of a topic that sets ``overrides`` on this broker."""

    def default(name: str) -> ConfigValue:
        return config.current.log.topic_default(name)

    def synonyms(name: str, sensitive: bool) -> tuple[ConfigSynonym, ...]:
        broker_names = TOPIC_CONFIG_SYNONYMS.get(name)
        return _broker_synonyms(config, broker_names[0].name, sensitive) if broker_names else ()

    return list(_entries(TOPIC_CONFIG, overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG, default, synonyms))


def describe_group(config: DynamicConfig, overrides: Props) -> list[ConfigEntry]:
    """All keys of a group that sets ``overrides``."""

    def default(name: str) -> ConfigValue:
        broker_name = GROUP_CONFIG_SYNONYMS.get(name)
        return GROUP_CONFIG.default(name) if broker_name is None else config.current.values[broker_name]

    def synonyms(name: str, sensitive: bool) -> tuple[ConfigSynonym, ...]:
        broker_name = GROUP_CONFIG_SYNONYMS.get(name)
        if broker_name is not None:
            return _broker_synonyms(config, broker_name, sensitive)
        value = format_value(GROUP_CONFIG.default(name))
        return (ConfigSynonym(name, value, ConfigSource.DEFAULT_CONFIG),)

    return list(_entries(GROUP_CONFIG, overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, default, synonyms))


def describe_client_metrics(overrides: Props) -> list[ConfigEntry]:
    """All keys of a client metrics subscription that sets ``overrides``."""
    default: Callable[[str], ConfigValue] = CLIENT_METRICS_CONFIG.default
    source = ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
    return list(_entries(CLIENT_METRICS_CONFIG, overrides, source, default, lambda _name, _sensitive: ()))


def _entries(
    table: ConfigTable,
    overrides: Props,
    source: ConfigSource,
    default: Callable[[str], ConfigValue],
    below: Callable[[str, bool], tuple[ConfigSynonym, ...]],
) -> Iterator[ConfigEntry]:
    """Entries of a resource whose own keys go before what ``below`` knows of them."""
    for key in table:
        if key.internal and key.name not in overrides:
            continue
        sensitive = is_sensitive(key.type)
        value = key.parse(overrides[key.name]) if key.name in overrides else default(key.name)
        text = None if sensitive else format_value(value)
        synonyms = below(key.name, sensitive)
        if key.name in overrides:
            synonyms = (ConfigSynonym(key.name, text, source), *synonyms)
        yield ConfigEntry(key.name, text, _source(synonyms), sensitive, False, synonyms, type_id(key.type), key.doc)
    for name in overrides:
        if name not in table:
            synonyms = (ConfigSynonym(name, None, source),)
            yield ConfigEntry(name, None, source, True, False, synonyms, type_id(None), None)


def _current_value(config: DynamicConfig, name: str) -> ConfigValue:
    return config.current.values[name] if name in BROKER_CONFIG else config.current.originals[name]


def _broker_entry(config: DynamicConfig, name: str, value: ConfigValue) -> ConfigEntry:
    key = broker_config_key(name)
    config_type = broker_config_type(name) if key is None else key.type
    sensitive = is_sensitive(config_type)
    synonyms = _broker_synonyms(config, name, sensitive)
    return ConfigEntry(
        name=name,
        value=None if sensitive else format_value(value),
        config_source=_source(synonyms),
        is_sensitive=sensitive,
        read_only=name not in ALL_DYNAMIC_KEYS,
        synonyms=synonyms,
        config_type=type_id(config_type),
        documentation=None if key is None else key.doc,
    )


def _broker_synonyms(config: DynamicConfig, name: str, sensitive: bool) -> tuple[ConfigSynonym, ...]:
    """Every place that gives the key or a synonym of it a value, from the first place that names the key itself."""
    layers: tuple[tuple[Mapping[str, str | None], ConfigSource], ...] = (
        (config.dynamic_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
        (config.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (config.static.originals, ConfigSource.STATIC_BROKER_CONFIG),
        (_STATIC_DEFAULTS, ConfigSource.DEFAULT_CONFIG),
    )
    names = broker_config_synonyms(name, match_listener_override=True)
    found = [
        ConfigSynonym(synonym, None if sensitive else layer[synonym], source)
        for layer, source in layers
        for synonym in names
        if synonym in layer
    ]
    while found and found[0].name != name:
        del found[0]
    return tuple(found)


def _source(synonyms: tuple[ConfigSynonym, ...]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
