"""Who may connect: limits by address, by listener and for the whole broker, and limits of the rate of new connections.

Where Apache's acceptor thread waits inside ``ConnectionQuotas.inc``, here the acceptor asks ``slot_available`` and
``record_connection`` first and pauses; the kernel's backlog holds the connections meanwhile. ``on_change`` is called
whenever a pause may have become needless.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.network.config import INT_MAX, ListenerConfig
from ottla.network.connection_rate import ConnectionRate

_log = logging.getLogger(__name__)

IP_RATE_UNLIMITED: Final = INT_MAX
IP_RATE_EXPIRY_MS: Final = 3_600_000
_IP_RATES_BEFORE_PURGE: Final = 1024


class TooManyConnectionsError(Exception):
    """An address has as many connections as it may have. The connection is counted until it is closed."""

    def __init__(self, address: str, count: int) -> None:
        super().__init__(f"Too many connections from {address} (maximum = {count})")
        self.address = address
        self.count = count


class ConnectionThrottledError(Exception):
    """An address opens connections faster than it may. The connection is not counted."""

    def __init__(self, address: str, throttle_time_ms: int) -> None:
        super().__init__(f"{address} throttled for {throttle_time_ms}")
        self.throttle_time_ms = throttle_time_ms


class ListenerQuota:
    """The limits of one listener, and what it has seen."""

    __slots__ = (
        "count",
        "ip_throttle_time_ms",
        "ip_throttles",
        "max_connections",
        "rate",
        "throttle_time_ms",
        "throttles",
    )

    def __init__(self, max_connections: int, rate: ConnectionRate) -> None:
        self.max_connections = max_connections
        self.rate = rate
        self.count = 0
        self.throttles = 0
        self.throttle_time_ms = 0
        self.ip_throttles = 0
        self.ip_throttle_time_ms = 0


class ConnectionQuotas:
    """The counts and rates of one socket server; time is an argument."""

    def __init__(
        self,
        *,
        max_connections: int = INT_MAX,
        max_connections_per_ip: int = INT_MAX,
        max_connections_per_ip_overrides: Mapping[str, int] | None = None,
        max_connection_creation_rate: int = INT_MAX,
        inter_broker_listener_name: str | None = None,
        quota_window_size_seconds: int = 1,
        quota_window_num: int = 11,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.max_connections_per_ip_overrides = dict(max_connections_per_ip_overrides or {})
        self.total_count = 0
        self.listeners: dict[str, ListenerQuota] = {}
        self._inter_broker_listener_name = inter_broker_listener_name
        self._window_ms = quota_window_size_seconds * 1000
        self._samples = quota_window_num
        self._counts: dict[str, int] = {}
        self.broker_rate = self._new_rate(max_connection_creation_rate)
        self._default_ip_rate = IP_RATE_UNLIMITED
        self._ip_rate_limits: dict[str, int] = {}
        self._ip_rates: dict[str, ConnectionRate] = {}
        self._purge_ip_rates_at = _IP_RATES_BEFORE_PURGE
        self._on_change = on_change

    def add_listener(self, name: str, config: ListenerConfig) -> None:
        """Begin to count for a listener."""
        validate_listener(config)
        if name not in self.listeners:
            rate = self._new_rate(config.max_connection_creation_rate)
            self.listeners[name] = ListenerQuota(config.max_connections, rate)
        self._on_change()

    def remove_listener(self, name: str) -> None:
        """Forget a listener; its connections still count for the broker until they are closed."""
        self.listeners.pop(name, None)
        self._on_change()

    def reconfigure_listener(self, name: str, config: ListenerConfig) -> None:
        """Change a listener's limits."""
        validate_listener(config)
        quota = self.listeners[name]
        quota.max_connections = config.max_connections
        quota.rate.quota = config.max_connection_creation_rate
        self._on_change()

    def update_max_connections(self, max_connections: int) -> None:
        """Change the broker's limit; a lower one closes connections, one a turn, where they are not protected."""
        self.max_connections = max_connections
        self._on_change()

    def update_max_connection_creation_rate(self, rate: int) -> None:
        """Change the broker's rate; a pause that has begun keeps its length."""
        self.broker_rate.quota = rate

    def update_ip_connection_rate(self, address: str | None, rate: int | None) -> None:
        """Set the rate of an address, or of all that have none of their own; None goes back to the default."""
        if address is None:
            self._default_ip_rate = IP_RATE_UNLIMITED if rate is None else rate
        elif rate is None:
            self._ip_rate_limits.pop(address, None)
        else:
            self._ip_rate_limits[address] = rate
        for known, sensor in self._ip_rates.items():
            sensor.quota = self.connection_rate_for_ip(known)

    def connection_rate_for_ip(self, address: str) -> int:
        """How many connections a second an address may open."""
        return self._ip_rate_limits.get(address, self._default_ip_rate)

    def count(self, address: str) -> int:
        """How many connections an address has."""
        return self._counts.get(address, 0)

    def slot_available(self, listener: str) -> bool:
        """Whether a listener may accept another connection."""
        quota = self.listeners[listener]
        if quota.count >= quota.max_connections:
            return False
        return self.is_protected(listener) or self.total_count < self.max_connections

    def max_connections_exceeded(self, listener: str) -> bool:
        """Whether this listener must close a connection, because a protected one went beyond the broker's limit."""
        return self.total_count > self.max_connections and not self.is_protected(listener)

    def record_connection(self, listener: str, now_ms: int) -> int:
        """Count a new connection against the rates of broker and listener; returns how long to wait with it, in ms.

        The inter-broker listener, where it is not the only one, knows only its own limit.
        """
        throttle_ms = 0 if self.is_protected(listener) else self._record(self.broker_rate, now_ms)
        quota = self.listeners[listener]
        throttle_ms = max(throttle_ms, self._record(quota.rate, now_ms))
        if throttle_ms > 0:
            quota.throttles += 1
            quota.throttle_time_ms += throttle_ms
        return throttle_ms

    def inc(self, listener: str, address: str, now_ms: int) -> None:
        """Count a connection that has a slot and whose rate has been recorded.

        ConnectionThrottledError: the address is too fast, and nothing was counted. TooManyConnectionsError: the address
        has too many; this one is counted and ``dec`` must follow.
        """
        self._check_ip_rate(listener, address, now_ms)
        count = self._counts.get(address, 0)
        self._counts[address] = count + 1
        self.total_count += 1
        if listener in self.listeners:
            self.listeners[listener].count += 1
        maximum = self.max_connections_per_ip_overrides.get(address, self.max_connections_per_ip)
        if count >= maximum:
            raise TooManyConnectionsError(address, maximum)

    def dec(self, listener: str, address: str) -> None:
        """A counted connection is closed."""
        count = self._counts.get(address, 0)
        assert count > 0, f"decrease of the connection count of {address}, which has none"
        if count == 1:
            del self._counts[address]
        else:
            self._counts[address] = count - 1
        self.total_count -= 1
        quota = self.listeners.get(listener)
        if quota is not None and quota.count > 0:
            quota.count -= 1
        self._on_change()

    def is_protected(self, listener: str) -> bool:
        """Whether a listener is for brokers alone, which go before clients."""
        return listener == self._inter_broker_listener_name and len(self.listeners) > 1

    def _new_rate(self, quota: int) -> ConnectionRate:
        return ConnectionRate(quota, self._window_ms, self._samples)

    def _record(self, rate: ConnectionRate, now_ms: int) -> int:
        rate.record(now_ms)
        return rate.throttle_time_ms(now_ms, self._window_ms)

    def _check_ip_rate(self, listener: str, address: str, now_ms: int) -> None:
        limit = self.connection_rate_for_ip(address)
        if limit == IP_RATE_UNLIMITED:
            return
        sensor = self._ip_rates.get(address)
        if sensor is None:
            self._purge_ip_rates(now_ms)
            sensor = self._ip_rates[address] = self._new_rate(limit)
        throttle_ms = self._record(sensor, now_ms)
        if throttle_ms == 0:
            return
        # It will not be accepted, so it does not count against anybody's rate.
        sensor.record(now_ms, -1)
        if not self.is_protected(listener):
            self.broker_rate.record(now_ms, -1)
        quota = self.listeners.get(listener)
        if quota is not None:
            quota.rate.record(now_ms, -1)
            quota.ip_throttles += 1
            quota.ip_throttle_time_ms += throttle_ms
        raise ConnectionThrottledError(address, throttle_ms)

    def _purge_ip_rates(self, now_ms: int) -> None:
        """Forget addresses that were quiet for an hour, each time their number has doubled."""
        if len(self._ip_rates) < self._purge_ip_rates_at:
            return
        self._ip_rates = {
            address: rate for address, rate in self._ip_rates.items() if now_ms - rate.last_event_ms < IP_RATE_EXPIRY_MS
        }
        self._purge_ip_rates_at = max(_IP_RATES_BEFORE_PURGE, 2 * len(self._ip_rates))


def validate_listener(config: ListenerConfig) -> None:
    """Refuse limits that would keep everybody out."""
    if config.max_connections <= 0:
        raise InvalidConfigError(f"Invalid max.connections {config.max_connections}")
    if config.max_connection_creation_rate <= 0:
        raise InvalidConfigError(f"Invalid max.connection.creation.rate {config.max_connection_creation_rate}")
