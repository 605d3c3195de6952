"""The way to a group's coordinator, for all that a member and its commits send."""

from typing import Any

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.message import Message


class CoordinatorChannel:
    """Sends to whoever coordinates the group now; ``last_failure`` says why nobody could be reached, or nothing."""

    __slots__ = ("_client", "_node", "group_id", "is_reachable", "last_failure")

    def __init__(self, client: ClusterClient, group_id: str) -> None:
        self._client = client
        self.group_id = group_id
        self.last_failure = ""
        self.is_reachable = False
        """Whether the last that was sent was answered."""
        self._node: Node | None = None

    async def ask(
        self, request: Message, *, timeout_ms: int, find_timeout_ms: int | None = None, max_version: int | None = None
    ) -> Any:
        """One attempt: find the coordinator, send, wait. After a NetworkError it is looked up again."""
        find_timeout_ms = timeout_ms if find_timeout_ms is None else find_timeout_ms
        try:
            node = await self._client.coordinator(CoordinatorType.GROUP, self.group_id, timeout_ms=find_timeout_ms)
            self._node = node
            response = await self._client.send(node, request, timeout_ms=timeout_ms, max_version=max_version)
        except NetworkError as error:
            self.lost(str(error))
            raise
        except KafkaError as error:
            self.last_failure = str(error)
            self.is_reachable = False
            raise
        self.last_failure = ""
        self.is_reachable = True
        return response

    def reconnect(self) -> None:
        """Let go of the connection: what comes next does not wait behind what is under way on it."""
        if self._node is not None:
            self._client.disconnect(self._node)

    def lost(self, why: str) -> None:
        """The broker is not the coordinator, or not there."""
        self.last_failure = why
        self.is_reachable = False
        self._client.forget_coordinator(CoordinatorType.GROUP, self.group_id)
        self._client.request_update()
