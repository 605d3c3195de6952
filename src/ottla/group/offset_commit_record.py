"""The record of a committed offset, which nearly all records of groups are."""

from struct import Struct
from typing import Final

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.records import OffsetCommitKey, OffsetCommitValue

NO_TIMESTAMP_MS: Final = -1
NO_LEADER_EPOCH: Final = -1
OFFSET_COMMIT_VALUE_VERSION: Final = 4
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY: Final = 1
"""The only version that has an expiry."""
SHORT_METADATA_MAX: Final = 126
"""Longer metadata has a length of more than one byte."""

_RECORD_TYPE: Final = OffsetCommitKey.schema.api_key
_key_head: Final = Struct(">hh").pack
_length: Final = Struct(">h").pack
_partition: Final = Struct(">i").pack
_value_head: Final = Struct(">hqib").pack
_timestamp_and_topic_id: Final = Struct(">qbbb16s").pack
_timestamp: Final = Struct(">qb").pack
_NO_TOPIC_ID: Final = ZERO_UUID.bytes


class OffsetCommitRecord(CoordinatorRecord):
    """Plain fields, from which the messages can be made; what is written and applied is made without them."""

    __slots__ = (
        "commit_timestamp_ms",
        "expire_timestamp_ms",
        "group_id",
        "leader_epoch",
        "metadata",
        "offset",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(  # noqa: PLR0917  by position, for the hot path
        self,
        group_id: str,
        topic: str,
        partition: int,
        offset: int,
        leader_epoch: int = NO_LEADER_EPOCH,
        metadata: str = "",
        commit_timestamp_ms: int = 0,
        expire_timestamp_ms: int = NO_TIMESTAMP_MS,
        topic_id: Uuid = ZERO_UUID,
    ) -> None:
        self.group_id = group_id
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp_ms = commit_timestamp_ms
        self.expire_timestamp_ms = expire_timestamp_ms
        self.topic_id = topic_id

    @property
    def key(self) -> OffsetCommitKey:
        """The group, the topic and the partition."""
        return OffsetCommitKey(group=self.group_id, topic=self.topic, partition=self.partition)

    @property
    def value(self) -> OffsetCommitValue:
        """All the rest."""
        return OffsetCommitValue(
            offset=self.offset,
            leader_epoch=self.leader_epoch,
            metadata=self.metadata,
            commit_timestamp=self.commit_timestamp_ms,
            expire_timestamp=self.expire_timestamp_ms,
            topic_id=self.topic_id,
        )

    @property
    def version(self) -> int:
        """The newest, or the one that has an expiry if there is one."""
        if self.expire_timestamp_ms == NO_TIMESTAMP_MS:
            return OFFSET_COMMIT_VALUE_VERSION
        return OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY

    def encoded(self) -> tuple[bytes, bytes] | None:
        """Key and value as bytes, the same as those of the messages; None for what only these can say."""
        metadata = self.metadata.encode()
        if self.expire_timestamp_ms != NO_TIMESTAMP_MS or len(metadata) > SHORT_METADATA_MAX:
            return None
        group, topic, topic_id = self.group_id.encode(), self.topic.encode(), self.topic_id.bytes
        key = _key_head(_RECORD_TYPE, len(group)) + group + _length(len(topic)) + topic + _partition(self.partition)
        head = _value_head(OFFSET_COMMIT_VALUE_VERSION, self.offset, self.leader_epoch, len(metadata) + 1)
        if topic_id == _NO_TOPIC_ID:
            return key, head + metadata + _timestamp(self.commit_timestamp_ms, 0)
        # one tagged field, whose number is 0, of sixteen bytes
        return key, head + metadata + _timestamp_and_topic_id(self.commit_timestamp_ms, 1, 0, 16, topic_id)
