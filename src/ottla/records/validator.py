"""What stands between a produce request and the log: checks, offsets, timestamps, compression.

Two depths. By default the CRC and the header decide and no record is touched; records are read where a topic is
compacted or recompresses, and where a header gives reason to doubt it. A strict policy always reads. How they are read,
in place or elsewhere, the caller says (:mod:`ottla.records.inspection`).
``docs/validation.md`` lists each check and each difference from Apache's LogValidator.
"""

import struct
from typing import Final

from ottla.common.errors import (
    CorruptRecordError,
    InvalidRecordError,
    KafkaError,
    UnsupportedCompressionTypeError,
)
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    Buffer,
    RecordBatch,
    patch_max_timestamp,
)
from ottla.records.batch_framing import framed_batches
from ottla.records.compression import Compression, compression_name, may_begin
from ottla.records.crc32c import crc32c
from ottla.records.inspection import Inspect, inspect

_place: Final = struct.Struct(">qii").pack_into
"""base_offset, batch_length, partition_leader_epoch: what an append patches, the length in between unchanged."""

_RECORD_BYTES_MIN: Final = 7
"""Size, attributes, two deltas, two lengths and the number of headers, of a byte each."""
_RECORDS_PER_COMPRESSED_BYTE_MAX: Final = 4
"""Records differ, in their offset deltas at least: of a million that hold nothing else gzip packs 0.7 into a byte, zstd
1.3 and xz, which Kafka has not, 3.5.
"""
_HIGHEST_CODEC: Final = max(Compression)
_KNOWN_ATTRIBUTES: Final = 0x7F
_CLIENT: Final = AppendOrigin.CLIENT


def validate_and_assign_offsets(
    records: Buffer,
    policy: AppendPolicy,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
    inspect_records: Inspect = inspect,
) -> AppendInfo:
    """Check the one batch in ``records`` and give it the offsets from ``next_offset`` on.

    ``inspect_records`` is called where the records have to be read, for what a header cannot tell. A writable buffer is
    patched in place, a read-only one copied once; when an error is raised, a writable buffer holds what it held. Raises
    CorruptRecordError, InvalidRecordError, InvalidTimestampError (both with the records at fault where they are known),
    MessageTooLargeError or UnsupportedCompressionTypeError, and what ``inspect_records`` raises.
    """
    if type(records) is bytes or (type(records) is memoryview and records.readonly):
        records = bytearray(records)
    size = len(records)
    if size < HEADER_BYTES or (batch := RecordBatch(records)).size_in_bytes != size or batch.magic != MAGIC:
        records, batch = _sole_batch(records)
        size = batch.size_in_bytes
    client = origin is _CLIENT
    if client and batch.base_offset != 0:
        raise InvalidRecordError(f"The baseOffset of the record batch should be 0, but it is {batch.base_offset}")
    if size > policy.max_message_bytes:
        policy.ensure_fits(size)
    # A coordinator has only just computed the CRC, in this process.
    if client and crc32c(memoryview(records)[ATTRIBUTES_POSITION:]) != batch.crc:
        raise CorruptRecordError(f"Record is corrupt (stored crc = {batch.crc})")

    attributes = batch.attributes
    codec = attributes & COMPRESSION_MASK
    count = batch.records_count
    if (
        count <= 0
        or count != batch.last_offset_delta + 1
        or codec > _HIGHEST_CODEC
        or count > _records_max(codec, size)
        or (codec and not may_begin(codec, batch.payload))
        or (client and (attributes & CONTROL_FLAG or (batch.producer_id >= 0 and batch.base_sequence < 0)))
    ):
        raise _header_error(batch)

    if (
        policy.strict
        or (policy.compacted and client)  # a coordinator's own records have keys
        or attributes & TIMESTAMP_TYPE_FLAG
        or (policy.target_compression is not None and policy.target_compression != codec)
        or not (
            policy.log_append_time
            or (
                NO_TIMESTAMP <= batch.base_timestamp <= batch.max_timestamp <= now_ms + policy.after_max_ms
                and batch.base_timestamp >= now_ms - policy.before_max_ms
            )
        )
    ):
        inspection = inspect_records(batch, policy, now_ms)
        if inspection.rewritten is not None:
            batch = RecordBatch(inspection.rewritten)
        else:
            batch = _set_timestamps(batch, inspection.max_timestamp, log_append_time=policy.log_append_time)
    elif policy.log_append_time:
        batch = _set_timestamps(batch, now_ms, log_append_time=True)

    buffer = batch.buffer
    size = batch.size_in_bytes
    _place(buffer, 0, next_offset, size - LOG_OVERHEAD, leader_epoch)
    batch.base_offset = next_offset
    batch.partition_leader_epoch = leader_epoch
    last_offset = next_offset + batch.last_offset_delta
    max_timestamp = batch.max_timestamp
    return tuple.__new__(  # a tenth of a microsecond less than the class's own
        AppendInfo,
        (
            buffer,
            [batch],
            next_offset,
            last_offset,
            max_timestamp,
            last_offset,
            size,
            max_timestamp if policy.log_append_time else NO_TIMESTAMP,
            codec,
            batch.attributes & COMPRESSION_MASK,
            count,
            buffer is not records,
        ),
    )


