"""Writing a batch anew where patching its header is not enough: another codec, or offset deltas that are wrong."""

from typing import Final

from ottla.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
    Buffer,
    RecordBatch,
)
from ottla.records.builder import seal_batch
from ottla.records.compression import compress
from ottla.records.record import decode_records, encode_record
from ottla.records.record_scan import wrap_timestamp

_KEPT_FLAGS: Final = TRANSACTIONAL_FLAG | CONTROL_FLAG
_FLAGS_ON_TIMESTAMPS: Final = TIMESTAMP_TYPE_FLAG | DELETE_HORIZON_FLAG
"""Flags that say where records' timestamps come from, and that a rewritten batch does not keep."""


def rewrite_batch(
    batch: RecordBatch,
    data: Buffer | None,
    *,
    codec: int,
    level: int | None,
    log_append_time: bool,
    max_timestamp: int,
) -> bytearray:
    """A batch with the same records and producer, compressed by ``codec``, its offset deltas 0, 1, 2 and so on.

    ``data`` are its records, decompressed, to be compressed as they stand; None if their deltas are not right.
    """
    base_timestamp = batch.base_timestamp
    if data is None or batch.attributes & _FLAGS_ON_TIMESTAMPS:
        base_timestamp, data = _encode_anew(batch)
    return seal_batch(
        compress(codec, data, level) if codec else data,
        records_count=batch.records_count,
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset_delta,
        leader_epoch=batch.partition_leader_epoch,
        attributes=codec | batch.attributes & _KEPT_FLAGS | (TIMESTAMP_TYPE_FLAG if log_append_time else 0),
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )


def _encode_anew(batch: RecordBatch) -> tuple[int, bytearray]:
    """The first record's timestamp, and all records with offset deltas 0, 1, 2 and timestamp deltas from the first."""
    encoded = bytearray()
    base_timestamp = 0
    for index, (_, timestamp, key, value, headers, _) in enumerate(decode_records(batch)):
        if not index:
            base_timestamp = timestamp
        encoded += encode_record(index, wrap_timestamp(timestamp - base_timestamp), key, value, headers)
    return base_timestamp, encoded
