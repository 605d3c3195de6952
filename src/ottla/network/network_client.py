"""The client half of the network: requests to any node of a cluster, and their answers."""

import ssl
from collections.abc import Callable, Sequence

from ottla.network.authenticator import Authenticator, PlaintextAuthenticator
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_connection import RECEIVE_BYTES, Answer
from ottla.network.client_connector import ChannelContext
from ottla.network.client_errors import NetworkError
from ottla.network.connection_states import ConnectionState
from ottla.network.host_resolver import DnsResolver, HostResolver
from ottla.network.least_loaded_node import NodeLoad, least_loaded_node
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.network.node_channel import NodeChannel
from ottla.network.repeated_failures import RepeatedFailures
from ottla.protocol.message import Message
from ottla.runtime.port import Runtime


def _no_tls() -> ssl.SSLContext | None:
    return None


class NetworkClient:
    """Connects when there is something to send, negotiates versions, keeps order, and backs off from what fails.

    ``await client.send(node, MetadataRequest())`` is all that most need. Nothing is repeated: a request that fails with
    a retriable error may or may not have been acted on, and its sender decides. One client serves one event loop; each
    node has one connection, known by the node's id.
    """

    def __init__(
        self,
        runtime: Runtime,
        client_id: str | None = None,
        config: NetworkClientConfig | None = None,
        *,
        authenticator: Authenticator | None = None,
        tls_context: Callable[[], ssl.SSLContext | None] = _no_tls,
        resolver: HostResolver | None = None,
    ) -> None:
        """``tls_context`` is asked at each connection, so that new certificates take effect."""
        self._runtime = runtime
        self._config = config if config is not None else NetworkClientConfig()
        self._context = ChannelContext(
            runtime,
            client_id,
            self._config,
            authenticator if authenticator is not None else PlaintextAuthenticator(),
            tls_context,
            resolver if resolver is not None else DnsResolver(runtime),
            memoryview(bytearray(RECEIVE_BYTES)),
            RepeatedFailures(),
        )
        self._channels: dict[int, NodeChannel] = {}
        self._is_closed = False

    def send(
        self,
        node: Node,
        request: Message,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        expect_response: bool = True,
    ) -> Answer:
        """Send a request in the newest version that both speak, up to ``max_version``; await what this returns.

        Its place in the order is taken at the call, not when awaited. ``timeout_ms`` (``request.timeout.ms`` unless
        given) counts from the call, waiting for the connection included. Fails with NetworkError,
        RequestTimedOutError (which is one), AuthenticationError or UnsupportedVersionError.
        """
        if timeout_ms is None:
            timeout_ms = self._config.request_timeout_ms
        return self._channel(node).send(request, timeout_ms, max_version, expect_response=expect_response)

    async def connect(self, node: Node, *, timeout_ms: int | None = None) -> NodeApiVersions:
        """Wait until the node is ready; returns what it speaks. Fails like ``send``."""
        channel = self._channel(node)
        await channel.send(None, self._config.request_timeout_ms if timeout_ms is None else timeout_ms)
        assert channel.api_versions is not None, "a channel is ready once the node's versions are known"
        return channel.api_versions

    def disconnect(self, node_id: int) -> None:
        """Close the connection to a node. All that is under way fails; the next ``send`` waits out the back-off."""
        channel = self._channels.get(node_id)
        if channel is not None:
            channel.disconnect(NetworkError(f"Disconnected from node {channel.node} on request"))

    def is_ready(self, node: Node) -> bool:
        """Whether the node can be sent to without connecting or waiting out a throttle."""
        channel = self._channels.get(node.id)
        return channel is not None and channel.is_ready

    def connection_failed(self, node: Node) -> bool:
        """Whether the connection was lost or could not be made, and none is being tried."""
        channel = self._channels.get(node.id)
        return channel is not None and channel.connection_failed

    def connection_state(self, node: Node) -> ConnectionState:
        """Where the connection stands."""
        channel = self._channels.get(node.id)
        return ConnectionState.DISCONNECTED if channel is None else channel.state

    def api_versions(self, node: Node) -> NodeApiVersions | None:
        """What the node speaks, while it is connected."""
        channel = self._channels.get(node.id)
        return None if channel is None else channel.api_versions

    def in_flight_count(self, node: Node) -> int:
        """How many requests the node has not answered."""
        channel = self._channels.get(node.id)
        return 0 if channel is None else channel.in_flight_count

    def least_loaded_node(self, nodes: Sequence[Node]) -> Node | None:
        """The best to ask what any of them can answer; None if all are in back-off."""
        now_ms = self._runtime.clock.monotonic_ms()
        return least_loaded_node([self._load(node, now_ms) for node in nodes], self._runtime.rng)

    def expire(self) -> None:
        """Fail what is overdue by the clock, without waiting for the timers: for clocks that are set by hand."""
        for channel in list(self._channels.values()):
            channel.expire()

    async def close(self) -> None:
        """Close all connections; what is under way fails with a NetworkError."""
        self._is_closed = True
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close(NetworkError("The client was closed"))

    async def __aenter__(self) -> "NetworkClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _load(self, node: Node, now_ms: int) -> NodeLoad:
        channel = self._channels.get(node.id)
        return NodeLoad(node, can_connect=True) if channel is None else channel.load(now_ms)

    def _channel(self, node: Node) -> NodeChannel:
        """The node's channel; a node that has moved gets a new one, and what was under way to the old place fails."""
        channel = self._channels.get(node.id)
        if channel is None or channel.node is not node:
            if self._is_closed:
                raise NetworkError("The client is closed")
            if channel is not None:
                if channel.node == node:
                    return channel
                channel.disconnect(NetworkError(f"Node {channel.node} has moved to {node}"))
            channel = self._channels[node.id] = NodeChannel(node, self._context)
        return channel
