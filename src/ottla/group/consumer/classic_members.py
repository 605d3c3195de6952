"""Members of a consumer group that speak the classic protocol: SyncGroup, Heartbeat, LeaveGroup.

For them an epoch is a generation: they join again whenever they are to move to another one, give up what the answer to
their join leaves out, and fetch their assignment with SyncGroup. Nobody leads; the broker assigns.
"""

import logging
from collections.abc import Sequence
from functools import partial

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.member import SyncRespond
from ottla.group.consumer.assignment import by_topic_name
from ottla.group.consumer.context import ConsumerGroupContext
from ottla.group.consumer.fencing import Fencing
from ottla.group.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from ottla.group.consumer.member import ClassicProtocol, ConsumerGroupMember
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.member_validation import (
    classic_member,
    known_static_member,
    throw_if_generation_is_unmatched,
    throw_if_instance_id_is_fenced,
)
from ottla.protocol.consumer_protocol import (
    decode_version,
    encode_assignment,
)
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

logger = logging.getLogger(__name__)


class ClassicMembers:
    """Requests of the classic protocol to consumer groups that have members; joins are elsewhere."""

    __slots__ = ("_context", "_fencing")

    def __init__(self, context: ConsumerGroupContext, fencing: Fencing) -> None:
        self._context = context
        self._fencing = fencing

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest, respond: SyncRespond) -> CoordinatorResult[None]:
        """Give a member its assignment, which was decided when it joined; REBALANCE_IN_PROGRESS if there is a newer."""
        member, classic = classic_member(group, request.member_id, request.group_instance_id)
        throw_if_generation_is_unmatched(member, request.generation_id)
        protocol = classic.supported_protocols[0]
        _throw_if_protocol_is_unmatched(request, protocol)
        group_id, timers = group.group_id, self._fencing.timers
        # A member that has partitions to give up has joined already, and will have to join again anyway.
        if group.assignment_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            timers.schedule_join_if_absent(group_id, member)
            raise ApiError(
                ErrorCode.REBALANCE_IN_PROGRESS,
                f"A new rebalance is triggered in group {group_id} and member {member.member_id} should rejoin.",
            )
        timers.cancel_sync(group_id, member.member_id)
        timers.schedule_session(group_id, member.member_id, classic.session_timeout_ms)
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_assignment(
                by_topic_name(member.assigned_partitions, self._context.image.topics),
                decode_version(protocol.metadata),
            ),
        )
        return CoordinatorResult((), None, partial(_respond_to_sync, response, respond))

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> CoordinatorResult[HeartbeatResponse]:
        """The member is alive. It is told to join again if there is a newer target assignment, if it has partitions to
        give up, or if those that it waits for are free.
        """
        member, classic = classic_member(group, request.member_id, request.group_instance_id)
        throw_if_generation_is_unmatched(member, request.generation_id)
        group_id, timers = group.group_id, self._fencing.timers
        timers.schedule_session(group_id, member.member_id, classic.session_timeout_ms)
        code = ErrorCode.NONE
        if (
            member.member_epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (
                member.state is MemberState.UNRELEASED_PARTITIONS
                and not group.is_waiting_on_unreleased_partition(member)
            )
        ):
            code = ErrorCode.REBALANCE_IN_PROGRESS
            timers.schedule_join_if_absent(group_id, member)
        return CoordinatorResult((), HeartbeatResponse(error_code=code))

    def leave(
        self, group: ConsumerGroup, request: LeaveGroupRequest, now_ms: int
    ) -> CoordinatorResult[LeaveGroupResponse]:
        """Members leave, or an admin removes them, whichever protocol they speak; each has an answer of its own."""
        leaving: dict[str, ConsumerGroupMember] = {}
        responses = []
        for identity in request.members:
            code = ErrorCode.NONE
            try:
                member = _leaving_member(group, identity)
            except ApiError as error:
                code = ErrorCode(error.code)
            else:
                leaving[member.member_id] = member
            responses.append(
                MemberResponse(
                    member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code
                )
            )
        members: Sequence[ConsumerGroupMember] = list(leaving.values())
        return self._fencing.fence(group, members, LeaveGroupResponse(members=responses), now_ms)


def _respond_to_sync(response: SyncGroupResponse, respond: SyncRespond, error: KafkaError | None) -> None:
    respond(response if error is None else SyncGroupResponse(error_code=error.code))


def _throw_if_protocol_is_unmatched(request: SyncGroupRequest, protocol: ClassicProtocol) -> None:
    """INCONSISTENT_GROUP_PROTOCOL unless the member was told of this type and name when it joined."""
    for received, expected in ((request.protocol_type, PROTOCOL_TYPE), (request.protocol_name, protocol.name)):
        if received is not None and received != expected:
            raise ApiError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"The protocol {received} of member {request.member_id} is not {expected}, which it joined with.",
            )


def _leaving_member(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerGroupMember:
    """The member that leaves. An admin knows a static member's instance id, and may leave the member id out."""
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    member = known_static_member(group, identity.group_instance_id)
    if identity.member_id:
        throw_if_instance_id_is_fenced(member, identity.member_id)
    return member
