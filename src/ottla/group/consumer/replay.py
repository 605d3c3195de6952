"""Consumer groups from their records, live and when a partition is loaded."""

from collections.abc import Sequence

from ottla.group.classic.group import ClassicGroup
from ottla.group.consumer.assignment import NO_PARTITIONS, PartitionEpochs
from ottla.group.consumer.context import ConsumerGroupContext
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ClassicMember, ClassicProtocol, ConsumerGroupMember, topic_names
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.resolved_regular_expression import ResolvedRegularExpression
from ottla.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)

_DELETED_EPOCH = -1
"""The epoch of a target assignment that was deleted, on the way to the end of the group."""


class Replay:
    """The only code that changes consumer groups. Tombstones of what is not there are ignored: compaction may have
    taken the rest.
    """

    __slots__ = ("_context",)

    def __init__(self, context: ConsumerGroupContext) -> None:
        self._context = context

    def member_metadata(
        self, key: ConsumerGroupMemberMetadataKey, value: ConsumerGroupMemberMetadataValue | None
    ) -> None:
        """A member came or changed what it subscribes to, or is gone."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        old = group.members.get(key.member_id)
        touched = () if old is None else old.subscribed_topic_names
        if value is None:
            group.target_assignment.pop(key.member_id, None)
            group.remove_member(key.member_id)
        else:
            new = _with_metadata(old or ConsumerGroupMember(key.member_id), value)
            group.update_member(new)
            touched += new.subscribed_topic_names
        self._context.index.update(group, touched)

    def metadata(self, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None) -> None:
        """The group has an epoch, or is gone."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        if value is not None:
            group.group_epoch = value.epoch
            group.metadata_hash = value.metadata_hash
            return
        assert not group.members, f"group {key.group_id} ends with {group.num_members} members"
        self._context.groups.remove(key.group_id)

    def partition_metadata(
        self, key: ConsumerGroupPartitionMetadataKey, value: ConsumerGroupPartitionMetadataValue | None
    ) -> None:
        """What versions before 4.1 wrote of topics: it is only there to be deleted."""
        group = self._group(key.group_id, create=value is not None)
        if group is not None:
            group.has_subscription_metadata_record = value is not None

    def target_assignment_member(
        self, key: ConsumerGroupTargetAssignmentMemberKey, value: ConsumerGroupTargetAssignmentMemberValue | None
    ) -> None:
        """What a member is to have."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        if value is None:
            group.target_assignment.pop(key.member_id, None)
        else:
            group.target_assignment[key.member_id] = {
                topic.topic_id: tuple(topic.partitions) for topic in value.topic_partitions
            }

    def target_assignment_metadata(
        self, key: ConsumerGroupTargetAssignmentMetadataKey, value: ConsumerGroupTargetAssignmentMetadataValue | None
    ) -> None:
        """The epoch of what members are to have."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        group.assignment_epoch = _DELETED_EPOCH if value is None else value.assignment_epoch
        group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp

    def current_member_assignment(
        self, key: ConsumerGroupCurrentMemberAssignmentKey, value: ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        """What a member has."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        old = group.members.get(key.member_id)
        if value is not None:
            group.update_member(_with_assignment(old or ConsumerGroupMember(key.member_id), value))
        elif old is not None:
            group.update_member(old.without_assignment())

    def regular_expression(
        self, key: ConsumerGroupRegularExpressionKey, value: ConsumerGroupRegularExpressionValue | None
    ) -> None:
        """What a regular expression stands for."""
        group = self._group(key.group_id, create=value is not None)
        if group is None:
            return
        regex, resolved = key.regular_expression, None
        before = group.subscriptions.resolved.get(regex)
        touched = () if before is None else before.topics
        if value is not None:
            resolved = ResolvedRegularExpression(topic_names(value.topics), value.version, value.timestamp)
            touched += resolved.topics
        group.subscriptions.set_resolved(regex, resolved)
        self._context.index.update(group, touched)

    def _group(self, group_id: str, *, create: bool) -> ConsumerGroup | None:
        """The group that a record belongs to. A classic group that only holds offsets has no records of its own, and
        may have appeared because an offset came before.
        """
        group = self._context.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if not create:
            return None
        assert group is None or (isinstance(group, ClassicGroup) and group.is_simple_group), (
            f"group {group_id} is not a consumer group"
        )
        new = ConsumerGroup(group_id)
        self._context.groups.add(new)
        return new


def _with_metadata(member: ConsumerGroupMember, value: ConsumerGroupMemberMetadataValue) -> ConsumerGroupMember:
    classic = value.classic_member_metadata
    return member._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=topic_names(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor_name=value.server_assignor,
        classic=None
        if classic is None
        else ClassicMember(
            classic.session_timeout_ms,
            tuple(ClassicProtocol(each.name, bytes(each.metadata)) for each in classic.supported_protocols),
        ),
    )


def _with_assignment(
    member: ConsumerGroupMember, value: ConsumerGroupCurrentMemberAssignmentValue
) -> ConsumerGroupMember:
    epoch = value.member_epoch
    return member._replace(
        member_epoch=epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState.from_value(value.state),
        assigned_partitions=_partition_epochs(value.assigned_partitions, epoch),
        partitions_pending_revocation=_partition_epochs(value.partitions_pending_revocation, epoch),
    )


def _partition_epochs(topics: Sequence[TopicPartitions], epoch: int) -> PartitionEpochs:
    """Partitions with the epochs that they came at; where a record does not say, that of the member."""
    if not topics:
        return NO_PARTITIONS
    partitions = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            partitions[topic.topic_id] = dict.fromkeys(topic.partitions, max(epoch, 0))
        else:
            partitions[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return partitions
