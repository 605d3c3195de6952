"""Makes the records of ``__consumer_offsets``, each in the version that Kafka 4.3.1 writes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    TopicPartition,
    TopicPartitions,
)

GROUP_METADATA_VALUE_VERSION: Final = 3
"""Version 4 exists, but older brokers could not read it."""


class SubscribingMember(Protocol):
    """What the record of a consumer group's member is made from."""

    @property
    def member_id(self) -> str:
        """Its id."""

    @property
    def instance_id(self) -> str | None:
        """Its ``group.instance.id``, if it is a static member."""

    @property
    def rack_id(self) -> str | None:
        """Where it runs, if it said so."""

    @property
    def client_id(self) -> str:
        """What it calls itself."""

    @property
    def client_host(self) -> str:
        """Where it connects from."""

    @property
    def subscribed_topic_names(self) -> Collection[str]:
        """The topics that it names."""

    @property
    def subscribed_topic_regex(self) -> str | None:
        """The expression that its topics match; empty or None for none."""

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take to give up partitions."""

    @property
    def server_assignor_name(self) -> str | None:
        """The assignor that it prefers."""

    @property
    def classic_member_metadata(self) -> ClassicMemberMetadata | None:
        """What is known of it if it speaks the classic protocol."""


class AssignedMember(Protocol):
    """What the record of a member's current assignment is made from; partitions carry the epochs they came at."""

    @property
    def member_id(self) -> str:
        """Its id."""

    @property
    def member_epoch(self) -> int:
        """Its epoch."""

    @property
    def previous_member_epoch(self) -> int:
        """The epoch before, with which it may come if it missed the answer."""

    @property
    def state(self) -> int:
        """The number of its state."""

    @property
    def assigned_partitions(self) -> Mapping[Uuid, Mapping[int, int]]:
        """What it owns: the epoch of each partition, by topic."""

    @property
    def partitions_pending_revocation(self) -> Mapping[Uuid, Mapping[int, int]]:
        """What it has to give up, likewise."""


def new_offset_commit_tombstone_record(group_id: str, topic: str, partition_id: int) -> CoordinatorRecord:
    """The end of a committed offset."""
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition_id), None)


def new_group_metadata_record(
    group_id: str,
    *,
    protocol_type: str | None,
    generation_id: int,
    protocol_name: str | None,
    leader: str | None,
    current_state_timestamp_ms: int,
    members: Sequence[MemberMetadata],
) -> CoordinatorRecord:
    """A generation of a classic group, with the assignment of each member."""
    return CoordinatorRecord(
        GroupMetadataKey(group=group_id),
        GroupMetadataValue(
            protocol_type=protocol_type or "",
            generation=generation_id,
            protocol=protocol_name,
            leader=leader,
            current_state_timestamp=current_state_timestamp_ms,
            members=members,
        ),
        GROUP_METADATA_VALUE_VERSION,
    )


def new_empty_group_metadata_record(group_id: str, current_state_timestamp_ms: int) -> CoordinatorRecord:
    """A classic group that has no generation yet; -1 where its state has no time."""
    return new_group_metadata_record(
        group_id,
        protocol_type=None,
        generation_id=0,
        protocol_name=None,
        leader=None,
        current_state_timestamp_ms=current_state_timestamp_ms,
        members=(),
    )


def new_group_metadata_tombstone_record(group_id: str) -> CoordinatorRecord:
    """The end of a classic group."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def new_consumer_group_member_subscription_record(group_id: str, member: SubscribingMember) -> CoordinatorRecord:
    """A member of a consumer group."""
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor_name,
            classic_member_metadata=member.classic_member_metadata,
        ),
    )


def new_consumer_group_member_subscription_tombstone_record(group_id: str, member_id: str) -> CoordinatorRecord:
    """The end of a member of a consumer group."""
    return CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)


def new_consumer_group_subscription_metadata_tombstone_record(group_id: str) -> CoordinatorRecord:
    """The end of what brokers before 4.1 knew of a group's topics."""
    return CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def new_consumer_group_epoch_record(group_id: str, new_group_epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """A consumer group's epoch."""
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=new_group_epoch, metadata_hash=metadata_hash),
    )


def new_consumer_group_epoch_tombstone_record(group_id: str) -> CoordinatorRecord:
    """The end of a consumer group."""
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None)


def new_consumer_group_target_assignment_record(
    group_id: str, member_id: str, partitions: Mapping[Uuid, Iterable[int]]
) -> CoordinatorRecord:
    """A member's target assignment; topics in the order they are given in, partitions sorted."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                TopicPartition(topic_id=topic_id, partitions=sorted(indexes))
                for topic_id, indexes in partitions.items()
            ]
        ),
    )


def new_consumer_group_target_assignment_tombstone_record(group_id: str, member_id: str) -> CoordinatorRecord:
    """The end of a member's target assignment."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)


def new_consumer_group_target_assignment_metadata_record(
    group_id: str, assignment_epoch: int, assignment_timestamp_ms: int
) -> CoordinatorRecord:
    """The epoch of a consumer group's target assignment, and when it was computed."""
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=assignment_epoch, assignment_timestamp=assignment_timestamp_ms
        ),
    )


def new_consumer_group_target_assignment_metadata_tombstone_record(group_id: str) -> CoordinatorRecord:
    """The end of a consumer group's target assignment."""
    return CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def new_consumer_group_current_assignment_record(group_id: str, member: AssignedMember) -> CoordinatorRecord:
    """What a member of a consumer group owns, and what it is about to give up."""
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_topic_partitions(member.assigned_partitions),
            partitions_pending_revocation=_topic_partitions(member.partitions_pending_revocation),
        ),
    )


def new_consumer_group_current_assignment_tombstone_record(group_id: str, member_id: str) -> CoordinatorRecord:
    """The end of what a member of a consumer group owns."""
    return CoordinatorRecord(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)


def new_consumer_group_regular_expression_record(
    group_id: str, regex: str, *, topics: Iterable[str], version: int, timestamp_ms: int
) -> CoordinatorRecord:
    """The topics that a regular expression matches."""
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex),
        ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=version, timestamp=timestamp_ms),
    )


def new_consumer_group_regular_expression_tombstone_record(group_id: str, regex: str) -> CoordinatorRecord:
    """The end of a regular expression: nobody in the group subscribes to it."""
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None)


def _topic_partitions(assignment: Mapping[Uuid, Mapping[int, int]]) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values()))
        for topic_id, epochs in assignment.items()
    ]
