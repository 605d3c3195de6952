"""The timers of a consumer group's members."""

from collections.abc import Callable
from functools import partial

from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.consumer.member import ConsumerGroupMember

Fence = Callable[[str, str, str, int | None, int], CoordinatorResult[None]]
"""Removes a member, by the ids of its group and itself, for a reason; only at an epoch, if one is given."""


class MemberTimers:
    """Each ends a membership unless the member does something in time:

    - session: heartbeat;
    - rebalance: give up the partitions that it was asked for;
    - join, sync (classic members): join again when told to, then fetch the assignment.

    Ids may hold any character but NUL, so keys of different members never collide.
    """

    __slots__ = ("_fence", "_timers")

    def __init__(self, timers: Timers, fence: Fence) -> None:
        self._timers = timers
        self._fence = fence

    def schedule_session(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The member is alive."""
        key = _key("session", group_id, member_id)
        if not self._timers.extend(key, timeout_ms):
            fence = partial(self._fence, group_id, member_id, "its session expired", None)
            self._timers.schedule(key, timeout_ms, fence)

    def schedule_session_if_absent(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The member was about to leave and has not left."""
        fence = partial(self._fence, group_id, member_id, "its session expired", None)
        self._timers.schedule_if_absent(_key("session", group_id, member_id), timeout_ms, fence)

    def schedule_rebalance(self, group_id: str, member: ConsumerGroupMember) -> None:
        """The member has to give partitions up before it can leave its epoch."""
        epoch, timeout_ms = member.member_epoch, member.rebalance_timeout_ms
        reason = f"it failed to transition from epoch {epoch} within {timeout_ms}ms"
        fence = partial(self._fence, group_id, member.member_id, reason, epoch)
        self._timers.schedule(_key("rebalance", group_id, member.member_id), timeout_ms, fence)

    def cancel_rebalance(self, group_id: str, member_id: str) -> None:
        """The member has given up what it had to."""
        self._timers.cancel(_key("rebalance", group_id, member_id))

    def schedule_join_if_absent(self, group_id: str, member: ConsumerGroupMember) -> None:
        """The classic member has been told to join again."""
        fence = partial(self._fence, group_id, member.member_id, "it failed to join within the rebalance timeout", None)
        key = _key("join", group_id, member.member_id)
        self._timers.schedule_if_absent(key, member.rebalance_timeout_ms, fence)

    def cancel_join(self, group_id: str, member_id: str) -> None:
        """The classic member has joined again."""
        self._timers.cancel(_key("join", group_id, member_id))

    def schedule_sync(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The classic member has joined, and has yet to fetch its assignment."""
        fence = partial(self._fence, group_id, member_id, "it failed to sync within timeout", None)
        self._timers.schedule(_key("sync", group_id, member_id), timeout_ms, fence)

    def cancel_sync(self, group_id: str, member_id: str) -> None:
        """The classic member has its assignment."""
        self._timers.cancel(_key("sync", group_id, member_id))

    def cancel_all(self, group_id: str, member_id: str) -> None:
        """The member is about to be gone."""
        for kind in ("session", "rebalance", "join", "sync"):
            self._timers.cancel(_key(kind, group_id, member_id))


def _key(kind: str, group_id: str, member_id: str) -> str:
    return f"consumer-{kind}\0{group_id}\0{member_id}"
