"""A broker's way to the active controller, wherever that is."""

import asyncio
import logging
from typing import Any, Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.network.client_config import NetworkClientConfig
from ottla.network.client_errors import AuthenticationError, NetworkError, RequestTimedOutError
from ottla.network.network_client import NetworkClient
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.network.response_errors import has_error
from ottla.protocol.message import Message
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

LOOKUP_BACKOFF_MS: Final = 100
CONTROLLER_SOCKET_TIMEOUT_MS: Final = 30_000
MAX_QUEUED_REQUESTS: Final = 1_000
CONTROLLER_CLIENT_CONFIG: Final = NetworkClientConfig(
    max_in_flight_requests_per_connection=1, reconnect_backoff_ms=50, reconnect_backoff_max_ms=50
)
"""What Apache gives the client of such a channel."""


class LeaderLookup(Protocol):
    """Who knows the active controller: raft, in a broker that follows the metadata log."""

    def controller_node(self) -> Node | None:
        """Where the active controller is reached; None while nobody knows."""


class NodeToControllerChannel:
    """Requests to the active controller, one at a time and in the order of ``send``.

    A request is repeated, ahead of all others, when the connection is lost or the node is no longer the controller,
    until its deadline. The controller is looked up anew then; while nobody knows it, every 100 ms.
    """

    def __init__(
        self,
        runtime: Runtime,
        client: NetworkClient,
        lookup: LeaderLookup,
        *,
        retry_timeout_ms: int | None = 60_000,
        request_timeout_ms: int = CONTROLLER_SOCKET_TIMEOUT_MS,
    ) -> None:
        """``retry_timeout_ms`` of None never gives up; ``request_timeout_ms`` is ``controller.socket.timeout.ms``."""
        self._runtime = runtime
        self._client = client
        self._lookup = lookup
        self._retry_timeout_ms = retry_timeout_ms
        self._request_timeout_ms = request_timeout_ms
        self._turn = asyncio.Lock()
        self._queued = 0
        self.active_controller: Node | None = None

    @property
    def controller_api_versions(self) -> NodeApiVersions | None:
        """What the controller speaks, while we are connected to it."""
        return None if self.active_controller is None else self._client.api_versions(self.active_controller)

    async def send(self, request: Message, *, timeout_ms: int | None = None, max_version: int | None = None) -> Any:
        """The controller's answer; NOT_CONTROLLER is never among its errors.

        ``timeout_ms`` overrides ``retry_timeout_ms``. RequestTimedOutError when the time is up, AuthenticationError
        and UnsupportedVersionError at once.
        """
        if self._queued >= MAX_QUEUED_REQUESTS:
            raise NetworkError(f"{self._queued} requests wait for the controller already")
        patience_ms = self._retry_timeout_ms if timeout_ms is None else timeout_ms
        self._queued += 1
        try:
            async with asyncio.timeout(None if patience_ms is None else patience_ms / 1000), self._turn:
                return await self._send_until_answered(request, max_version)
        except TimeoutError as error:
            name = type(request).__name__
            raise RequestTimedOutError(f"The controller did not answer {name} within {patience_ms} ms") from error
        finally:
            self._queued -= 1

    async def _send_until_answered(self, request: Message, max_version: int | None) -> Message:
        while True:
            node = await self._find_controller()
            try:
                response: Message = await self._client.send(
                    node, request, timeout_ms=self._request_timeout_ms, max_version=max_version
                )
            except NetworkError as error:
                logger.debug("Request %s to controller %s failed: %s", type(request).__name__, node, error)
                self.active_controller = None
            except AuthenticationError:
                self.active_controller = None
                raise
            else:
                if not has_error(response, ErrorCode.NOT_CONTROLLER):
                    return response
                logger.debug("Disconnecting the connection to the stale controller %s", node)
                self._client.disconnect(node.id)  # so that the back-off keeps us from asking it in a loop
                self.active_controller = None

    async def _find_controller(self) -> Node:
        while self.active_controller is None:
            node = self._lookup.controller_node()
            if node is None:
                await self._runtime.sleep_ms(LOOKUP_BACKOFF_MS)
            else:
                logger.info("Recorded new KRaft controller, from now on will use node %s", node)
                self.active_controller = node
        return self.active_controller
