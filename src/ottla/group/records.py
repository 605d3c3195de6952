"""The records of ``__consumer_offsets``, one class each; :data:`RECORD_TYPES` finds them by the type before the key.

Records of share and streams groups have types that are not in the table, and are skipped by whoever loads a log.
"""

from collections.abc import Sequence
from typing import Final

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BYTES, INT8, INT32, INT64, STRING, UUID, ArrayOf, Message, field


class LegacyOffsetCommitKey(Message, api_key=0, versions="0", flexible="none"):
    """A committed offset, as very old brokers wrote it; read, never written."""

    group: str = field(STRING, "0", default="")
    topic: str = field(STRING, "0", default="")
    partition: int = field(INT32, "0", default=0)


class LegacyOffsetCommitValue(Message, api_key=0, versions="0", flexible="none"):
    """The value that belongs to LegacyOffsetCommitKey."""

    offset: int = field(INT64, "0", default=0)
    metadata: str = field(STRING, "0", default="")
    commit_timestamp: int = field(INT64, "0", default=0)


class OffsetCommitKey(Message, api_key=1, versions="0", flexible="none"):
    """A committed offset of a group for a partition."""

    group: str = field(STRING, "0", default="")
    topic: str = field(STRING, "0", default="")
    partition: int = field(INT32, "0", default=0)


class OffsetCommitValue(Message, api_key=1, versions="0-4", flexible="4+"):
    """The offset. Version 1 alone has an expiry of its own, version 4 the topic's id."""

    offset: int = field(INT64, "0+", default=0)
    leader_epoch: int = field(INT32, "3+", default=-1)
    metadata: str = field(STRING, "0+", default="")
    commit_timestamp: int = field(INT64, "0+", default=0)
    expire_timestamp: int = field(INT64, "1", default=-1)
    topic_id: Uuid = field(UUID, "4+", default=ZERO_UUID, tag=0, tagged="4+")


class GroupMetadataKey(Message, api_key=2, versions="0", flexible="none"):
    """A classic group."""

    group: str = field(STRING, "0", default="")


class MemberMetadata(Message):
    """A member of a classic group, with what the leader assigned to it."""

    member_id: str = field(STRING, "0+", default="")
    group_instance_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    client_id: str = field(STRING, "0+", default="")
    client_host: str = field(STRING, "0+", default="")
    rebalance_timeout: int = field(INT32, "1+", default=-1)
    session_timeout: int = field(INT32, "0+", default=0)
    subscription: bytes = field(BYTES, "0+", default=b"")
    assignment: bytes = field(BYTES, "0+", default=b"")


class GroupMetadataValue(Message, api_key=2, versions="0-4", flexible="4+"):
    """A generation of a classic group."""

    protocol_type: str = field(STRING, "0+", default="")
    generation: int = field(INT32, "0+", default=0)
    protocol: str | None = field(STRING, "0+", default="", nullable="0+")
    leader: str | None = field(STRING, "0+", default="", nullable="0+")
    current_state_timestamp: int = field(INT64, "2+", default=-1)
    members: Sequence[MemberMetadata] = field(ArrayOf(MemberMetadata), "0+", default=())


class ConsumerGroupMetadataKey(Message, api_key=3, versions="0", flexible="none"):
    """A consumer group."""

    group_id: str = field(STRING, "0", default="")


class ConsumerGroupMetadataValue(Message, api_key=3, versions="0", flexible="0+"):
    """Its epoch, and the hash of the topics that it was computed from."""

    epoch: int = field(INT32, "0+", default=0)
    metadata_hash: int = field(INT64, "0+", default=0, tag=0, tagged="0+")


class ConsumerGroupPartitionMetadataKey(Message, api_key=4, versions="0", flexible="none"):
    """The topics that a consumer group reads; before Kafka 4.1, now replaced by the group's metadata hash."""

    group_id: str = field(STRING, "0", default="")


class PartitionMetadata(Message):
    """The racks of one partition."""

    partition: int = field(INT32, "0+", default=0)
    racks: Sequence[str] = field(ArrayOf(STRING), "0+", default=())


class TopicMetadata(Message):
    """What a group knew of a topic."""

    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    topic_name: str = field(STRING, "0+", default="")
    num_partitions: int = field(INT32, "0+", default=0)
    partition_metadata: Sequence[PartitionMetadata] = field(ArrayOf(PartitionMetadata), "0+", default=())


class ConsumerGroupPartitionMetadataValue(Message, api_key=4, versions="0", flexible="0+"):
    """The value that belongs to ConsumerGroupPartitionMetadataKey."""

    topics: Sequence[TopicMetadata] = field(ArrayOf(TopicMetadata), "0+", default=())


class ConsumerGroupMemberMetadataKey(Message, api_key=5, versions="0", flexible="none"):
    """A member of a consumer group."""

    group_id: str = field(STRING, "0", default="")
    member_id: str = field(STRING, "0", default="")


