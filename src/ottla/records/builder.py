"""Building record batches, byte for byte as Apache's MemoryRecordsBuilder does.

``build_batch`` takes records; ``seal_batch`` takes records that are encoded (and compressed) already and puts a header
in front of them, for those who copy record bytes rather than rewrite them.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from ottla.common.errors import InvalidRecordError, InvalidTimestampError
from ottla.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
    Buffer,
    TimestampType,
)
from ottla.records.compression import Compression, compress
from ottla.records.crc32c import crc32c
from ottla.records.record import Record, SimpleRecord, encode_record

__all__ = [
    "Record",
    "SimpleRecord",
    "TimestampType",
    "attributes_of",
    "build_batch",
    "build_empty_batch_header",
    "seal_batch",
]

_OFFSET_DELTA_MAX: Final = (1 << 31) - 1
_UNCOVERED: Final = Struct(">qiibI").pack
"""base_offset, batch_length, partition_leader_epoch, magic, crc: the CRC does not cover what a leader sets."""
_COVERED: Final = Struct(">hiqqqhii").pack
"""The rest of the header, from the attributes on."""


def build_batch(
    records: Iterable[SimpleRecord | Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    compression: int = Compression.NONE,
    level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    delete_horizon_ms: int | None = None,
    log_append_time_ms: int | None = None,
    last_offset: int | None = None,
) -> bytearray:
    """A batch of ``records``; none at all give no bytes at all.

    A SimpleRecord takes the offset after the one before it, a Record keeps its own. ``log_append_time_ms`` becomes the
    max timestamp under LOG_APPEND_TIME; the records keep their own timestamps beneath it. ``last_offset`` overrides the
    last record's, for compaction, which must not change where a batch ends.

    Raises InvalidRecordError for offsets that do not increase or do not fit, InvalidTimestampError for negative
    timestamps other than -1: such records can come from a client.
    """
    assert not transactional or producer_id != NO_PRODUCER_ID
    assert producer_id == NO_PRODUCER_ID or (producer_epoch != NO_PRODUCER_EPOCH and (base_sequence >= 0 or control))
    assert (timestamp_type == TimestampType.LOG_APPEND_TIME) <= (log_append_time_ms is not None)

    encoded: list[bytes] = []
    append = encoded.append
    base_timestamp = delete_horizon_ms
    max_timestamp = NO_TIMESTAMP
    offset = base_offset - 1
    for record in records:
        if isinstance(record, Record):
            if record.offset <= offset:
                raise InvalidRecordError(
                    f"Illegal offset {record.offset} following previous offset {offset} "
                    "(Offsets must increase monotonically)."
                )
            offset, timestamp, key, value, headers, _ = record
        else:
            offset += 1
            timestamp, key, value, headers = record
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        elif timestamp < NO_TIMESTAMP:
            raise InvalidTimestampError(f"Invalid negative timestamp {timestamp}")
        if base_timestamp is None:
            base_timestamp = timestamp
        append(encode_record(offset - base_offset, timestamp - base_timestamp, key, value, headers))
    if not encoded:
        return bytearray()
    assert base_timestamp is not None
    last_offset_delta = (offset if last_offset is None else last_offset) - base_offset
    if last_offset_delta > _OFFSET_DELTA_MAX:
        raise InvalidRecordError(
            f"Maximum offset delta exceeded, base offset: {base_offset}, last offset: {base_offset + last_offset_delta}"
        )
    payload = b"".join(encoded)
    if timestamp_type == TimestampType.LOG_APPEND_TIME:
        assert log_append_time_ms is not None
        max_timestamp = log_append_time_ms
    return seal_batch(
        compress(compression, payload, level) if compression else payload,
        records_count=len(encoded),
        base_offset=base_offset,
        last_offset_delta=last_offset_delta,
        leader_epoch=leader_epoch,
        attributes=attributes_of(
            compression,
            timestamp_type,
            transactional=transactional,
            control=control,
            delete_horizon=delete_horizon_ms is not None,
        ),
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def build_empty_batch_header(
    *,
    base_offset: int,
    last_offset: int,
    leader_epoch: int,
    timestamp_type: TimestampType,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    transactional: bool,
    control: bool,
) -> bytearray:
    """A batch without records, which compaction leaves behind to keep a producer's last sequence number.

    ``timestamp`` becomes the max timestamp; the base timestamp is -1, and a delete horizon or codec is not kept.
    """
    return seal_batch(
        b"",
        records_count=0,
        base_offset=base_offset,
        last_offset_delta=last_offset - base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes_of(Compression.NONE, timestamp_type, transactional=transactional, control=control),
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def attributes_of(
    compression: int,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    *,
    transactional: bool = False,
    control: bool = False,
    delete_horizon: bool = False,
) -> int:
    """The attributes of a batch with these properties."""
    return (
        compression
        | (TIMESTAMP_TYPE_FLAG if timestamp_type else 0)
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
        | (DELETE_HORIZON_FLAG if delete_horizon else 0)
    )


def seal_batch(
    payload: Buffer,
    *,
    records_count: int,
    base_offset: int,
    last_offset_delta: int,
    leader_epoch: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytearray:
    """Header, with its CRC, and ``payload``: the records as ``attributes`` say they are compressed."""
    covered = _COVERED(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        records_count,
    )
    length = HEADER_BYTES - LOG_OVERHEAD + len(payload)
    batch = bytearray(_UNCOVERED(base_offset, length, leader_epoch, MAGIC, crc32c(payload, crc32c(covered))) + covered)
    batch += payload
    return batch
