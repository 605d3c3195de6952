"""SyncGroup: the leader gives the assignment, everybody gets its share."""

from functools import partial

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import SyncRespond
from ottla.group.classic.rebalance import Rebalance
from ottla.group.classic.state import ClassicGroupState
from ottla.group.metrics import GroupMetrics
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class Sync:
    """Syncs of classic groups."""

    __slots__ = ("_metrics", "_rebalance")

    def __init__(self, rebalance: Rebalance, metrics: GroupMetrics) -> None:
        self._rebalance = rebalance
        self._metrics = metrics

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, respond: SyncRespond) -> CoordinatorResult[None]:
        """Answer with the assignment, now or when the leader's is committed."""
        try:
            self._validate(group, request)
        except KafkaError as error:
            respond(SyncGroupResponse(error_code=error.code))
            return NOTHING
        member = group.members.by_id[request.member_id]
        self._rebalance.member_has_synced(group, member.member_id)
        if group.state is ClassicGroupState.STABLE:
            respond(
                SyncGroupResponse(
                    protocol_type=group.protocol_type,
                    protocol_name=group.protocol_name,
                    assignment=member.assignment,
                )
            )
            return NOTHING
        group.members.await_sync(member, respond)
        if not group.members.is_leader(member.member_id) or group.written_generation_id == group.generation_id:
            return NOTHING
        given = {assignment.member_id: bytes(assignment.assignment) for assignment in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members.by_id}
        group.written_generation_id = group.generation_id
        return CoordinatorResult(
            [group.metadata_record(assignments)],
            None,
            partial(self._written, group, group.generation_id, assignments),
            replay=False,
        )

    @staticmethod
    def _validate(group: ClassicGroup, request: SyncGroupRequest) -> None:
        if group.state is ClassicGroupState.DEAD:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"Group {group.group_id} is in dead state.")
        group.members.validate(request.member_id, request.group_instance_id)
        group.validate_generation(request.generation_id)
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The member syncs with another protocol.")
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, f"Group {group.group_id} is rebalancing.")

    def _written(
        self, group: ClassicGroup, generation_id: int, assignments: dict[str, bytes], error: KafkaError | None
    ) -> None:
        """The assignment is committed, or is not; unless the group has moved on meanwhile, everybody is told."""
        if group.state is not ClassicGroupState.COMPLETING_REBALANCE or group.generation_id != generation_id:
            return
        now_ms = self._rebalance.latest_ms
        if error is None:
            self._rebalance.set_assignments(group, assignments)
            group.transition_to(ClassicGroupState.STABLE, now_ms)
            self._metrics.completed_rebalances.value += 1
            return
        code = ErrorCode(error.code)
        self._rebalance.reset_assignments(group, code)
        # Nobody has joined yet, so this waits for members and has no records.
        self._rebalance.prepare(group, f"Error {code.name} when storing group assignment during SyncGroup", now_ms)


def _differs(requested: str | None, actual: str | None) -> bool:
    """Old versions do not say."""
    return requested is not None and actual is not None and requested != actual