class ClassicProtocol(Message):
    """One protocol that a member supports, in its own order of preference."""

    name: str = field(STRING, "0+", default="")
    metadata: bytes = field(BYTES, "0+", default=b"")


class ClassicMemberMetadata(Message):
    """What is known of a member that speaks the classic protocol in a consumer group."""

    session_timeout_ms: int = field(INT32, "0+", default=0)
    supported_protocols: Sequence[ClassicProtocol] = field(ArrayOf(ClassicProtocol), "0+", default=())


class ConsumerGroupMemberMetadataValue(Message, api_key=5, versions="0", flexible="0+"):
    """What a member subscribes to. ``classic_member_metadata`` is None for one that speaks the consumer protocol.

    Its default is not None, as in Apache's classes: the None of an ordinary member stands in the record.
    """

    instance_id: str | None = field(STRING, "0+", default="", nullable="0+")
    rack_id: str | None = field(STRING, "0+", default="", nullable="0+")
    client_id: str = field(STRING, "0+", default="")
    client_host: str = field(STRING, "0+", default="")
    subscribed_topic_names: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    subscribed_topic_regex: str | None = field(STRING, "0+", default="", nullable="0+")
    rebalance_timeout_ms: int = field(INT32, "0+", default=-1)
    server_assignor: str | None = field(STRING, "0+", default="", nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(
        ClassicMemberMetadata, "0+", default=ClassicMemberMetadata(), nullable="0+", tag=0, tagged="0+"
    )


class ConsumerGroupTargetAssignmentMetadataKey(Message, api_key=6, versions="0", flexible="none"):
    """The target assignment of a consumer group."""

    group_id: str = field(STRING, "0", default="")


class ConsumerGroupTargetAssignmentMetadataValue(Message, api_key=6, versions="0", flexible="0+"):
    """The group epoch that it was computed for, and when."""

    assignment_epoch: int = field(INT32, "0+", default=0)
    assignment_timestamp: int = field(INT64, "0+", default=0, tag=0, tagged="0+")


class ConsumerGroupTargetAssignmentMemberKey(Message, api_key=7, versions="0", flexible="none"):
    """One member's part of the target assignment."""

    group_id: str = field(STRING, "0", default="")
    member_id: str = field(STRING, "0", default="")


class TopicPartition(Message):
    """Some partitions of a topic."""

    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class ConsumerGroupTargetAssignmentMemberValue(Message, api_key=7, versions="0", flexible="0+"):
    """The partitions that the member is to have in the end."""

    topic_partitions: Sequence[TopicPartition] = field(ArrayOf(TopicPartition), "0+", default=())


class ConsumerGroupCurrentMemberAssignmentKey(Message, api_key=8, versions="0", flexible="none"):
    """What one member has now."""

    group_id: str = field(STRING, "0", default="")
    member_id: str = field(STRING, "0", default="")


class TopicPartitions(Message):
    """Some partitions of a topic, and the epochs at which the member got them (as many; None before Kafka 4.3)."""

    topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    assignment_epochs: Sequence[int] | None = field(ArrayOf(INT32), "0+", default=(), nullable="0+", tag=0, tagged="0+")


class ConsumerGroupCurrentMemberAssignmentValue(Message, api_key=8, versions="0", flexible="0+"):
    """The member's epoch and state, what it owns and what it has still to give up."""

    member_epoch: int = field(INT32, "0+", default=0)
    previous_member_epoch: int = field(INT32, "0+", default=0)
    state: int = field(INT8, "0+", default=0)
    assigned_partitions: Sequence[TopicPartitions] = field(ArrayOf(TopicPartitions), "0+", default=())
    partitions_pending_revocation: Sequence[TopicPartitions] = field(ArrayOf(TopicPartitions), "0+", default=())


class ConsumerGroupRegularExpressionKey(Message, api_key=16, versions="0", flexible="none"):
    """A regular expression that somebody in a consumer group subscribes to."""

    group_id: str = field(STRING, "0", default="")
    regular_expression: str = field(STRING, "0", default="")


class ConsumerGroupRegularExpressionValue(Message, api_key=16, versions="0", flexible="0+"):
    """The topics that it matched, in the metadata of a version (an offset), at a time."""

    topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    version: int = field(INT64, "0+", default=0)
    timestamp: int = field(INT64, "0+", default=0)


RECORD_TYPES: Final[dict[int, tuple[type[Message], type[Message]]]] = {
    key.schema.api_key: (key, value)
    for key, value in (
        (LegacyOffsetCommitKey, LegacyOffsetCommitValue),
        (OffsetCommitKey, OffsetCommitValue),
        (GroupMetadataKey, GroupMetadataValue),
        (ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
        (ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
        (ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
        (ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
        (ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
        (ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
        (ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    )
}
"""Key and value of each record, by its type: what a RecordSerde needs."""
