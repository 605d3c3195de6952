"""How far a running broker's configuration may change at once: the checks of Apache's reconfigurables."""

from collections.abc import Callable, Mapping

from ottla.common.errors import InvalidConfigError
from ottla.config.dynamic_keys import LISTENER_LIMITS, PER_BROKER_KEYS, SECURITY_STORES, THREAD_COUNTS, base_name
from ottla.config.kafka_config import KafkaConfig
from ottla.config.listeners import config_prefix
from ottla.config.values import ConfigValue

_MUTABLE_LISTENER_KEYS = SECURITY_STORES | LISTENER_LIMITS | {"num.network.threads"}


def validate_reconfiguration(current: KafkaConfig, proposed: KafkaConfig) -> None:
    """InvalidConfigError for a change that a running broker cannot follow.

    A rule is asked only where one of its keys changes: what was wrong before does not stand in the way of the rest.
    """
    changed = {base_name(name) for name, _ in current.originals.items() ^ proposed.originals.items()}
    for names, rule in _RULES:
        if names & changed:
            rule(current, proposed)


def _validate_thread_counts(current: KafkaConfig, proposed: KafkaConfig) -> None:
    for name in sorted(THREAD_COUNTS):
        _validate_thread_count(name, current.values[name], proposed.values[name])


def _validate_network_threads(current: KafkaConfig, proposed: KafkaConfig) -> None:
    name = "num.network.threads"
    kept = {endpoint.name for endpoint in current.listeners.endpoints}
    for listener in kept.intersection(endpoint.name for endpoint in proposed.listeners.endpoints):
        _validate_thread_count(name, current.listener_values(listener)[name], proposed.listener_values(listener)[name])


def _validate_thread_count(name: str, old: ConfigValue, new: ConfigValue) -> None:
    """At most half or double at a time, as Apache has it for its pools."""
    assert isinstance(old, int) and isinstance(new, int)
    problem = f"Dynamic thread count update validation failed for {name}={new}"
    if new < old // 2:
        raise InvalidConfigError(f"{problem}, value should be at least half the current value {old}")
    if new > old * 2:
        raise InvalidConfigError(f"{problem}, value should not be greater than double the current value {old}")


def _validate_cleaner_threads(current: KafkaConfig, proposed: KafkaConfig) -> None:
    old, new = current.log.log_cleaner_threads, proposed.log.log_cleaner_threads
    if new < old // 2:
        raise InvalidConfigError(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if new > old * 2:
        raise InvalidConfigError(f"Log cleaner threads cannot be increased to more than double the current value {old}")


def _validate_local_retention(_current: KafkaConfig, proposed: KafkaConfig) -> None:
    """What stays on local disk is no more than what stays at all, -2 being all of it and -1 no limit."""
    retention_ms = proposed.log.topic_defaults().retention_ms
    for local_name, local, name, whole in (
        ("log.local.retention.ms", proposed.log.log_local_retention_ms, "log.retention.ms", retention_ms),
        (
            "log.local.retention.bytes",
            proposed.log.log_local_retention_bytes,
            "log.retention.bytes",
            proposed.log.log_retention_bytes,
        ),
    ):
        if whole < 0 or local == -2:
            continue
        if local == -1:
            raise InvalidConfigError(
                f"Invalid value -1 for configuration {local_name}: Value must not be -1 as {name} value is set as "
                f"{whole}."
            )
        if local > whole:
            raise InvalidConfigError(
                f"Invalid value {local} for configuration {local_name}: Value must not be more than {name} property "
                f"value: {whole}"
            )


def _validate_listeners(current: KafkaConfig, proposed: KafkaConfig) -> None:
    old = {endpoint.name for endpoint in current.listeners.endpoints}
    new = {endpoint.name for endpoint in proposed.listeners.endpoints}
    advertised = {endpoint.name for endpoint in current.listeners.advertised_broker_endpoints}
    if not advertised <= new:
        raise InvalidConfigError(
            f"Advertised listeners '{', '.join(sorted(advertised))}' must be a subset of listeners "
            f"'{', '.join(sorted(new))}'"
        )
    for name in sorted(new & old):
        if _immutable_part(current, name) != _immutable_part(proposed, name):
            raise InvalidConfigError(
                f"Configs cannot be updated dynamically for existing listener {name}, restart broker or create a new "
                "listener for update"
            )
        if current.listeners.security_protocols[name] != proposed.listeners.security_protocols[name]:
            raise InvalidConfigError(f"Security protocol cannot be updated for existing listener {name}")


def _immutable_part(config: KafkaConfig, listener_name: str) -> Mapping[str, str]:
    prefix = config_prefix(listener_name)
    return {
        name: value
        for name, value in config.originals.items()
        if name.startswith(prefix) and name[len(prefix) :] not in _MUTABLE_LISTENER_KEYS
    }


def _validate_listener_limits(_current: KafkaConfig, proposed: KafkaConfig) -> None:
    for endpoint in proposed.listeners.broker_endpoints:
        values = proposed.listener_values(endpoint.name)
        for name in sorted(LISTENER_LIMITS):
            if values[name] == 0:
                raise InvalidConfigError(f"Invalid {name} 0")


_RULES: tuple[tuple[frozenset[str], Callable[[KafkaConfig, KafkaConfig], None]], ...] = (
    (THREAD_COUNTS, _validate_thread_counts),
    (frozenset({"num.network.threads"}), _validate_network_threads),
    (frozenset({"log.cleaner.threads"}), _validate_cleaner_threads),
    (
        frozenset(
            {
                "log.local.retention.ms",
                "log.local.retention.bytes",
                "log.retention.ms",
                "log.retention.minutes",
                "log.retention.hours",
                "log.retention.bytes",
            }
        ),
        _validate_local_retention,
    ),
    (PER_BROKER_KEYS, _validate_listeners),
    (LISTENER_LIMITS, _validate_listener_limits),
)
