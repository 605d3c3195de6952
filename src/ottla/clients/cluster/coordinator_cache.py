"""Where the coordinators are, as far as anybody has asked."""

from enum import IntEnum
from typing import Final

from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.network.node import Node
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

MAX_COORDINATORS: Final = 10_000
_INT_MAX: Final = 2**31 - 1


class CoordinatorType(IntEnum):
    """What is coordinated; the number is the one in FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class CoordinatorCache:
    """The node of each key that was looked up; the oldest goes when there are too many.

    A coordinator has a connection of its own, so that what it is asked never waits behind a long fetch: its node's id
    is counted from the other end, as Apache's consumers do.
    """

    __slots__ = ("_nodes",)

    def __init__(self) -> None:
        self._nodes: dict[tuple[CoordinatorType, str], Node] = {}

    def get(self, kind: CoordinatorType, key: str) -> Node | None:
        """The coordinator, if it is known."""
        return self._nodes.get((kind, key))

    def put(self, kind: CoordinatorType, key: str, node: Node) -> None:
        """The coordinator is there."""
        while len(self._nodes) >= MAX_COORDINATORS:
            del self._nodes[next(iter(self._nodes))]
        self._nodes[kind, key] = node

    def forget(self, kind: CoordinatorType, key: str) -> None:
        """The coordinator may be elsewhere by now."""
        self._nodes.pop((kind, key), None)


def find_coordinator_request(kind: CoordinatorType, key: str) -> FindCoordinatorRequest:
    """The question, in the fields of old and new versions."""
    return FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])


def coordinator_in(response: FindCoordinatorResponse) -> Node:
    """The node in an answer about one key; raises the error in it."""
    found = response.coordinators[0] if response.coordinators else response
    if found.error_code != ErrorCode.NONE:
        raise error_for(found.error_code, found.error_message)
    return Node(_INT_MAX - found.node_id, found.host, found.port)


def broker_id(coordinator: Node) -> int:
    """The id of the broker that a coordinator's node stands for."""
    return _INT_MAX - coordinator.id
