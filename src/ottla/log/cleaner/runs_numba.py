"""Runs of plain batches, compiled: uncompressed, without transactions or control records, which most logs consist of.

A batch of a few records costs more in Python than in its records; here a whole chunk costs one call. A run ends before
the first batch that is not plain or cannot be read, and :mod:`ottla.log.cleaner.filter` takes that one. What is decided
here is decided there, too; CRCs are the caller's.
"""

from typing import Any, Final

import numpy as np

from ottla.log.cleaner.table_numba import Words, hash_keys, mark_retained, put_keys, summarize
from ottla.records.batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    CRC_POSITION,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LAST_OFFSET_DELTA_POSITION,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
)
from ottla.records.walk_numba import Bytes, Rows, compiled, copy_records, walk_records

LENGTH_POSITION: Final = 8
BASE_TIMESTAMP_POSITION: Final = 27
MAX_TIMESTAMP_POSITION: Final = 35
PRODUCER_ID_POSITION: Final = 43
RECORDS_COUNT_POSITION: Final = 57

NOT_PLAIN: Final = COMPRESSION_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG
OUTPUT_FACTOR: Final = 3
"""How much larger than its input a run's output may be: a record of at least seven bytes grows by at most twelve."""


@compiled
def read_int(data: Bytes, position: int, size: int) -> int:
    """A signed big-endian integer."""
    value: Any = np.int64(0)
    for index in range(size):
        value = (value << 8) | data[position + index]
    shift = 64 - 8 * size
    signed: int = (value << shift) >> shift
    return signed


@compiled
def write_int(target: Bytes, position: int, size: int, value: int) -> None:
    """A signed big-endian integer."""
    for index in range(size):
        target[position + size - 1 - index] = (value >> (8 * index)) & 0xFF


@compiled
def contains(ordered: Rows, value: int) -> bool:
    """Whether a sorted array holds a value."""
    slot = np.searchsorted(ordered, value)
    return bool(slot < len(ordered) and ordered[slot] == value)


@compiled
def put_run(  # noqa: PLR0917 - compiled functions take positional arguments
    chunk: Bytes,
    position: int,
    rows: Rows,
    hashes: Words,
    table: Words,
    secret: Words,
    start_offset: int,
    size: int,
    size_max: int,
    latest_offset: int,
) -> tuple[int, int, int, int, bool]:
    """Map the keys of plain batches: where the run ends, the map's size, its latest offset, records, whether full."""
    records = 0
    while position < len(chunk):
        count = read_int(chunk, position + RECORDS_COUNT_POSITION, 4)
        if read_int(chunk, position + ATTRIBUTES_POSITION, 2) & NOT_PLAIN or count < 0 or count > len(rows):
            break
        end = position + LOG_OVERHEAD + read_int(chunk, position + LENGTH_POSITION, 4)
        if walk_records(chunk, position + HEADER_BYTES, end, count, rows) != end:
            break
        base_offset = read_int(chunk, position, 8)
        hash_keys(chunk, rows, count, secret, hashes)
        full, size, put_offset = put_keys(rows, hashes, count, table, base_offset, start_offset, size, size_max)
        latest_offset = max(latest_offset, put_offset)
        if full:
            return position, size, latest_offset, records, True
        last_offset = base_offset + read_int(chunk, position + LAST_OFFSET_DELTA_POSITION, 4)
        if last_offset >= start_offset:
            latest_offset = last_offset
        records += count
        position = end
    return position, size, latest_offset, records, False


