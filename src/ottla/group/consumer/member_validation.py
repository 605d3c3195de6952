"""Who may speak for a member: ids, instance ids and epochs, and what a stranger is told."""

from typing import TYPE_CHECKING

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.group.assignor.spec import Assignment
from ottla.group.consumer.assignment import owns_only
from ottla.group.consumer.member import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ClassicMember,
    ConsumerGroupMember,
)

if TYPE_CHECKING:
    from ottla.group.consumer.group import ConsumerGroup


def unknown_member(member_id: str, group_id: str) -> ApiError:
    """Nobody of that id is a member."""
    return ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def known_static_member(group: "ConsumerGroup", instance_id: str) -> ConsumerGroupMember:
    """The member that has an instance id; UNKNOWN_MEMBER_ID if there is none."""
    member = group.static_member(instance_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member


def throw_if_group_is_full(group: "ConsumerGroup", member_id: str, max_size: int) -> None:
    """GROUP_MAX_SIZE_REACHED for one member too many."""
    if group.num_members >= max_size and not group.has_member(member_id):
        raise ApiError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {max_size} members.",
        )


def throw_if_member_epoch_is_invalid(
    member: ConsumerGroupMember, received_epoch: int, owned: Assignment | None
) -> None:
    """FENCED_MEMBER_EPOCH unless the epoch is the member's own, or the one before it: the answer that told the new one
    may have been lost, which is believed of a member that owns nothing but what it was given.
    """
    if received_epoch in (JOIN_GROUP_MEMBER_EPOCH, member.member_epoch):
        return
    is_retry = (
        JOIN_GROUP_MEMBER_EPOCH < received_epoch < member.member_epoch
        and received_epoch == member.previous_member_epoch
        and owned is not None
        and owns_only(owned, member.assigned_partitions)
    )
    if not is_retry:
        which = "greater" if received_epoch > member.member_epoch else "smaller"
        raise ApiError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {which} member epoch ({received_epoch}) than the one known by the group "
            f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
        )


def throw_if_instance_id_is_unreleased(member: ConsumerGroupMember, joining_member_id: str) -> None:
    """UNRELEASED_INSTANCE_ID unless the static member has left for a while."""
    if member.member_epoch != LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {joining_member_id} with instance id {member.instance_id} cannot join the group because "
            f"the instance id is owned by {member.member_id} member.",
        )


def throw_if_instance_id_is_fenced(member: ConsumerGroupMember, received_member_id: str) -> None:
    """FENCED_INSTANCE_ID where another member has the instance id now."""
    if member.member_id != received_member_id:
        raise ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {received_member_id} with instance id {member.instance_id} was fenced by member "
            f"{member.member_id}.",
        )


def classic_member(
    group: "ConsumerGroup", member_id: str, instance_id: str | None
) -> tuple[ConsumerGroupMember, ClassicMember]:
    """The member that sends a request of the classic protocol, by both of its ids."""
    if instance_id is None:
        member = group.member(member_id)
    else:
        member = known_static_member(group, instance_id)
        throw_if_instance_id_is_fenced(member, member_id)
    if member.classic is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol.")
    return member, member.classic


def throw_if_generation_is_unmatched(member: ConsumerGroupMember, generation_id: int) -> None:
    """ILLEGAL_GENERATION where a classic member is not at its epoch."""
    if member.member_epoch != generation_id:
        raise ApiError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation_id} is not equal to the member epoch {member.member_epoch} of "
            f"member {member.member_id}.",
        )
