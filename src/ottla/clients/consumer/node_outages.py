"""Which nodes did not answer the last time, since when, and when to try them again. Pure."""

from collections.abc import Iterator
from typing import NamedTuple


class Outage(NamedTuple):
    """A node that fails."""

    since_ms: int
    """When it first failed, of the failures in a row."""
    reason: str
    attempts: int
    retry_at_ms: int


class NodeOutages:
    """At most one entry a node; an answer of any kind ends it."""

    __slots__ = ("_by_node",)

    def __init__(self) -> None:
        self._by_node: dict[int, Outage] = {}

    def failed(self, node_id: int, reason: str, now_ms: int, retry_at_ms: int) -> None:
        """Another failure; nothing is sent before ``retry_at_ms``."""
        known = self._by_node.get(node_id)
        since_ms, attempts = (now_ms, 0) if known is None else (known.since_ms, known.attempts)
        self._by_node[node_id] = Outage(since_ms, reason, attempts + 1, retry_at_ms)

    def answered(self, node_id: int) -> None:
        """It works."""
        self._by_node.pop(node_id, None)

    def attempts(self, node_id: int) -> int:
        """How often it failed in a row."""
        known = self._by_node.get(node_id)
        return 0 if known is None else known.attempts

    def outage(self, node_id: int) -> Outage | None:
        """What is known of its failures, if it fails."""
        return self._by_node.get(node_id)

    def backing_off(self, now_ms: int) -> set[int]:
        """The nodes that are not to be sent to yet."""
        return {node_id for node_id, outage in self._by_node.items() if outage.retry_at_ms > now_ms}

    def retry_times(self, now_ms: int) -> Iterator[int]:
        """When those may be sent to."""
        return (outage.retry_at_ms for outage in self._by_node.values() if outage.retry_at_ms > now_ms)
