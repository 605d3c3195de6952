"""The whole configuration of a node, from its server.properties: typed, checked, never changed."""

from collections.abc import Iterator, Mapping
from typing import Self

from ottla.common.errors import InvalidConfigError
from ottla.config.broker import BrokerLogConfig, without_detours
from ottla.config.broker_keys import AUTHORIZER_CONFIG, BROKER_CONFIG
from ottla.config.definition import logger
from ottla.config.dynamic_keys import LISTENER_CONFIG
from ottla.config.kafka_config_rules import validate_values
from ottla.config.listeners import Listeners, config_prefix
from ottla.config.promises import require_kept_by_node
from ottla.config.sections import (
    GroupCoordinatorConfig,
    KraftConfig,
    NetworkConfig,
    ReplicationConfig,
    ServerConfig,
    TransactionConfig,
)
from ottla.config.values import ConfigValue


class KafkaConfig:
    """All broker keys of a node, by room.

    ``log``, ``network``, ``kraft``, ``server``, ``replication``, ``group`` and ``transaction`` hold the values;
    ``listeners`` is what the listener keys say together. ``originals`` is what was set, as text, with node.id and
    broker.id standing for each other; ``values`` has every key's typed value.
    """

    __slots__ = (
        "group",
        "kraft",
        "listeners",
        "log",
        "network",
        "originals",
        "replication",
        "server",
        "transaction",
        "values",
    )

    def __init__(self, originals: Mapping[str, str], values: Mapping[str, ConfigValue]) -> None:
        self.originals = originals
        self.values = values
        self.log = BrokerLogConfig.from_values(values)
        self.network = NetworkConfig.from_values(values)
        self.kraft = KraftConfig.from_values(values)
        self.server = ServerConfig.from_values(values)
        self.replication = ReplicationConfig.from_values(values)
        self.group = GroupCoordinatorConfig.from_values(values)
        self.transaction = TransactionConfig.from_values(values)
        self.listeners = Listeners.from_values(values, originals)

    @classmethod
    def from_props(cls, props: Mapping[str, str], *, warn: bool = True) -> Self:
        """The configuration in a server.properties; InvalidConfigError for the first thing that is wrong with it.

        Names that are no keys and keys without effect are reported in the log, unless ``warn`` is false. What promises
        a protection that this version does not give is refused.
        """
        originals = populate_synonyms(props)
        own = {name: value for name, value in originals.items() if not LISTENER_CONFIG.fullmatch(name)}
        given = BROKER_CONFIG.parse(own, warn=False)
        if warn:
            for remark in remarks(originals):
                logger.warning("%s", remark)
        values = BROKER_CONFIG.with_defaults(given)
        config = cls(originals, values)
        validate_values(config.kraft, config.network, config.replication, config.log, config.listeners, values)
        config.listeners.require_supported()
        require_kept_by_node(originals)
        return config

    def listener_values(self, listener_name: str) -> dict[str, ConfigValue]:
        """Every key's value for one listener: what is set with its prefix goes before what is set without."""
        prefix = config_prefix(listener_name)
        overrides = {
            name[len(prefix) :]: value
            for name, value in self.originals.items()
            if name.startswith(prefix) and name[len(prefix) :] in BROKER_CONFIG
        }
        return {**self.values, **BROKER_CONFIG.parse(overrides, warn=False)}

    def listener_network(self, listener_name: str) -> NetworkConfig:
        """The network keys for one listener."""
        return NetworkConfig.from_values(self.listener_values(listener_name))

    @property
    def metadata_log_dir(self) -> str:
        """The directory of the metadata log; one of ``log.dirs`` as it is written there, or a directory of its own."""
        log_dirs, path = self.log.log_dirs, self.kraft.metadata_log_dir
        if path is None:
            return log_dirs[0]
        return next((one for one in log_dirs if without_detours(one) == without_detours(path)), path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaConfig) and self.originals == other.originals

    __hash__ = None  # type: ignore[assignment]


def populate_synonyms(props: Mapping[str, str]) -> dict[str, str]:
    """A copy in which node.id stands for broker.id, or the other way round, where only one is set."""
    copy = dict(props)
    if "node.id" in copy:
        copy.setdefault("broker.id", copy["node.id"])
    elif "broker.id" in copy:
        copy["node.id"] = copy["broker.id"]
    return copy


def remarks(props: Mapping[str, str]) -> Iterator[str]:
    """What a server.properties says in vain, a sentence each: names that are no keys, and keys without effect here.

    InvalidConfigError if the value of one that has no effect is none that it may have.
    """
    yield from BROKER_CONFIG.remarks(
        {name: value for name, value in props.items() if not LISTENER_CONFIG.fullmatch(name)}
    )
    for name in props:
        match = LISTENER_CONFIG.fullmatch(name)
        if match and match[1] not in BROKER_CONFIG:
            yield f"{BROKER_CONFIG.describe_unknown(match[1])} (in {name}); it is ignored"


def require_known(name: str) -> None:
    """InvalidConfigError, with the nearest name that is one, unless a node has a property of this name."""
    match = LISTENER_CONFIG.fullmatch(name)
    own = match[1] if match else name
    of_mechanism = own.partition(".")[2] if match else own
    if not any(each in table for each in (own, of_mechanism) for table in (BROKER_CONFIG, AUTHORIZER_CONFIG)):
        raise InvalidConfigError(BROKER_CONFIG.describe_unknown(own) + (f" (in {name})" if match else ""))
