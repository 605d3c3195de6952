"""Record batch v2: the 61-byte header as a view over somebody's buffer.

The header is all that plain produce and fetch ever look at. Layout (big endian)::

    base_offset i64 | batch_length i32 | partition_leader_epoch i32 | magic i8 | crc u32 | attributes i16
    last_offset_delta i32 | base_timestamp i64 | max_timestamp i64 | producer_id i64 | producer_epoch i16
    base_sequence i32 | records_count i32 | records …

``batch_length`` counts what follows it, so a batch takes ``batch_length + 12`` bytes. The CRC-32C covers everything
from ``attributes`` on: base offset and leader epoch can be patched without touching it.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from ottla.common.errors import CorruptRecordError
from ottla.records.crc32c import crc32c

Buffer = bytes | bytearray | memoryview

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_unpack_header: Final = HEADER.unpack_from
HEADER_BYTES: Final = 61
LOG_OVERHEAD: Final = 12
"""Bytes before and including ``batch_length``: what must be read to know where the next batch begins."""

MAGIC_POSITION: Final = 16
CRC_POSITION: Final = 17
ATTRIBUTES_POSITION: Final = 21
LAST_OFFSET_DELTA_POSITION: Final = 23
MAX_TIMESTAMP_POSITION: Final = 35
MAGIC: Final = 2

COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20
DELETE_HORIZON_FLAG: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

_SEQUENCE_LIMIT: Final = 1 << 31
_INT64: Final = struct.Struct(">q")
_INT32: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")
_UINT32: Final = struct.Struct(">I")


class TimestampType(IntEnum):
    """Whose clock the records' timestamps are from; the number is the attribute bit."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordBatch:
    """One batch: its header, decoded, and where its bytes are. Nothing is copied; records stay encoded."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "records_count",
        "size_in_bytes",
    )

    base_offset: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        """View the batch at ``position``; raises CorruptRecordError unless the buffer holds its whole header."""
        self.buffer = buffer
        self.position = position
        try:
            header = _unpack_header(buffer, position)
        except struct.error as error:
            raise CorruptRecordError(
                f"Record batch is corrupt ({len(buffer) - position} bytes are fewer than its header's {HEADER_BYTES})"
            ) from error
        (
            self.base_offset,
            length,
            self.partition_leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.records_count,
        ) = header
        self.size_in_bytes: int = length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The offset of the last record the batch ever had; compaction keeps it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The first offset after this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, wrapping at 2³¹; -1 without a sequence."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> int:
        """The codec's id: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        """Whether ``max_timestamp`` is the broker's time of append for every record."""
        return bool(self.attributes & TIMESTAMP_TYPE_FLAG)

    @property
    def timestamp_type(self) -> TimestampType:
        """Whose clock the timestamps are from."""
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether a transaction wrote it (data or marker)."""
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        """Whether it holds control records, which consumers never see."""
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def has_producer_id(self) -> bool:
        """Whether an idempotent or transactional producer, or a coordinator's marker, wrote it."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers in it may go; the cleaner keeps it in ``base_timestamp``."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def bytes(self) -> memoryview:
        """The whole batch as it stands in the buffer."""
        return memoryview(self.buffer)[self.position : self.position + self.size_in_bytes]

    @property
    def payload(self) -> memoryview:
        """The records, still compressed."""
        return memoryview(self.buffer)[self.position + HEADER_BYTES : self.position + self.size_in_bytes]

    def is_crc_valid(self) -> bool:
        """Whether the bytes from ``attributes`` to the end hash to the header's CRC."""
        size = self.size_in_bytes
        return HEADER_BYTES <= size <= len(self.buffer) - self.position and self.compute_crc() == self.crc

    def compute_crc(self) -> int:
        """The CRC-32C that the batch's bytes should carry."""
        return crc32c(self.bytes[ATTRIBUTES_POSITION:])

    def ensure_complete(self) -> None:
        """Raise CorruptRecordError unless the length is one a batch can have and the buffer holds all of it."""
        if self.size_in_bytes < HEADER_BYTES:
            raise CorruptRecordError(
                f"Record batch is corrupt (the size {self.size_in_bytes} is smaller than the minimum allowed overhead "
                f"{HEADER_BYTES})"
            )
        if len(self.buffer) - self.position < self.size_in_bytes:
            raise CorruptRecordError(
                f"Record batch is corrupt (the size {self.size_in_bytes} exceeds the available "
                f"{len(self.buffer) - self.position} bytes)"
            )

    def ensure_valid(self) -> None:
        """Raise CorruptRecordError unless length and CRC hold."""
        self.ensure_complete()
        computed = self.compute_crc()
        if computed != self.crc:
            raise CorruptRecordError(f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})")

    def __repr__(self) -> str:
        return (
            f"RecordBatch(offsets {self.base_offset}..{self.last_offset}, {self.records_count} records, "
            f"{self.size_in_bytes} bytes, epoch {self.partition_leader_epoch}, producer {self.producer_id})"
        )


def batches(buffer: Buffer) -> Iterator[RecordBatch]:
    """The whole batches in a buffer; a cut last one is left out.

    Raises CorruptRecordError at a length no batch can have, since nothing after it can be found.
    """
    position, end = 0, len(buffer)
    while end - position >= HEADER_BYTES:
        batch = RecordBatch(buffer, position)
        if batch.size_in_bytes < HEADER_BYTES:
            raise CorruptRecordError(
                f"Record size {batch.size_in_bytes - LOG_OVERHEAD} is less than the minimum record overhead "
                f"({HEADER_BYTES - LOG_OVERHEAD})"
            )
        position += batch.size_in_bytes
        if position > end:
            return
        yield batch


def increment_sequence(sequence: int, increment: int) -> int:
    """``sequence + increment``, wrapping from 2³¹-1 to 0."""
    return (sequence + increment) % _SEQUENCE_LIMIT


def decrement_sequence(sequence: int, decrement: int) -> int:
    """``sequence - decrement``, wrapping from 0 to 2³¹-1."""
    return (sequence - decrement) % _SEQUENCE_LIMIT


def patch_offset_and_epoch(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Give the batch at ``position`` its place in the log; the CRC does not cover either field."""
    _INT64.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + LOG_OVERHEAD, leader_epoch)


def patch_max_timestamp(buffer: bytearray | memoryview, position: int, attributes: int, max_timestamp: int) -> None:
    """Set timestamp type (in ``attributes``) and max timestamp of the batch at ``position``, and renew its CRC."""
    _INT16.pack_into(buffer, position + ATTRIBUTES_POSITION, attributes)
    _INT64.pack_into(buffer, position + MAX_TIMESTAMP_POSITION, max_timestamp)
    length = _INT32.unpack_from(buffer, position + 8)[0]
    covered = memoryview(buffer)[position + ATTRIBUTES_POSITION : position + LOG_OVERHEAD + length]
    _UINT32.pack_into(buffer, position + CRC_POSITION, crc32c(covered))
