"""A new target assignment for a group, and the records that tell it."""

from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.assignor.registry import ASSIGNORS
from ottla.group.assignor.spec import Assignment, GroupSpec, MemberSpec, PartitionAssignorError, SubscriptionType
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.record_helpers import (
    new_consumer_group_target_assignment_metadata_record,
    new_consumer_group_target_assignment_record,
)
from ottla.metadata.image.topics import TopicsImage


class TargetAssignment(NamedTuple):
    """What one member is to have, at which epoch."""

    epoch: int
    assignment: Assignment


class TargetAssignmentBuilder(NamedTuple):
    """A group as it will be once ``updated_member`` has come or changed, for which an assignor is asked."""

    group: ConsumerGroup
    group_epoch: int
    assignor_name: str
    subscription_type: SubscriptionType
    updated_member: ConsumerGroupMember
    topics: TopicsImage

    def build(self, now_ms: int) -> tuple[list[CoordinatorRecord], TargetAssignment]:
        """The records of the members whose target changes, then the epoch's; and the updated member's target."""
        group_id, old = self.group.group_id, self.group.target_assignment
        spec = self._spec()
        try:
            new = ASSIGNORS[self.assignor_name](spec, self.topics)
        except PartitionAssignorError as error:
            message = f"Failed to compute a new target assignment for epoch {self.group_epoch}: {error}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
        records = [
            new_consumer_group_target_assignment_record(group_id, member_id, new.get(member_id, {}))
            for member_id in spec.members
            if not _is_same(old.get(member_id), new.get(member_id, {}))
        ]
        records.append(new_consumer_group_target_assignment_metadata_record(group_id, self.group_epoch, now_ms))
        return records, TargetAssignment(self.group_epoch, new.get(self.updated_member.member_id, {}))

    def _spec(self) -> GroupSpec:
        group, updated = self.group, self.updated_member
        members = dict(group.members)
        replaced = None if updated.instance_id is None else group.static_members.get(updated.instance_id)
        if replaced == updated.member_id:
            replaced = None
        if replaced is not None:
            del members[replaced]
        members[updated.member_id] = updated
        shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # one object for the same topics, as assignors like it
        specs = {}
        for member_id, member in members.items():
            topics = tuple(group.subscriptions.topics_of(member))
            had = replaced if replaced is not None and member is updated else member_id
            specs[member_id] = MemberSpec(
                shared.setdefault(topics, topics), group.target_assignment.get(had, {}), member.instance_id
            )
        return GroupSpec(
            members=specs,
            subscription_type=self.subscription_type,
            num_members_max=group.num_members_max,
            new_member_id=None if group.has_member(updated.member_id) else updated.member_id,
            replaced_member_id=replaced,
        )


def _is_same(old: Assignment | None, new: Assignment) -> bool:
    """Whether two assignments have the same partitions, in whatever order."""
    if old is new:
        return True
    return (
        old is not None
        and old.keys() == new.keys()
        and all(
            len(old[topic_id]) == len(partitions) and set(old[topic_id]) == set(partitions)
            for topic_id, partitions in new.items()
        )
    )
