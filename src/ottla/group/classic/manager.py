"""The classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups, and the groups' records."""

from functools import partial
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.context import ClassicRequestContext
from ottla.group.classic.describe import describe_group
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.join import Join
from ottla.group.classic.joining import Joining
from ottla.group.classic.leave import Leave
from ottla.group.classic.loading import group_from_record
from ottla.group.classic.member import ClassicGroupMember, JoinRespond, SyncRespond
from ottla.group.classic.member_id import Randomness
from ottla.group.classic.rebalance import Rebalance
from ottla.group.classic.state import ClassicGroupState
from ottla.group.classic.sync import Sync
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.record_helpers import new_empty_group_metadata_record
from ottla.group.records import GroupMetadataKey, GroupMetadataValue
from ottla.protocol.messages.describe_groups import DescribedGroup
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_HEARTBEAT_CODES: Final = {
    ClassicGroupState.EMPTY: ErrorCode.UNKNOWN_MEMBER_ID,
    ClassicGroupState.PREPARING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
    ClassicGroupState.COMPLETING_REBALANCE: ErrorCode.NONE,  # clients begin when they have joined
    ClassicGroupState.STABLE: ErrorCode.NONE,
}


class ClassicGroupManager:
    """The classic groups of one shard.

    ``respond`` is called exactly once, unless the operation itself raises. Members live in memory; records tell of a
    group's existence, of each assigned generation, and of static members that came back. Because memory is ahead of
    the log these records are not replayed, except for the one that makes a group.
    """

    __slots__ = ("_groups", "_join", "_leave", "_rebalance", "_sync", "config")

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        timers: Timers,
        groups: GroupStore,
        rng: Randomness,
        metrics: GroupMetrics,
    ) -> None:
        self.config = config
        self._groups = groups
        self._rebalance = Rebalance(config=config, timers=timers, groups=groups)
        self._join = Join(config=config, rebalance=self._rebalance, rng=rng)
        self._sync = Sync(self._rebalance, metrics)
        self._leave = Leave(self._rebalance)

    # -- requests -----------------------------------------------------------------------------------------------------

    def join(
        self, context: ClassicRequestContext, request: JoinGroupRequest, respond: JoinRespond, now_ms: int
    ) -> CoordinatorResult[None]:
        """JoinGroup to a classic group, to one that is to be made, or to an empty group of another kind.

        An empty group of another kind becomes a classic one. Whether a group with members of another kind takes
        classic members is its own manager's affair; here they are refused.
        """
        self._rebalance.latest_ms = now_ms
        joining = Joining.of(context, request, respond)
        group = self._groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._join.join(group, joining, now_ms)
        if group is not None and not group.is_empty:
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        if not request.protocol_type or not joining.protocols:
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        records: list[CoordinatorRecord] = []
        if group is not None:
            records += group.tombstone_records()
        records.append(new_empty_group_metadata_record(request.group_id, now_ms))
        return CoordinatorResult(records, None, partial(self._created, joining))

    def _created(self, joining: Joining, error: KafkaError | None) -> None:
        """The group that somebody wants to join exists now; others may have joined it before."""
        if error is not None:
            joining.refuse(error.code)
            return
        group = self._groups.find_classic_group(joining.request.group_id)
        if group is None or joining.request.group_instance_id in group.members.static_member_ids:
            joining.refuse(ErrorCode.REBALANCE_IN_PROGRESS)  # much has happened meanwhile: try again
            return
        result = self._join.join(group, joining, self._rebalance.latest_ms)
        assert not result.records, "a member that has just come is written when it has synced"

    def sync(self, request: SyncGroupRequest, respond: SyncRespond, now_ms: int) -> CoordinatorResult[None]:
        """SyncGroup to a classic group."""
        self._rebalance.latest_ms = now_ms
        group = self._groups.find_classic_group(request.group_id)
        if group is None or group.is_empty:
            respond(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
            return NOTHING
        return self._sync.sync(group, request, respond)

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Heartbeat to a classic group: the member is alive, and hears whether it has to rejoin."""
        self._rebalance.latest_ms = now_ms
        group = self._known_group(request.group_id)
        if group.state is ClassicGroupState.DEAD:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"Group {group.group_id} is in dead state.")
        group.members.validate(request.member_id, request.group_instance_id)
        group.validate_generation(request.generation_id)
        self._rebalance.sessions.extend(group, group.members.by_id[request.member_id])
        return CoordinatorResult((), HeartbeatResponse(error_code=_HEARTBEAT_CODES[group.state]))

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """LeaveGroup to a classic group; whoever leaves is in ``members``, in every version."""
        self._rebalance.latest_ms = now_ms
        return self._leave.leave(self._known_group(request.group_id), request, now_ms)

    def describe(self, group_id: str, api_version: int) -> DescribedGroup:
        """One group of DescribeGroups."""
        return describe_group(self._groups, group_id, api_version)

    def extend_session(self, group: ClassicGroup, member: ClassicGroupMember) -> None:
        """A member has committed offsets: it is alive."""
        self._rebalance.sessions.extend(group, member)

    def _known_group(self, group_id: str) -> ClassicGroup:
        group = self._groups.find_classic_group(group_id)
        if group is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
        return group

    def adopt(self, group: ClassicGroup, rebalance_reason: str | None, now_ms: int) -> None:
        """A consumer group has become a classic one: its members' sessions begin; rebalance if there is a reason."""
        self._rebalance.latest_ms = now_ms
        self._start(group, rebalance_reason, now_ms)

    # -- the log ------------------------------------------------------------------------------------------------------

    def replay_group_metadata(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        """A generation of a classic group, or the end of the group.

        A group that ends with members becomes one of another kind: whoever waits in it joins again.
        """
        group_id = key.group
        before = self._groups.find_classic_group(group_id)
        if before is not None:
            if before.is_empty:
                self._rebalance.sessions.end_all(before)
            else:
                self._retire(before, ErrorCode.REBALANCE_IN_PROGRESS)
        if value is None:
            self._groups.remove(group_id)
        else:
            self._groups.add(group_from_record(group_id, value))

    def on_loaded(self, now_ms: int) -> None:
        """All records have been replayed: sessions begin, and groups that ``group.max.size`` forbids shrink."""
        self._rebalance.latest_ms = now_ms
        for group in list(self._groups.groups.values()):
            if isinstance(group, ClassicGroup):
                is_too_large = group.num_members > self.config.group_max_size
                reason = f"Freshly-loaded group of {group.num_members} is over capacity" if is_too_large else None
                self._start(group, reason, now_ms)

    def on_unloaded(self) -> None:
        """Another broker takes over: whoever waits has to look for it."""
        for group in self._groups.groups.values():
            if isinstance(group, ClassicGroup):
                self._retire(group, ErrorCode.NOT_COORDINATOR)

    def _retire(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Nothing happens to a group any more, whatever of it is yet to be committed."""
        group.transition_to(ClassicGroupState.DEAD, self._rebalance.latest_ms)
        group.members.fail_all(error)
        self._rebalance.sessions.end_all(group)

    def _start(self, group: ClassicGroup, rebalance_reason: str | None, now_ms: int) -> None:
        for member in group.members.by_id.values():
            self._rebalance.sessions.extend(group, member)
        if rebalance_reason is not None:
            # Nobody has joined yet, so this waits for members and has no records.
            self._rebalance.prepare(group, rebalance_reason, now_ms)
