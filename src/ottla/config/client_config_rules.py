"""What Apache's clients make of values that depend on each other, and which they refuse together.

Each rule takes all values by key name and those that were given, and returns what changes.
"""

from collections.abc import Mapping
from typing import Any, Final

from ottla.common.errors import InvalidConfigError
from ottla.config.addresses import Address, parse_address
from ottla.config.definition import logger
from ottla.config.values import ConfigValue

IDEMPOTENT_IN_FLIGHT_MAX: Final = 5
_INT_MAX: Final = 2**31 - 1
_NOT_WITH: Final = {
    "classic": ("group.remote.assignor", "share.acknowledgement.mode", "share.acquire.mode"),
    "consumer": (
        "partition.assignment.strategy",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
    ),
}
"""Keys that must not be given with a group protocol."""

Given = Mapping[str, ConfigValue]


def parse_servers(entries: tuple[str, ...] | None) -> tuple[Address, ...]:
    """The addresses of ``bootstrap.servers``; InvalidConfigError for one that is none."""
    addresses = []
    for entry in entries or ():
        address = parse_address(entry)
        if address is None or not address.host:
            raise InvalidConfigError(f"Invalid url in bootstrap.servers: {entry}; each is a host:port")
        addresses.append(address)
    return tuple(addresses)


def common_rules(values: Mapping[str, Any], own: Given) -> dict[str, ConfigValue]:
    """SASL has a mechanism; a first pause alone is every pause."""
    if values["security.protocol"].upper().startswith("SASL_") and not values["sasl.mechanism"]:
        raise InvalidConfigError("security.protocol enables SASL, so sasl.mechanism must not be empty")
    first, longest = values["retry.backoff.ms"], values["retry.backoff.max.ms"]
    if first > longest:
        logger.warning("retry.backoff.ms=%d is above retry.backoff.max.ms, so every pause is %d ms", first, longest)
    if "reconnect.backoff.ms" in own and "reconnect.backoff.max.ms" not in own:
        logger.warning("Every pause before reconnecting is reconnect.backoff.ms: reconnect.backoff.max.ms is not set")
        return {"reconnect.backoff.max.ms": values["reconnect.backoff.ms"]}
    return {}


def producer_rules(values: Mapping[str, Any], own: Given) -> dict[str, ConfigValue]:
    """Idempotence needs acks, retries and order, and gives way where it was not asked for."""
    _require_servers(values)
    changes: dict[str, ConfigValue] = {}
    if values["enable.idempotence"]:
        obstacles = {
            "retries must not be 0": values["retries"] == 0,
            "acks must be all": values["acks"] not in ("all", "-1"),
        }
        objection = next((text for text, applies in obstacles.items() if applies), None)
        if objection is not None and "enable.idempotence" in own:
            raise InvalidConfigError(f"{objection} for an idempotent producer (enable.idempotence)")
        if values["max.in.flight.requests.per.connection"] > IDEMPOTENT_IN_FLIGHT_MAX:
            raise InvalidConfigError(
                "To use the idempotent producer, max.in.flight.requests.per.connection must be at most "
                f"{IDEMPOTENT_IN_FLIGHT_MAX}; it is {values['max.in.flight.requests.per.connection']}"
            )
        if objection is not None:
            logger.info("The producer is not idempotent: %s for that", objection)
            changes["enable.idempotence"] = False
    if not changes.get("enable.idempotence", values["enable.idempotence"]) and "transactional.id" in own:
        raise InvalidConfigError("Cannot set a transactional.id without also enabling idempotence.")
    if values["transaction.two.phase.commit.enable"] and "transaction.timeout.ms" in own:
        raise InvalidConfigError(
            "Cannot set transaction.timeout.ms when transaction.two.phase.commit.enable is true: such a transaction "
            "does not expire"
        )
    least_ms = min(min(values["linger.ms"], _INT_MAX) + values["request.timeout.ms"], _INT_MAX)
    if values["delivery.timeout.ms"] < least_ms:
        if "delivery.timeout.ms" in own:
            raise InvalidConfigError("delivery.timeout.ms must be at least linger.ms + request.timeout.ms")
        logger.warning("delivery.timeout.ms becomes linger.ms + request.timeout.ms: %d", least_ms)
        changes["delivery.timeout.ms"] = least_ms
    return changes


def consumer_rules(values: Mapping[str, Any], own: Given) -> dict[str, ConfigValue]:
    """Without a group nothing is committed by itself; each group protocol has keys of its own."""
    _require_servers(values)
    protocol = values["group.protocol"].lower()
    refused = [name for name in _NOT_WITH[protocol] if own.get(name)]
    if refused:
        raise InvalidConfigError(f"{', '.join(refused)} cannot be set when group.protocol={protocol.upper()}")
    if values["group.id"] is None:
        if own.get("enable.auto.commit"):
            raise InvalidConfigError("enable.auto.commit cannot be set to true without a group.id.")
        return {"enable.auto.commit": False}
    if protocol == "classic" and values["heartbeat.interval.ms"] >= values["session.timeout.ms"]:
        raise InvalidConfigError("heartbeat.interval.ms must be lower than session.timeout.ms")
    return {}


def admin_rules(values: Mapping[str, Any], own: Given) -> dict[str, ConfigValue]:
    """Brokers or controllers, not both; a call takes at least as long as a request."""
    servers, controllers = values["bootstrap.servers"], values["bootstrap.controllers"]
    if not servers and not controllers:
        raise InvalidConfigError("You must set either bootstrap.servers or bootstrap.controllers")
    if servers and controllers:
        raise InvalidConfigError("You cannot set both bootstrap.servers and bootstrap.controllers")
    request_timeout_ms = values["request.timeout.ms"]
    if values["default.api.timeout.ms"] >= request_timeout_ms:
        return {}
    if "default.api.timeout.ms" in own:
        raise InvalidConfigError("default.api.timeout.ms must be no smaller than request.timeout.ms")
    logger.warning("default.api.timeout.ms becomes request.timeout.ms: %d", request_timeout_ms)
    return {"default.api.timeout.ms": request_timeout_ms}


def _require_servers(values: Mapping[str, Any]) -> None:
    if not values["bootstrap.servers"]:
        raise InvalidConfigError("bootstrap.servers must name at least one broker")
