"""The records of groups as bytes. Committed offsets, which are nearly all of them, take a short way."""

from struct import Struct
from typing import Final

from ottla.common.uuid import ZERO_UUID
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.group.record_helpers import OFFSET_COMMIT_VALUE_VERSION
from ottla.group.records import OffsetCommitKey, OffsetCommitValue

_RECORD_TYPE: Final = OffsetCommitKey.schema.api_key
_KEY_HEAD: Final = Struct(">hh").pack
_LENGTH: Final = Struct(">h").pack
_PARTITION: Final = Struct(">i").pack
_VALUE_HEAD: Final = Struct(">hqib").pack
_TIMESTAMP_AND_TOPIC_ID: Final = Struct(">qbbb16s").pack
_TIMESTAMP: Final = Struct(">qb").pack
_NO_TOPIC_ID: Final = ZERO_UUID.bytes
_SHORT_METADATA_MAX: Final = 126
"""Longer metadata has a length of more than one byte."""


def encode_group_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Byte for byte what :meth:`RecordSerde.encode` says."""
    key, value, version = record
    if (
        isinstance(key, OffsetCommitKey)
        and isinstance(value, OffsetCommitValue)
        and version == OFFSET_COMMIT_VALUE_VERSION
    ):
        metadata = value.metadata.encode()
        if len(metadata) <= _SHORT_METADATA_MAX:
            return _offset_commit_key(key), _offset_commit_value(value, metadata)
    return RecordSerde.encode(record)


def _offset_commit_key(key: OffsetCommitKey) -> bytes:
    group, topic = key.group.encode(), key.topic.encode()
    return _KEY_HEAD(_RECORD_TYPE, len(group)) + group + _LENGTH(len(topic)) + topic + _PARTITION(key.partition)


def _offset_commit_value(value: OffsetCommitValue, metadata: bytes) -> bytes:
    head = _VALUE_HEAD(OFFSET_COMMIT_VALUE_VERSION, value.offset, value.leader_epoch, len(metadata) + 1)
    topic_id = value.topic_id.bytes
    if topic_id == _NO_TOPIC_ID:
        return head + metadata + _TIMESTAMP(value.commit_timestamp, 0)
    # one tagged field, whose number is 0, of sixteen bytes
    return head + metadata + _TIMESTAMP_AND_TOPIC_ID(value.commit_timestamp, 1, 0, 16, topic_id)
