"""LeaveGroup: members go, one or several at once, by themselves or because an admin removes them."""

import logging

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.rebalance import Rebalance
from ottla.group.classic.state import ClassicGroupState
from ottla.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

logger = logging.getLogger(__name__)


class Leave:
    """Leaves of classic groups."""

    __slots__ = ("_rebalance",)

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def leave(
        self, group: ClassicGroup, request: LeaveGroupRequest, now_ms: int
    ) -> CoordinatorResult[LeaveGroupResponse]:
        """Let members go, and rebalance if any was there; each has its own error. All are in ``members``."""
        if group.state is ClassicGroupState.DEAD:
            return CoordinatorResult((), LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
        responses = []
        left = []
        for identity in request.members:
            code = self._leave(group, identity)
            responses.append(
                MemberResponse(
                    member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code
                )
            )
            if code is ErrorCode.NONE:
                left.append(identity.member_id)
        rebalanced: CoordinatorResult[None] = NOTHING
        if left and group.state is not ClassicGroupState.EMPTY:
            reason = f"explicit `LeaveGroup` request for ({', '.join(left)}) members"
            rebalanced = self._rebalance.prepare_or_complete_join(group, reason, now_ms)
        return CoordinatorResult(
            rebalanced.records,
            LeaveGroupResponse(members=responses),
            rebalanced.on_committed,
            replay=rebalanced.replay,
        )

    def _leave(self, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
        members = group.members
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if not member_id:  # an admin removes a static member without knowing its id
            member_id = "" if instance_id is None else members.static_member_ids.get(instance_id, "")
        elif member_id in members.pending_joins:
            self._rebalance.remove_member(group, member_id)
            return ErrorCode.NONE
        try:
            members.validate(member_id, instance_id)
        except KafkaError as error:
            return ErrorCode(error.code)
        logger.info(
            "Member %s has left group %s through explicit `LeaveGroup` request; client reason: %s",
            member_id,
            group.group_id,
            identity.reason or "not provided",
        )
        self._rebalance.remove_member(group, member_id)
        return ErrorCode.NONE
