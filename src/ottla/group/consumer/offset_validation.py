"""Which offsets a member of a consumer group may commit and fetch."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.group import CommitPartitionValidator

_FIRST_VERSION_WITH_EPOCHS = 9
"""Before this version of OffsetCommit, clients do not know STALE_MEMBER_EPOCH."""


def validate_commit(
    member: ConsumerGroupMember, epoch: int, *, is_transactional: bool, api_version: int
) -> CommitPartitionValidator | None:
    """A member commits at an epoch. An older one than its own is checked for each partition: it holds for those that
    the member has had since then, so that a commit that crosses a rebalance is not lost.
    """
    if not is_transactional and not member.use_classic_protocol and api_version < _FIRST_VERSION_WITH_EPOCHS:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group protocol",
        )
    if epoch == member.member_epoch:
        return None
    if epoch > member.member_epoch:
        raise _stale(member, f"is newer than the member's epoch {member.member_epoch}", epoch)

    def validate_partition(topic_name: str, topic_id: Uuid, partition: int) -> None:
        assignment_epoch = member.assignment_epoch(topic_id, partition)
        if assignment_epoch is None:
            raise _stale(member, f"is old, and {topic_name}-{partition} is not assigned to the member", epoch)
        if epoch < assignment_epoch:
            raise _stale(member, f"is older than epoch {assignment_epoch}, which gave {topic_name}-{partition}", epoch)

    return validate_partition


def validate_fetch(member: ConsumerGroupMember, epoch: int) -> None:
    """A member fetches offsets at an epoch, which must be its own."""
    if epoch != member.member_epoch:
        raise _stale(member, f"is not the member's epoch {member.member_epoch}", epoch)


def _stale(member: ConsumerGroupMember, what: str, epoch: int) -> ApiError:
    if member.use_classic_protocol:
        return ApiError(ErrorCode.ILLEGAL_GENERATION, f"The generation {epoch} {what}.")
    return ApiError(ErrorCode.STALE_MEMBER_EPOCH, f"The member epoch {epoch} {what}.")
