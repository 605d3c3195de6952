"""Answers to JoinGroup."""

from ottla.common.error_code import ErrorCode
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember


def refused_response(code: int, member_id: str = "") -> JoinGroupResponse:
    """A refusal, with the id under which the client may go on."""
    return JoinGroupResponse(error_code=code, member_id=member_id)


def joined_response(
    group: ClassicGroup, member: ClassicGroupMember, *, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The current generation as a member is told it: the leader hears of everybody, to make the assignment."""
    members = group.members
    is_leader = members.is_leader(member.member_id)
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=members.leader_id or "",
        skip_assignment=skip_assignment and is_leader,
        member_id=member.member_id,
        members=_described(group) if is_leader else (),
    )


def unchanged_response(group: ClassicGroup, member_id: str, leader_id: str) -> JoinGroupResponse:
    """The current generation for a static member that came back and must not assign.

    Versions that cannot say "skip the assignment" are told of the leader as it was before, so that a leader who came
    back under another id takes itself for a follower.
    """
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader_id,
        member_id=member_id,
    )


def _described(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    name = group.protocol_name
    assert name is not None, f"{group.group_id} has a generation and no protocol"
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(name),
        )
        for member in group.members.by_id.values()
    ]
