"""What a node's values must be to each other: the rules of Apache's ``KafkaConfig.validateValues``, and one of ours."""

import logging
from collections.abc import Iterable, Mapping

from ottla.common.errors import InvalidConfigError
from ottla.config.broker import BrokerLogConfig
from ottla.config.listeners import PROTOCOL_MAP, Listeners
from ottla.config.sections import KraftConfig, NetworkConfig, ReplicationConfig
from ottla.config.units import MIB
from ottla.config.values import ConfigValue

logger = logging.getLogger(__name__)


def validate_values(  # noqa: PLR0917 - the sections of one configuration
    kraft: KraftConfig,
    network: NetworkConfig,
    replication: ReplicationConfig,
    log: BrokerLogConfig,
    listeners: Listeners,
    values: Mapping[str, ConfigValue],
) -> None:
    """InvalidConfigError for the first rule that is broken."""
    if values["node.id"] != values["broker.id"]:
        raise InvalidConfigError("You must set `node.id` to the same value as `broker.id`.")
    _validate_replication(replication)
    _warn_of_short_sessions(kraft)
    _validate_quorum(kraft)
    _validate_roles(kraft, listeners, inter_broker_name_is_set=values["inter.broker.listener.name"] is not None)
    if kraft.is_broker:
        _validate_broker_listeners(listeners)
        _validate_cordoned(log, values)
        _validate_coordinator_topics(values)
    _validate_advertised_hosts(listeners)
    _validate_network(network)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise InvalidConfigError(message)


def _validate_replication(replication: ReplicationConfig) -> None:
    wait_ms = replication.replica_fetch_wait_max_ms
    _require(
        wait_ms <= replication.replica_socket_timeout_ms,
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts",
    )
    _require(
        wait_ms <= replication.replica_lag_time_max_ms,
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR",
    )


def _warn_of_short_sessions(kraft: KraftConfig) -> None:
    """Only a message: heartbeats are a broker's setting and sessions a controller's, which may be another node."""
    if kraft.broker_heartbeat_interval_ms * 2 > kraft.broker_session_timeout_ms:
        logger.error(
            "broker.heartbeat.interval.ms (%d ms) must be less than or equal to half of the broker.session.timeout.ms "
            "(%d ms), or a single late heartbeat costs a broker its session",
            kraft.broker_heartbeat_interval_ms,
            kraft.broker_session_timeout_ms,
        )


def _validate_quorum(kraft: KraftConfig) -> None:
    _require(
        bool(kraft.controller_quorum_voters or kraft.controller_quorum_bootstrap_servers),
        "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap "
        "controllers or controller.quorum.voters must contain a parseable set of controllers.",
    )
    voters = kraft.controller_quorum_voters
    if kraft.is_controller:
        _require(
            not voters or kraft.node_id in voters,
            f"If process.roles contains the 'controller' role, the node id {kraft.node_id} must be included in the set "
            f"of voters controller.quorum.voters={_shown(voters)}",
        )
    else:
        _require(
            kraft.node_id not in voters,
            f"If process.roles contains just the 'broker' role, the node id {kraft.node_id} must not be included in "
            f"the set of voters controller.quorum.voters={_shown(voters)}",
        )
        _require(
            not kraft.controller_quorum_auto_join_enable,
            "controller.quorum.auto.join.enable is only supported when process.roles contains the 'controller' role.",
        )


def _validate_roles(kraft: KraftConfig, listeners: Listeners, *, inter_broker_name_is_set: bool) -> None:
    names = kraft.controller_listener_names
    if not kraft.is_controller:
        _validate_broker_only(listeners)
        return
    if not kraft.is_broker:
        _require(
            len(listeners.advertised_controller_endpoints) == len(listeners.endpoints),
            "The listeners config must only contain KRaft controller listeners from controller.listener.names when "
            "process.roles=controller",
        )
        _require(
            not inter_broker_name_is_set or listeners.inter_broker_listener_name not in names,
            "controller.listener.names must not contain an explicitly set inter.broker.listener.name configuration "
            "value when process.roles=controller",
        )
    _require(
        bool(listeners.advertised_controller_endpoints),
        "controller.listener.names must contain at least one value appearing in the 'listeners' configuration when "
        "running the KRaft controller role",
    )
    _require(
        set(names) <= {endpoint.name for endpoint in listeners.endpoints},
        "controller.listener.names must only contain values appearing in the 'listeners' configuration when running "
        "the KRaft controller role",
    )


