"""The contents of a ``.snapshot`` file: all producers of a partition at one offset, with the last batch of each.

Version 1, big endian::

    version i16 | crc u32 | entry count i32 | entries …
    entry: producer_id i64 | epoch i16 | last_sequence i32 | last_offset i64 | offset_delta i32 | timestamp i64
           coordinator_epoch i32 | current_txn_first_offset i64 (-1 without a transaction)

The CRC-32C covers all that follows it. Entries are written by ascending producer id; Apache Kafka writes them as its
hash map has them, which is the same for ids that lie close together, and neither minds the order when reading.
"""

import struct
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from ottla.common.errors import KafkaError
from ottla.log.producer_entry import NO_OFFSET, BatchMetadata, ProducerEntry
from ottla.records.crc32c import crc32c

VERSION: Final = 1

_HEADER: Final = struct.Struct(">hIi")
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_COVERED_FROM: Final = 6


class CorruptSnapshotError(KafkaError):
    """A snapshot that is cut, altered or of a version nobody knows."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytearray:
    """The file that holds these producers."""
    packed = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_data_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            NO_OFFSET if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )
        for entry in sorted(entries, key=attrgetter("producer_id"))
    ]
    data = bytearray(_HEADER.size) + b"".join(packed)
    _HEADER.pack_into(data, 0, VERSION, 0, len(packed))
    _HEADER.pack_into(data, 0, VERSION, crc32c(memoryview(data)[_COVERED_FROM:]), len(packed))
    return data


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """The producers in a file's bytes; CorruptSnapshotError if they are not what was written."""
    if len(data) < _HEADER.size:
        raise CorruptSnapshotError(f"Snapshot failed schema validation: {len(data)} bytes cannot hold its header")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshotError(f"Snapshot contained an unknown file version {version}")
    entries_end = _HEADER.size + count * _ENTRY.size
    if count < 0 or entries_end > len(data):
        raise CorruptSnapshotError(
            f"Snapshot failed schema validation: {len(data)} bytes cannot hold the {count} entries it claims"
        )
    computed = crc32c(memoryview(data)[_COVERED_FROM:])
    if crc != computed:
        raise CorruptSnapshotError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    return [_entry(fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_HEADER.size : entries_end])]


def _entry(fields: tuple[int, ...]) -> ProducerEntry:
    (
        producer_id,
        epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        current_txn_first_offset,
    ) = fields
    txn_first_offset = current_txn_first_offset if current_txn_first_offset >= 0 else None
    entry = ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, txn_first_offset)
    if last_offset >= 0:
        entry.retain(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp))
        entry.is_partial = True
    return entry