def _records_max(codec: int, size_in_bytes: int) -> int:
    """The most records that a batch of this size can hold."""
    payload_bytes = size_in_bytes - HEADER_BYTES
    return payload_bytes * _RECORDS_PER_COMPRESSED_BYTE_MAX if codec else payload_bytes // _RECORD_BYTES_MIN


def _set_timestamps(batch: RecordBatch, max_timestamp: int, *, log_append_time: bool) -> RecordBatch:
    """Give the batch this timestamp type and maximum, and its CRC with them, unless it has them."""
    flag = TIMESTAMP_TYPE_FLAG if log_append_time else 0
    if max_timestamp == batch.max_timestamp and batch.attributes & TIMESTAMP_TYPE_FLAG == flag:
        return batch
    attributes = batch.attributes & (_KNOWN_ATTRIBUTES ^ TIMESTAMP_TYPE_FLAG) | flag
    patch_max_timestamp(batch.buffer, 0, attributes, max_timestamp)  # type: ignore[arg-type]
    return RecordBatch(batch.buffer)


def _sole_batch(records: Buffer) -> tuple[memoryview, RecordBatch]:
    """The one batch in ``records`` without the incomplete one that may follow it."""
    frames = framed_batches(records)
    frame = next(frames, None)
    if frame is None:
        raise InvalidRecordError("Produce requests must have at least one record batch per partition")
    position, size, magic = frame
    if magic != MAGIC:
        raise InvalidRecordError("Produce requests are only allowed to contain record batches with magic version 2")
    if next(frames, None) is not None:
        raise InvalidRecordError("Produce requests are only allowed to contain exactly one record batch per partition")
    if size < HEADER_BYTES:
        raise CorruptRecordError(
            f"Record batch is corrupt (the size {size} is smaller than the minimum allowed overhead {HEADER_BYTES})"
        )
    trimmed = memoryview(records)[position : position + size]
    return trimmed, RecordBatch(trimmed)


def _header_error(batch: RecordBatch) -> KafkaError:
    """What is wrong with a header that something is wrong with, by the first check that fails in Apache's order."""
    codec = batch.attributes & COMPRESSION_MASK
    offsets = f"[{batch.base_offset}, {batch.last_offset}]"
    if codec > _HIGHEST_CODEC:
        return UnsupportedCompressionTypeError(f"Unknown compression type id: {codec}")
    if batch.last_offset_delta < 0:
        return InvalidRecordError(f"Batch has an invalid offset range: {offsets}")
    if batch.records_count <= 0:
        return InvalidRecordError(f"Invalid reported count for record batch: {batch.records_count}")
    if batch.records_count != batch.last_offset_delta + 1:
        return InvalidRecordError(
            f"Inconsistent batch offset range {offsets} and count of records {batch.records_count}"
        )
    if batch.records_count > _records_max(codec, batch.size_in_bytes):
        return InvalidRecordError(
            f"A record batch of {batch.size_in_bytes} bytes cannot hold its {batch.records_count} records"
        )
    if codec and not may_begin(codec, batch.payload):
        return CorruptRecordError(f"The records do not begin as {compression_name(codec)} does")
    if batch.attributes & CONTROL_FLAG:
        return InvalidRecordError("Clients are not allowed to write control records")
    return InvalidRecordError(
        f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id}"
    )
