"""Whom a request is for, when it is not one node: how to find them, and what to do when they are elsewhere."""

from typing import TYPE_CHECKING, Final, Protocol

from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.common.error_code import ErrorCode
from ottla.network.node import Node
from ottla.network.response_errors import error_codes
from ottla.protocol.message import Message

if TYPE_CHECKING:
    from ottla.clients.cluster.cluster_client import ClusterClient

_ELSEWHERE: Final = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
_NOT_YET: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})


class Target(Protocol):
    """Who answers a request; asked again after each failure."""

    async def find(self, cluster: "ClusterClient", timeout_ms: int) -> Node | None:
        """The node to send to; None if nobody knows at the moment."""

    def lost(self, cluster: "ClusterClient") -> None:
        """The node could not be reached."""

    def refused(self, cluster: "ClusterClient", response: Message) -> bool:
        """Whether the answer says that somebody else must be asked, or later."""


class AnyNode:
    """Every node can answer."""

    __slots__ = ()

    async def find(self, cluster: "ClusterClient", timeout_ms: int) -> Node | None:
        """The least loaded."""
        del timeout_ms
        return cluster.least_loaded_node()

    def lost(self, cluster: "ClusterClient") -> None:
        """There are others; the metadata may name more."""
        cluster.request_update()

    def refused(self, cluster: "ClusterClient", response: Message) -> bool:
        """Never."""
        del cluster, response
        return False


class Controller:
    """The node that the metadata calls the controller: with KRaft any broker, which forwards to the active one."""

    __slots__ = ()

    async def find(self, cluster: "ClusterClient", timeout_ms: int) -> Node | None:
        """As the metadata says."""
        controller = cluster.metadata.controller
        if controller is None:
            cluster.request_update()
            await cluster.wait_for_update(timeout_ms)
            controller = cluster.metadata.controller
        return controller

    def lost(self, cluster: "ClusterClient") -> None:
        """It may be another by now."""
        cluster.request_update()

    def refused(self, cluster: "ClusterClient", response: Message) -> bool:
        """If it is not the controller."""
        if ErrorCode.NOT_CONTROLLER not in error_codes(response):
            return False
        cluster.request_update()
        return True


class CoordinatorOf:
    """The coordinator of a key."""

    __slots__ = ("_key", "_kind")

    def __init__(self, kind: CoordinatorType, key: str) -> None:
        self._kind = kind
        self._key = key

    async def find(self, cluster: "ClusterClient", timeout_ms: int) -> Node | None:
        """Known, or looked up."""
        return await cluster.coordinator(self._kind, self._key, timeout_ms=timeout_ms)

    def lost(self, cluster: "ClusterClient") -> None:
        """It may be elsewhere by now."""
        cluster.forget_coordinator(self._kind, self._key)

    def refused(self, cluster: "ClusterClient", response: Message) -> bool:
        """If it is elsewhere, or still reads its log."""
        codes = set(error_codes(response))
        if codes & _ELSEWHERE:
            cluster.forget_coordinator(self._kind, self._key)
        return bool(codes & (_ELSEWHERE | _NOT_YET))