def _validate_broker_only(listeners: Listeners) -> None:
    _require(
        not listeners.controller_endpoints,
        "controller.listener.names must not contain a value appearing in the 'listeners' configuration when running "
        "KRaft with just the broker role",
    )
    names = listeners.controller_listener_names
    for name in names:
        _require(
            name.upper() in listeners.security_protocols,
            f"Controller listener with name {name.upper()} defined in controller.listener.names not found in "
            f"{PROTOCOL_MAP} (an explicit security mapping for each controller listener is required if {PROTOCOL_MAP} "
            "is non-empty, or if there are security protocols other than PLAINTEXT in use)",
        )
    if len(names) > 1:
        logger.warning(
            "controller.listener.names has multiple entries; only the first will be used since process.roles=broker: "
            "[%s]",
            ", ".join(names),
        )


def _validate_broker_listeners(listeners: Listeners) -> None:
    advertised = [endpoint.name for endpoint in listeners.advertised_broker_endpoints]
    listening = [endpoint.name for endpoint in listeners.endpoints]
    _require(
        bool(advertised),
        "There must be at least one broker advertised listener. Perhaps all listeners appear in "
        "controller.listener.names?",
    )
    _require(
        listeners.inter_broker_listener_name in advertised,
        "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based "
        f"on currently configured listeners are {','.join(advertised)}",
    )
    _require(
        set(advertised) <= set(listening),
        "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found "
        f"{','.join(advertised)}. The valid options based on the current configuration are {','.join(listening)}",
    )


def _validate_cordoned(log: BrokerLogConfig, values: Mapping[str, ConfigValue]) -> None:
    cordoned = values["cordoned.log.dirs"]
    assert isinstance(cordoned, tuple)
    if "*" in cordoned:
        _require(len(cordoned) == 1, "When cordoned.log.dirs is set to *, it must not contain other values")
        return
    unknown = [directory for directory in cordoned if directory not in log.log_dirs]
    _require(
        not unknown,
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : "
        + ", ".join(unknown),
    )


def _validate_coordinator_topics(values: Mapping[str, ConfigValue]) -> None:
    """Apache's broker starts with less, and then no group or transaction ever works: the topic cannot be made."""
    for key in ("offsets.topic.segment.bytes", "transaction.state.log.segment.bytes"):
        segment_bytes = values[key]
        assert isinstance(segment_bytes, int)
        _require(
            segment_bytes >= MIB,
            f"{key}={segment_bytes} must be at least {MIB}, the smallest segment.bytes that a topic may have.",
        )


def _validate_advertised_hosts(listeners: Listeners) -> None:
    for endpoint in (*listeners.advertised_broker_endpoints, *listeners.advertised_controller_endpoints):
        _require(
            endpoint.host != "0.0.0.0",  # noqa: S104 - refused, not bound to
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        )


def _validate_network(network: NetworkConfig) -> None:
    _require(
        network.queued_max_request_bytes <= 0 or network.queued_max_request_bytes >= network.socket_request_max_bytes,
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )
    _require(
        network.max_connections_per_ip != 0 or bool(network.max_connections_per_ip_overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    delay_ms, idle_ms = network.connection_failed_authentication_delay_ms, network.connections_max_idle_ms
    _require(
        idle_ms < 0 or delay_ms < idle_ms,
        f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
        f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from timing out",
    )


def _shown(ids: Iterable[int]) -> str:
    return f"[{', '.join(map(str, sorted(ids)))}]"
