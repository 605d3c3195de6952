"""The rebalance of a classic group: join phase, next generation, sync phase, and what ends each of them.

::

    prepare ── everyone has joined, or the time is up ──> complete_join ── the leader's assignment ──> Stable
       ^                                                       │
       └──────────── somebody joins, leaves, fails ────────────┘
"""

import logging
from functools import partial

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.join_response import joined_response
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.sessions import Sessions, join_key, sync_key
from ottla.group.classic.state import ClassicGroupState
from ottla.group.group_store import GroupStore
from ottla.protocol.messages.sync_group import SyncGroupResponse

logger = logging.getLogger(__name__)

Result = CoordinatorResult[None]


class Rebalance:
    """Moves groups from one generation to the next.

    ``latest_ms`` is the last time that an operation was told: what happens when records are committed happens then.
    """

    __slots__ = ("_config", "_groups", "_timers", "latest_ms", "sessions")

    def __init__(self, *, config: GroupCoordinatorConfig, timers: Timers, groups: GroupStore) -> None:
        self._config = config
        self._timers = timers
        self._groups = groups
        self.sessions = Sessions(timers, self.expire_session)
        self.latest_ms = 0

    # -- the join phase -----------------------------------------------------------------------------------------------

    def prepare_or_complete_join(self, group: ClassicGroup, reason: str, now_ms: int) -> Result:
        """Members have changed: begin a rebalance, or see whether the one under way is complete."""
        return self.prepare(group, reason, now_ms) if group.can_rebalance else self.maybe_complete_join(group, now_ms)

    def prepare(self, group: ClassicGroup, reason: str, now_ms: int) -> Result:
        """Begin a rebalance. The first one of a group takes its time, for more members may be about to come."""
        group_id = group.group_id
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            self.reset_assignments(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.members.pending_syncs.clear()
        self._timers.cancel(sync_key(group_id))
        logger.info(
            "Preparing to rebalance group %s in state %s with old generation %d (reason: %s)",
            group_id,
            group.state,
            group.generation_id,
            reason,
        )
        is_initial = group.state is ClassicGroupState.EMPTY
        group.transition_to(ClassicGroupState.PREPARING_REBALANCE, now_ms)
        if is_initial:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            group.new_member_added = False
            self._delay_initial(group_id, delay_ms, max(group.members.rebalance_timeout_ms - delay_ms, 0))
            return NOTHING
        if group.members.have_all_joined:
            return self._complete_join(group, now_ms)
        self._schedule_join(group)
        return NOTHING

    def maybe_complete_join(self, group: ClassicGroup, now_ms: int) -> Result:
        """End the join phase if nobody is missing; a group's first one always waits for its delay."""
        if (
            group.state is ClassicGroupState.PREPARING_REBALANCE
            and group.previous_state is not ClassicGroupState.EMPTY
            and group.members.have_all_joined
        ):
            return self._complete_join(group, now_ms)
        return NOTHING

    def _schedule_join(self, group: ClassicGroup) -> None:
        group_id = group.group_id
        self._timers.schedule(
            join_key(group_id), group.members.rebalance_timeout_ms, partial(self._expire_join, group_id)
        )

    def _delay_initial(self, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        self._timers.schedule(
            join_key(group_id), delay_ms, partial(self._expire_initial_delay, group_id, delay_ms, remaining_ms)
        )

    def _expire_initial_delay(self, group_id: str, delay_ms: int, remaining_ms: int, now_ms: int) -> Result:
        """Wait once more if somebody came meanwhile, within the rebalance timeout."""
        self.latest_ms = now_ms
        group = self._groups.find_classic_group(group_id)
        if group is None or group.state is not ClassicGroupState.PREPARING_REBALANCE:
            return NOTHING
        if group.new_member_added and remaining_ms != 0:
            group.new_member_added = False
            next_delay_ms = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
            self._delay_initial(group_id, next_delay_ms, max(remaining_ms - delay_ms, 0))
            return NOTHING
        return self._complete_join(group, now_ms)

    def _expire_join(self, group_id: str, now_ms: int) -> Result:
        """The rebalance timeout is over."""
        self.latest_ms = now_ms
        group = self._groups.find_classic_group(group_id)
        if group is None or group.state is not ClassicGroupState.PREPARING_REBALANCE:
            return NOTHING  # a timer that was tried again because its records could not be written
        return self._complete_join(group, now_ms)

    def _complete_join(self, group: ClassicGroup, now_ms: int) -> Result:
        """Begin the next generation with whoever has joined. Static members stay, even if they have not.

        If nobody is left the group becomes Empty, and the log is told so. If only static members are left and none has
        joined, the phase goes on until they join or their sessions end.
        """
        members = group.members
        self._timers.cancel(join_key(group.group_id))
        for member in list(members.by_id.values()):
            if not member.is_awaiting_join and not member.is_static:
                self.remove_member(group, member.member_id)
        if not members.elect_joined_leader() and len(members):
            self._schedule_join(group)
            return NOTHING
        group.init_next_generation(now_ms)
        if group.state is ClassicGroupState.EMPTY:
            logger.info("Group %s with generation %d is now empty", group.group_id, group.generation_id)
            return CoordinatorResult(
                [group.metadata_record({})], None, partial(_warn_if_not_written, group.group_id), replay=False
            )
        logger.info(
            "Stabilized group %s generation %d with %d members", group.group_id, group.generation_id, len(members)
        )
        for member in list(members.by_id.values()):
            members.complete_join(member, joined_response(group, member))
            member.is_new = False
            members.pending_syncs[member.member_id] = None
            self.sessions.extend(group, member)
        self._timers.schedule(
            sync_key(group.group_id),
            members.rebalance_timeout_ms,
            partial(self._expire_sync, group.group_id, group.generation_id),
        )
        return NOTHING

    # -- the sync phase -----------------------------------------------------------------------------------------------

    def member_has_synced(self, group: ClassicGroup, member_id: str) -> None:
        """A member asks for its assignment; when all have, none can be late any more."""
        group.members.pending_syncs.pop(member_id, None)
        if not group.members.pending_syncs:
            self._timers.cancel(sync_key(group.group_id))

    def _expire_sync(self, group_id: str, generation_id: int, now_ms: int) -> Result:
        """Let go of the members that have never asked for their assignment."""
        self.latest_ms = now_ms
        group = self._groups.find_classic_group(group_id)
        if group is None or group.generation_id != generation_id or not group.members.pending_syncs:
            return NOTHING
        if group.state not in (ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE):
            return NOTHING
        late = list(group.members.pending_syncs)
        for member_id in late:
            self.remove_member(group, member_id)
        return self.prepare(group, f"Removing {late} on pending sync request expiration", now_ms)

    def set_assignments(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        """The leader's assignment is committed: everybody who waits gets its share."""
        for member_id, member in group.members.by_id.items():
            member.assignment = assignments.get(member_id, b"")
        self._propagate(group, ErrorCode.NONE)

    def reset_assignments(self, group: ClassicGroup, error: ErrorCode) -> None:
        """There will be no assignment in this generation: everybody who waits for one is told so."""
        group.written_generation_id = -1
        for member in group.members.by_id.values():
            member.assignment = b""
        self._propagate(group, error)

    def _propagate(self, group: ClassicGroup, error: ErrorCode) -> None:
        assert group.state is ClassicGroupState.COMPLETING_REBALANCE, f"{group.group_id} is {group.state}"
        is_assigned = error is ErrorCode.NONE
        for member in list(group.members.by_id.values()):
            response = SyncGroupResponse(
                error_code=error,
                protocol_type=group.protocol_type if is_assigned else None,
                protocol_name=group.protocol_name if is_assigned else None,
                assignment=member.assignment,
            )
            if group.members.complete_sync(member, response):
                # Its session may have ended while it waited, which was ignored.
                self.sessions.extend(group, member)

    # -- members who are gone -----------------------------------------------------------------------------------------

    def remove_member(self, group: ClassicGroup, member_id: str) -> None:
        """Let go of a member, its timer, and whoever waits in its name."""
        self.sessions.end(group, member_id)
        group.members.remove(member_id)

    def expire_session(self, group_id: str, member_id: str, now_ms: int) -> Result:
        """A member, or somebody with an id that was given out, has been silent for too long."""
        self.latest_ms = now_ms
        group = self._groups.find_classic_group(group_id)
        if group is None or group.state is ClassicGroupState.DEAD:
            return NOTHING
        member = group.members.by_id.get(member_id)
        if member is None:
            if member_id not in group.members.pending_joins:
                return NOTHING
            group.members.remove(member_id)
            return self._complete_join_without(group, now_ms)
        if member.has_satisfied_heartbeat:
            return NOTHING
        return self._expire_member(group, member, now_ms)

    def _expire_member(self, group: ClassicGroup, member: ClassicGroupMember, now_ms: int) -> Result:
        logger.info("Member %s in group %s has failed, removing it from the group", member.member_id, group.group_id)
        self.remove_member(group, member.member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return self._complete_join_without(group, now_ms)
        return self.prepare_or_complete_join(
            group, f"removing member {member.member_id} on heartbeat expiration", now_ms
        )

    def _complete_join_without(self, group: ClassicGroup, now_ms: int) -> Result:
        """Somebody is missing no more, for it is gone."""
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.members.have_all_joined:
            return self._complete_join(group, now_ms)
        return NOTHING


def _warn_if_not_written(group_id: str, error: KafkaError | None) -> None:
    """If the broker fails before the next rebalance, the old generation comes back, and its members time out."""
    if error is not None:
        logger.warning("Failed to write empty metadata for group %s: %s", group_id, error)
