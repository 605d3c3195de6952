"""The timers of classic groups' members: a session ends when a member is silent for too long."""

from collections.abc import Callable
from functools import partial

from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember

ExpireMember = Callable[[str, str, int], CoordinatorResult[None]]
"""Takes the ids of a group and a member, and the time: what to do when a session ends."""


def heartbeat_key(group_id: str, member_id: str) -> str:
    """The timer of a member's session."""
    return f"heartbeat-{group_id}-{member_id}"


def join_key(group_id: str) -> str:
    """The timer of a group's join phase."""
    return f"join-{group_id}"


def sync_key(group_id: str) -> str:
    """The timer of a group's sync phase."""
    return f"sync-{group_id}"


class Sessions:
    """One timer for each member, and for each id that was given out; none for anybody else."""

    __slots__ = ("_expire", "_timers")

    def __init__(self, timers: Timers, expire: ExpireMember) -> None:
        self._timers = timers
        self._expire = expire

    def extend(self, group: ClassicGroup, member: ClassicGroupMember) -> None:
        """A member is alive: its session lasts from now on."""
        group_id, member_id = group.group_id, member.member_id
        timeout_ms = member.session_timeout_ms
        if not self._timers.extend(heartbeat_key(group_id, member_id), timeout_ms):
            self.schedule(group_id, member_id, timeout_ms)

    def schedule(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Let a session end unless it is extended in time."""
        self._timers.schedule(
            heartbeat_key(group_id, member_id), timeout_ms, partial(self._expire, group_id, member_id)
        )

    def end(self, group: ClassicGroup, member_id: str) -> None:
        """Somebody is gone."""
        self._timers.cancel(heartbeat_key(group.group_id, member_id))

    def end_all(self, group: ClassicGroup) -> None:
        """The group is gone, with everything that it waited for."""
        group_id, cancel = group.group_id, self._timers.cancel
        for member_ids in (group.members.by_id, group.members.pending_joins):
            for member_id in member_ids:
                cancel(heartbeat_key(group_id, member_id))
        cancel(join_key(group_id))
        cancel(sync_key(group_id))
