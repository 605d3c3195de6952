"""Batches of producers for tests, written out by hand: the state under test looks at headers and markers only."""

import struct

from ottla.records.batch import HEADER, HEADER_BYTES, LOG_OVERHEAD, RecordBatch

SEQUENCES = 1 << 31
ABORT, COMMIT = 0, 1
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


def _batch(
    producer_id: int, epoch: int, sequence: int, offset: int, count: int, timestamp: int, flags: int, payload: bytes
) -> bytes:
    length = HEADER_BYTES - LOG_OVERHEAD + len(payload)
    delta = max(count - 1, 0)
    header = HEADER.pack(
        offset, length, 0, 2, 0, flags, delta, timestamp, timestamp, producer_id, epoch, sequence, count
    )
    return header + payload


def data_bytes(
    producer_id: int,
    epoch: int,
    sequence: int,
    offset: int,
    *,
    count: int = 1,
    timestamp: int = 1000,
    txn: bool = False,
) -> bytes:
    """A data batch of which nobody will read the records."""
    return _batch(producer_id, epoch, sequence, offset, count, timestamp, _TRANSACTIONAL if txn else 0, b"")


def marker_bytes(
    producer_id: int, epoch: int, offset: int, *, kind: int = COMMIT, coordinator_epoch: int = 0, timestamp: int = 1000
) -> bytes:
    """A transaction marker."""
    key = struct.pack(">hh", 0, kind)
    value = struct.pack(">hi", 0, coordinator_epoch)
    record = b"\x00\x00\x00" + bytes([len(key) * 2]) + key + bytes([len(value) * 2]) + value + b"\x00"
    payload = bytes([len(record) * 2]) + record
    return _batch(producer_id, epoch, -1, offset, 1, timestamp, _TRANSACTIONAL | _CONTROL, payload)


def data(
    producer_id: int,
    epoch: int,
    sequence: int,
    offset: int,
    *,
    count: int = 1,
    timestamp: int = 1000,
    txn: bool = False,
) -> RecordBatch:
    return RecordBatch(data_bytes(producer_id, epoch, sequence, offset, count=count, timestamp=timestamp, txn=txn))


def marker(
    producer_id: int, epoch: int, offset: int, *, kind: int = COMMIT, coordinator_epoch: int = 0, timestamp: int = 1000
) -> RecordBatch:
    return RecordBatch(
        marker_bytes(producer_id, epoch, offset, kind=kind, coordinator_epoch=coordinator_epoch, timestamp=timestamp)
    )


def emptied_marker(producer_id: int, epoch: int, offset: int) -> RecordBatch:
    """A marker whose record compaction has removed."""
    return RecordBatch(_batch(producer_id, epoch, -1, offset, 0, 1000, _TRANSACTIONAL | _CONTROL, b""))
