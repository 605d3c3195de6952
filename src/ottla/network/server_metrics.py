"""The gauges of a socket server under the names of Apache's MBeans.

A process may have two servers, a broker's and a controller's; ``plane`` says whose a number is.
"""

from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.network.listener import Listener
from ottla.network.network_metrics import IdleRatio
from ottla.network.request import ClientInformation

if TYPE_CHECKING:
    from ottla.network.acceptor import Acceptor
    from ottla.network.processor import Processor
    from ottla.network.socket_server import SocketServer

_SOCKET_SERVER_METRICS: Final = "socket-server-metrics"
_CONNECTIONS: Final = metric_name("kafka.server", _SOCKET_SERVER_METRICS, "connections")


class ServerMetrics:
    """Registers what a server, its listeners and their processors have to show, and removes it again."""

    def __init__(self, registry: Registry, server: "SocketServer") -> None:
        self._registry = registry
        self._server = server
        self._plane: str = server.listener_type.value.lower()
        self._registered: list[tuple[str, dict[str, str]]] = []
        self._by_processor: dict[int, list[tuple[str, dict[str, str]]]] = {}
        self._by_listener: dict[str, list[tuple[str, dict[str, str]]]] = {}
        self._register_server()

    def _gauge(
        self,
        into: list[tuple[str, dict[str, str]]],
        name: tuple[str, str, str],
        documentation: str,
        read: Callable[[], float],
        **labels: str,
    ) -> None:
        labels["plane"] = self._plane
        full_name = metric_name(*name)
        self._registry.gauge(full_name, documentation, read, **labels)
        into.append((full_name, labels))

    def _register_server(self) -> None:
        server, into = self._server, self._registered
        counters, pool, quotas, channel = server.metrics, server.memory_pool, server.quotas, server.request_channel
        start_ns = perf_counter_ns()
        self.network_idle, handler_idle = IdleRatio(start_ns), IdleRatio(start_ns)
        pool_name = f"{self._plane.capitalize()}RequestHandlerAvgIdlePercent"
        rows: tuple[tuple[str, str, str, str, Callable[[], float]], ...] = (
            ("kafka.network", "RequestChannel", "RequestQueueSize",
             "Requests that wait for a handler", lambda: len(channel.requests)),
            ("kafka.network", "RequestChannel", "ResponseQueueSize",
             "Responses that wait to be written", lambda: len(channel.responses)),
            ("kafka.server", "KafkaRequestHandlerPool", pool_name,
             "Part of the time in which no request of this plane was handled",
             lambda: handler_idle.read(counters.handler_busy_ns)),
            ("kafka.network", "SocketServer", "MemoryPoolAvailable",
             "Bytes of queued.max.request.bytes that are free", lambda: pool.available_bytes),
            ("kafka.network", "SocketServer", "MemoryPoolUsed",
             "Bytes of queued.max.request.bytes that requests hold", lambda: pool.used_bytes),
            ("kafka.server", _SOCKET_SERVER_METRICS, "MemoryPoolDepletedTimeTotal",
             "Milliseconds in which requests had to wait for memory", lambda: pool.depleted_time_ns / 1_000_000),
            ("kafka.network", "SocketServer", "ExpiredConnectionsKilledCount",
             "Connections that were closed because their session had expired",
             lambda: sum(p.expired_connections_killed_count for p in server.processors())),
            ("kafka.server", _SOCKET_SERVER_METRICS, "broker-connection-accept-rate",
             "Connections a second", lambda: quotas.broker_rate.rate(server.now_ms())),
            ("ottla.network", "Reactor", "SlowTurns",
             "Turns that took more than 2 ms of CPU", lambda: counters.slow_turns),
            ("ottla.network", "Reactor", "SlowHandlers",
             "Requests whose handler took more than 2 ms of CPU", lambda: counters.slow_handlers),
        )  # fmt: skip
        for group, type_name, name, documentation, read in rows:
            self._gauge(into, (group, type_name, name), documentation, read)

    def add_listener(self, acceptor: "Acceptor") -> None:
        """Show a listener."""
        name = acceptor.name
        into = self._by_listener.setdefault(name, [])
        quota = self._server.quotas.listeners[name]
        blocked = IdleRatio(perf_counter_ns())
        server = self._server
        rows: tuple[tuple[str, str, str, str, Callable[[], float]], ...] = (
            ("kafka.network", "Acceptor", "AcceptorBlockedPercent",
             "Part of the time in which connections had to wait to be accepted",
             lambda: 1.0 - blocked.read(acceptor.total_blocked_ns())),
            ("kafka.server", _SOCKET_SERVER_METRICS, "connection-accept-rate",
             "Connections a second", lambda: quota.rate.rate(server.now_ms())),
            ("kafka.server", _SOCKET_SERVER_METRICS, "connection-accept-throttle-time",
             "Average time for which the creation rate held connections up, in ms",
             lambda: quota.throttle_time_ms / quota.throttles if quota.throttles else 0.0),
            ("kafka.server", _SOCKET_SERVER_METRICS, "ip-connection-accept-throttle-time",
             "Average time for which connections of throttled addresses were held, in ms",
             lambda: quota.ip_throttle_time_ms / quota.ip_throttles if quota.ip_throttles else 0.0),
        )  # fmt: skip
        for group, type_name, metric, documentation, read in rows:
            self._gauge(into, (group, type_name, metric), documentation, read, listener=name)

    def remove_listener(self, name: str) -> None:
        """Show it no more."""
        self._remove(self._by_listener.pop(name, []))

    def add_processor(self, processor: "Processor") -> None:
        """Show a processor."""
        into = self._by_processor.setdefault(processor.id, [])
        number = str(processor.id)
        server = self._server
        counters, channel = server.metrics, server.request_channel
        self._gauge(
            into,
            ("kafka.network", "Processor", "IdlePercent"),
            "Part of the time in which the network had nothing to do; processors share one reactor",
            lambda: self.network_idle.read(counters.busy_ns - counters.handler_busy_ns),
            networkProcessor=number,
        )
        self._gauge(
            into,
            ("kafka.network", "RequestChannel", "ResponseQueueSize"),
            "Responses that wait to be written",
            lambda: sum(request.channel.processor is processor for _kind, request in channel.responses),
            processor=number,
        )
        rows: tuple[tuple[str, str, Callable[[], float]], ...] = (
            ("connection-count", "Open connections", lambda: processor.connection_count),
            ("connection-creation-total", "Connections accepted", lambda: processor.connections_created),
            ("connection-close-total", "Connections closed", lambda: processor.connections_closed),
            ("expired-connections-killed-count", "Connections closed for an expired session",
             lambda: processor.expired_connections_killed_count),
        )  # fmt: skip
        for name, documentation, read in rows:
            self._gauge(
                into,
                ("kafka.server", _SOCKET_SERVER_METRICS, name),
                documentation,
                read,
                listener=processor.listener_name,
                networkProcessor=number,
            )

    def remove_processor(self, processor: "Processor") -> None:
        """Show it no more."""
        self._remove(self._by_processor.pop(processor.id, []))

    def client_kind(self, listener: Listener, client: ClientInformation, is_known: bool) -> None:
        """Show how many connections a kind of client has, as long as it has any."""
        labels = {
            "listener": listener.endpoint.name,
            "clientSoftwareName": client.software_name,
            "clientSoftwareVersion": client.software_version,
            "plane": self._plane,
        }
        if is_known:
            self._registry.gauge(
                _CONNECTIONS, "Connections by client software", lambda: listener.clients.get(client, 0), **labels
            )
        else:
            self._registry.remove(_CONNECTIONS, **labels)

    def close(self) -> None:
        """Take all of it from the registry."""
        self._remove(self._registered)
        for registered in (*self._by_listener.values(), *self._by_processor.values()):
            self._remove(registered)

    def _remove(self, registered: list[tuple[str, dict[str, str]]]) -> None:
        for name, labels in registered:
            self._registry.remove(name, **labels)
        registered.clear()
