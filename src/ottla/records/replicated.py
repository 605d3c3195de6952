"""What a follower checks of batches that its leader has sent: they keep their offsets."""

from ottla.common.errors import (
    CorruptRecordError,
    InvalidRecordError,
    MessageTooLargeError,
    OffsetsOutOfOrderError,
    UnexpectedAppendOffsetError,
    UnsupportedForMessageFormatError,
)
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import COMPRESSION_MASK, HEADER_BYTES, MAGIC, NO_TIMESTAMP, Buffer, RecordBatch
from ottla.records.batch_framing import framed_batches
from ottla.records.compression import Compression


def analyze_replicated(
    records: Buffer,
    *,
    next_offset: int,
    leader_epoch: int,
    origin: AppendOrigin = AppendOrigin.REPLICATION,
    max_message_bytes: int | None = None,
) -> AppendInfo:
    """Check batches that have their offsets: from a leader (REPLICATION) or from ourselves as such (RAFT_LEADER).

    An incomplete last batch is left out, and so is everything from a batch on that has a later epoch than
    ``leader_epoch``: whoever sent that was no longer the leader that we follow. ``max_message_bytes`` None takes any
    size, since the leader has accepted it.

    Raises CorruptRecordError, MessageTooLargeError, UnsupportedForMessageFormatError for formats before v2,
    InvalidRecordError for a raft batch of another epoch, OffsetsOutOfOrderError and UnexpectedAppendOffsetError.
    """
    batches: list[RecordBatch] = []
    last_offset, max_timestamp, offset_of_max_timestamp = -1, NO_TIMESTAMP, -1
    size_in_bytes, records_count, compression = 0, 0, int(Compression.NONE)
    for position, size, magic in framed_batches(records):
        if magic != MAGIC:
            raise UnsupportedForMessageFormatError(f"Record batch has magic {magic}, only {MAGIC} is supported")
        if size < HEADER_BYTES:
            raise CorruptRecordError(
                f"Record batch is corrupt (the size {size} is smaller than the minimum allowed overhead {HEADER_BYTES})"
            )
        batch = RecordBatch(records, position)
        epoch = batch.partition_leader_epoch
        if origin is AppendOrigin.RAFT_LEADER:
            if epoch != leader_epoch:
                raise InvalidRecordError(
                    "Append from Raft leader did not set the batch epoch correctly, "
                    f"expected {leader_epoch} but the batch has {epoch}"
                )
        elif origin is AppendOrigin.REPLICATION and epoch > leader_epoch:
            break
        if max_message_bytes is not None and size > max_message_bytes:
            raise MessageTooLargeError(
                f"The record batch size in the append is {size} bytes which exceeds the maximum configured value of "
                f"{max_message_bytes}"
            )
        if not batch.is_crc_valid():
            raise CorruptRecordError(f"Record is corrupt (stored crc = {batch.crc})")
        if batch.last_offset <= last_offset:
            raise OffsetsOutOfOrderError(
                f"Out of order offsets found in append: {batch.last_offset} follows {last_offset}"
            )
        last_offset = batch.last_offset
        if batch.max_timestamp > max_timestamp:
            max_timestamp, offset_of_max_timestamp = batch.max_timestamp, last_offset
        compression = batch.attributes & COMPRESSION_MASK or compression
        records_count += batch.records_count
        size_in_bytes += size
        batches.append(batch)
    first_offset = batches[0].base_offset if batches else -1
    if batches and first_offset < next_offset:
        raise UnexpectedAppendOffsetError(
            f"Unexpected offset in append. First offset {first_offset} is less than the next offset {next_offset}. "
            f"Last offset in append: {last_offset}",
            first_offset,
            last_offset,
        )
    if size_in_bytes != len(records):
        records = memoryview(records)[:size_in_bytes]
    return AppendInfo(
        records,
        batches,
        first_offset,
        last_offset,
        max_timestamp,
        offset_of_max_timestamp,
        size_in_bytes,
        NO_TIMESTAMP,
        compression,
        compression,
        records_count,
        False,
    )