@compiled
def filter_run(  # noqa: PLR0917 - compiled functions take positional arguments
    chunk: Bytes,
    position: int,
    rows: Rows,
    hashes: Words,
    keep: Bytes,
    table: Words,
    secret: Words,
    latest_offset: int,
    last_data_offsets: Rows,
    upper_bound_offset: int,
    now_ms: int,
    delete_retention_ms: int,
    target: Bytes,
    written: Rows,
) -> tuple[int, int, int, int, int, int]:
    """Write what remains of plain batches into ``target``.

    ``written`` gets a row a batch: where it begins, where it ends, whether its CRC must be renewed. Returns where the
    run ends, bytes and batches written, and the messages read, written and invalid.
    """
    size = batches = read = kept = invalid = 0
    while position < len(chunk) and batches < len(written):
        attributes = read_int(chunk, position + ATTRIBUTES_POSITION, 2)
        count = read_int(chunk, position + RECORDS_COUNT_POSITION, 4)
        if attributes & NOT_PLAIN or count < 0 or count > len(rows):
            break
        end = position + LOG_OVERHEAD + read_int(chunk, position + LENGTH_POSITION, 4)
        if walk_records(chunk, position + HEADER_BYTES, end, count, rows) != end:
            break
        base_offset = read_int(chunk, position, 8)
        base_timestamp = read_int(chunk, position + BASE_TIMESTAMP_POSITION, 8)
        max_timestamp = read_int(chunk, position + MAX_TIMESTAMP_POSITION, 8)
        last_offset = base_offset + read_int(chunk, position + LAST_OFFSET_DELTA_POSITION, 4)
        has_producer_id = read_int(chunk, position + PRODUCER_ID_POSITION, 8) >= 0
        has_horizon = attributes & DELETE_HORIZON_FLAG != 0
        hash_keys(chunk, rows, count, secret, hashes)
        retain_tombstones = not has_horizon or now_ms < base_timestamp
        invalid += mark_retained(rows, hashes, count, table, base_offset, latest_offset, retain_tombstones, keep)
        retained, has_tombstones, first_delta, max_delta = summarize(rows, count, keep)
        sets_horizon = has_tombstones and not has_horizon
        start = size
        if retained > 0 and retained == count and not sets_horizon:
            size += end - position
            target[start:size] = chunk[position:end]
        elif retained > 0:
            first_timestamp, factor, old_base = base_timestamp + first_delta, 1, base_timestamp
            if attributes & TIMESTAMP_TYPE_FLAG:
                first_timestamp, factor, old_base = max_timestamp, 0, max_timestamp
            else:
                max_timestamp = max(-1, base_timestamp + max_delta)
            new_base = first_timestamp
            if sets_horizon:
                new_base = now_ms + delete_retention_ms
            elif has_horizon:
                new_base = base_timestamp
            attributes &= TIMESTAMP_TYPE_FLAG | DELETE_HORIZON_FLAG
            if sets_horizon:
                attributes |= DELETE_HORIZON_FLAG
            size += HEADER_BYTES
            size += copy_records(chunk, rows, keep, count, factor, old_base - new_base, target[size:])
            write_header(chunk, position, target[start:size], attributes, new_base, max_timestamp, retained)
        elif last_offset + 1 == upper_bound_offset or (has_producer_id and contains(last_data_offsets, last_offset)):
            size += HEADER_BYTES
            write_header(chunk, position, target[start:size], attributes & TIMESTAMP_TYPE_FLAG, -1, max_timestamp, 0)
        if size > start:
            written[batches, 0] = start
            written[batches, 1] = size
            written[batches, 2] = retained < count or sets_horizon or count == 0
            batches += 1
        read += count
        kept += retained
        position = end
    return position, size, batches, read, kept, invalid


@compiled
def write_header(  # noqa: PLR0917 - compiled functions take positional arguments
    chunk: Bytes,
    position: int,
    batch: Bytes,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    records_count: int,
) -> None:
    """The header at ``position`` of ``chunk``, changed in what may change, at the front of ``batch``; no CRC yet."""
    batch[:HEADER_BYTES] = chunk[position : position + HEADER_BYTES]
    write_int(batch, LENGTH_POSITION, 4, len(batch) - LOG_OVERHEAD)
    write_int(batch, CRC_POSITION, 4, 0)
    write_int(batch, ATTRIBUTES_POSITION, 2, attributes)
    write_int(batch, BASE_TIMESTAMP_POSITION, 8, base_timestamp)
    write_int(batch, MAX_TIMESTAMP_POSITION, 8, max_timestamp)
    write_int(batch, RECORDS_COUNT_POSITION, 4, records_count)
