"""The records of groups as bytes. Committed offsets, which are nearly all of them, take a short way."""

from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.group.offset_commit_record import OffsetCommitRecord


def encode_group_record(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
    """Byte for byte what :meth:`RecordSerde.encode` says."""
    if isinstance(record, OffsetCommitRecord):
        encoded = record.encoded()
        if encoded is not None:
            return encoded
    return RecordSerde.encode(record)
