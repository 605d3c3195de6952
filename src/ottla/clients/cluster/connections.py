"""A client's connections: which node to ask, what became of the last attempts, and which connections nobody uses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.clients.cluster.bootstrap import CANONICAL, bootstrap_nodes, canonical_servers, require_known_host
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_connection import Answer
from ottla.network.host_resolver import DnsResolver
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider
    from ottla.common.errors import KafkaError
    from ottla.config.client_configs import ClientConfig
    from ottla.protocol.message import Message
    from ottla.runtime.port import Runtime

MAX_FAILURES: Final = 5
"""Failed attempts that are remembered for messages."""


class Connections:
    """A NetworkClient that knows the client's configuration, and closes what is unused (connections.max.idle.ms)."""

    __slots__ = ("_clock", "_failures", "_idle_ms", "_network", "_runtime", "_servers", "_used", "bootstrap_nodes")

    def __init__(
        self,
        config: "ClientConfig",
        runtime: "Runtime",
        max_in_flight: int,
        token_provider: "TokenProvider | None" = None,
    ) -> None:
        """InvalidConfigError if the security keys do not make sense."""
        security: dict[str, Any] = {}
        if config.security_protocol != "PLAINTEXT":
            from ottla.clients.security import client_security  # needs ssl, which is slow to load

            security = client_security(config, runtime, token_provider)._asdict()
        self._network = NetworkClient(runtime, config.client_id, network_config(config, max_in_flight), **security)
        self._clock = runtime.clock
        self._idle_ms = config.connections_max_idle_ms
        self._used: dict[int, tuple[Node, int]] = {}
        self._failures: dict[Node, KafkaError] = {}
        servers = config.bootstrap_controllers or config.bootstrap_servers
        self._servers = servers if config.client_dns_lookup == CANONICAL else None
        self._runtime = runtime
        self.bootstrap_nodes = bootstrap_nodes(servers)

    async def resolve(self) -> None:
        """Replace the bootstrap servers' names by their canonical ones, if the configuration says so.

        InvalidConfigError if none of the names is known, as with Apache's clients: a wrong one would never connect.
        """
        await require_known_host(self.bootstrap_nodes, DnsResolver(self._runtime))
        if self._servers is not None:
            self.bootstrap_nodes = bootstrap_nodes(await canonical_servers(self._servers, self._runtime))

    def send(
        self,
        node: Node,
        request: "Message",
        timeout_ms: int | None = None,
        max_version: int | None = None,
        *,
        expect_response: bool = True,
    ) -> Answer:
        """See NetworkClient."""
        self._used[node.id] = node, self._clock.monotonic_ms()
        return self._network.send(
            node, request, timeout_ms=timeout_ms, max_version=max_version, expect_response=expect_response
        )

    async def connect(self, node: Node, timeout_ms: int | None = None) -> NodeApiVersions:
        """Wait until the node is ready; what it speaks."""
        self._used[node.id] = node, self._clock.monotonic_ms()
        return await self._network.connect(node, timeout_ms=timeout_ms)

    def api_versions(self, node: Node) -> NodeApiVersions | None:
        """What the node speaks, while it is connected."""
        return self._network.api_versions(node)

    def least_loaded(self, nodes: Sequence[Node]) -> Node | None:
        """The best of them to ask; None if all are in back-off."""
        return self._network.least_loaded_node(nodes)

    def in_flight_count(self, node: Node) -> int:
        """How many requests the node has not answered."""
        return self._network.in_flight_count(node)

    def is_ready(self, node: Node) -> bool:
        """Whether the node can be sent to without connecting or waiting out a throttle."""
        return self._network.is_ready(node)

    def disconnect(self, node_id: int) -> None:
        """Close a connection; what is under way on it fails."""
        self._used.pop(node_id, None)
        self._network.disconnect(node_id)

    def succeeded(self) -> None:
        """Somebody has answered: earlier failures explain nothing any more."""
        self._failures.clear()

    def failed(self, node: Node, error: "KafkaError") -> None:
        """A node could not be asked."""
        self._failures.pop(node, None)
        self._failures[node] = error
        if len(self._failures) > MAX_FAILURES:
            del self._failures[next(iter(self._failures))]

    def failures(self) -> str:
        """What was tried in vain since the last answer, for a message; empty if nothing was."""
        return "; ".join(map(str, self._failures.values()))

    def expire_idle(self, now_ms: int) -> int | None:
        """Close what nobody has used for too long; when to look again, None for never."""
        if self._idle_ms < 0:
            return None
        for node, used_at_ms in list(self._used.values()):
            if self._network.in_flight_count(node):
                self._used[node.id] = node, now_ms
            elif now_ms - used_at_ms >= self._idle_ms:
                self.disconnect(node.id)
        return min((used_at_ms for _, used_at_ms in self._used.values()), default=now_ms) + self._idle_ms

    async def close(self) -> None:
        """Close all connections; what is under way fails with a NetworkError."""
        await self._network.close()


def network_config(config: "ClientConfig", max_in_flight: int) -> NetworkClientConfig:
    """What the network's client needs of a client's configuration."""
    from ottla import __version__

    return NetworkClientConfig(
        max_in_flight_requests_per_connection=max_in_flight,
        request_timeout_ms=config.request_timeout_ms,
        reconnect_backoff_ms=config.reconnect_backoff_ms,
        reconnect_backoff_max_ms=config.reconnect_backoff_max_ms,
        socket_connection_setup_timeout_ms=config.socket_connection_setup_timeout_ms,
        socket_connection_setup_timeout_max_ms=config.socket_connection_setup_timeout_max_ms,
        send_buffer_bytes=config.send_buffer_bytes,
        receive_buffer_bytes=config.receive_buffer_bytes,
        client_software_version=__version__,
    )
