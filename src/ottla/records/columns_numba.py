"""Records to columns without an object a row, compiled by numba; import it only where numba may be loaded.

Columns are what Arrow wants: numbers side by side, and bytes joined with the position where each row's end. A cursor
(int64) carries the state from one batch to the next: how many rows and bytes are filled. Lengths are checked as in
:func:`ottla.records.record.decode_records`; a batch that is not just its records changes nothing but bytes beyond the
cursor. Columns that are not wanted are passed over: nothing is written of them, and what is inside of headers is not
looked at.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ottla.records.copy_numba import copy_bytes
from ottla.records.walk_numba import INVALID_STRUCTURE, Bytes, Rows, compiled, read_varint

Ends = NDArray[np.int32]

ROWS, KEY_BYTES, VALUE_BYTES, HEADERS, HEADER_KEY_BYTES, HEADER_VALUE_BYTES, READ, POSITION, NEXT_OFFSET = range(9)
CURSOR_SIZE: Final = 9
"""``READ`` counts the records of the current batch that were walked, ``POSITION`` is where the next one begins."""

KEY, VALUE, HEADER_COUNT = range(3)
"""Rows of ``ends``; also of ``valid`` (all but the last)."""
OFFSET, TIMESTAMP = range(2)
"""Rows of ``numbers``."""

WANT_KEYS, WANT_VALUES, WANT_HEADERS = 1, 2, 4
"""Bits of ``wanted``."""

NO_APPEND_TIME: Final = -(1 << 62)

BYTES_REMAINING: Final = -2
"""What a batch that is more than its records is answered with; one whose records are broken, INVALID_STRUCTURE."""

START, SIZE, COUNT, BASE_OFFSET, BASE_TIMESTAMP, APPEND_TIME, BATCH_END_OFFSET, EPOCH, CRC, CODEC = range(10)
PAYLOAD_START, PAYLOAD_END = range(10, 12)
BATCH_COLUMNS: Final = 12
"""What is known of a batch: its place, its records' base, the offset after it, its leader epoch and checksum, by what
its records are compressed, and where they are: in the buffer, unless somebody has decompressed them.
"""

_OVERHEAD, _HEADER_BYTES, _MAGIC = 12, 61, 2
_CODEC_MASK, _CODEC_MAX, _APPEND_TIME_FLAG, _TRANSACTIONAL, _CONTROL = 0x07, 4, 0x08, 0x10, 0x20


@compiled
def _big_endian(buffer: Bytes, position: int, size: int) -> int:
    """A signed number."""
    value: Any = np.int64(buffer[position])
    if value >= 0x80:
        value -= 0x100
    for index in range(1, size):
        value = (value << 8) | np.int64(buffer[position + index])
    return value  # type: ignore[no-any-return]


@compiled
def scan_batches(  # noqa: PLR0917 - compiled functions take positional arguments
    buffer: Bytes, position: int, end: int, rows_enough: int, rows_max: int, transactional: bool, found: Rows
) -> int:
    """Note the batches from ``position`` on that can be read together; how many those are.

    That ends at the first that is compressed unlike those before it, of another format, made of control records or
    empty, of a transaction (unless ``transactional``), or would bring more than ``rows_max`` records in all; after the
    one that makes ``rows_enough``, and where ``found`` is full.
    """
    rows = 0
    first_codec = -1
    for index in range(len(found)):
        if end - position < _HEADER_BYTES:
            return index
        size = _big_endian(buffer, position + 8, 4) + _OVERHEAD
        attributes = _big_endian(buffer, position + 21, 2)
        count = _big_endian(buffer, position + 57, 4)
        rows += count
        if size < _HEADER_BYTES or size > end - position or buffer[position + 16] != _MAGIC or count <= 0:
            return index
        if attributes & _CONTROL or (attributes & _TRANSACTIONAL and not transactional):
            return index
        codec = attributes & _CODEC_MASK
        if index == 0:
            first_codec = codec
        if codec != first_codec or codec > _CODEC_MAX or rows > rows_max:
            return index
        batch = found[index]
        batch[START], batch[SIZE], batch[COUNT] = position, size, count
        batch[BASE_OFFSET] = _big_endian(buffer, position, 8)
        batch[BASE_TIMESTAMP] = _big_endian(buffer, position + 27, 8)
        batch[APPEND_TIME] = NO_APPEND_TIME
        if attributes & _APPEND_TIME_FLAG:
            batch[APPEND_TIME] = _big_endian(buffer, position + 35, 8)
        batch[BATCH_END_OFFSET] = batch[BASE_OFFSET] + _big_endian(buffer, position + 23, 4) + 1
        batch[EPOCH] = _big_endian(buffer, position + 12, 4)
        batch[CRC] = _big_endian(buffer, position + 17, 4) & 0xFFFFFFFF
        batch[CODEC] = codec
        batch[PAYLOAD_START], batch[PAYLOAD_END] = position + _HEADER_BYTES, position + size
        position += size
        if rows >= rows_enough:
            return index + 1
    return len(found)


@compiled
def _varint(payload: Bytes, position: int, end: int, bits: int) -> tuple[int, int]:
    """:func:`read_varint`, with numbers of one byte, and those of two that are not negative, read in place."""
    if position < end:
        first: Any = np.int64(payload[position])
        if first < 0x80:
            return (first >> 1) ^ -(first & 1), position + 1
        if position + 1 < end and not first & 1:
            second: Any = np.int64(payload[position + 1])
            if second < 0x80:
                return ((first >> 1) & 0x3F) | (second << 6), position + 2
    return read_varint(payload, position, end, bits)


@compiled
def fill_columns(  # noqa: PLR0917 - compiled functions take positional arguments
    payload: Bytes,
    end: int,
    count: int,
    base: Rows,
    limit: int,
    wanted: int,
    numbers: Rows,
    ends: Ends,
    valid: Bytes,
    keys: Bytes,
    values: Bytes,
    header_starts: Rows,
    cursor: Rows,
) -> int:
    """Append records of one batch until there are ``limit`` rows; 0, or INVALID_STRUCTURE or BYTES_REMAINING.

    ``base``: base offset, base timestamp, time of append (or NO_APPEND_TIME), the first offset that
    is wanted and the first that is not any more. Nothing that is to be kept is in the cursor before the whole batch, or
    ``limit``, was reached. ``header_starts`` gets each row's place of its headers in the payload and where its record
    ends.
    """
    base_offset, base_timestamp, append_time, first_offset, until_offset = base[0], base[1], base[2], base[3], base[4]
    want_keys, want_values, want_headers = wanted & WANT_KEYS, wanted & WANT_VALUES, wanted & WANT_HEADERS
    row, key_position, value_position = cursor[ROWS], cursor[KEY_BYTES], cursor[VALUE_BYTES]
    headers = cursor[HEADERS]
    read, position, next_offset = cursor[READ], cursor[POSITION], cursor[NEXT_OFFSET]
    while read < count and row < limit:
        size, at = _varint(payload, position, end, 32)
        record_end = at + size
        if at < 0 or size < 0 or record_end > end:
            return INVALID_STRUCTURE
        timestamp_delta, at = _varint(payload, at + 1, record_end, 64)
        if at < 0:
            return INVALID_STRUCTURE
        offset_delta, at = _varint(payload, at, record_end, 32)
        if at < 0:
            return INVALID_STRUCTURE
        key_length, key = _varint(payload, at, record_end, 32)
        if key < 0:
            return INVALID_STRUCTURE
        key_size = max(key_length, 0)
        value_length, value = _varint(payload, key + key_size, record_end, 32)
        if value < 0:
            return INVALID_STRUCTURE
        value_size = max(value_length, 0)
        header_count, at = _varint(payload, value + value_size, record_end, 32)
        if at < 0 or header_count < 0 or (header_count == 0 and at != record_end) or header_count > record_end - at:
            return INVALID_STRUCTURE
        read += 1
        position = record_end
        offset = base_offset + offset_delta
        if offset < first_offset or offset >= until_offset:
            continue
        next_offset = offset + 1
        numbers[OFFSET, row] = offset
        numbers[TIMESTAMP, row] = base_timestamp + timestamp_delta if append_time == NO_APPEND_TIME else append_time
        if want_keys:
            copy_bytes(keys, key_position, payload, key, key_size)
            key_position += key_size
            valid[KEY, row] = key_length >= 0
            ends[KEY, row + 1] = key_position
        if want_values:
            copy_bytes(values, value_position, payload, value, value_size)
            value_position += value_size
            valid[VALUE, row] = value_length >= 0
            ends[VALUE, row + 1] = value_position
        if want_headers:
            headers += header_count
            header_starts[0, row] = at
            header_starts[1, row] = record_end
            ends[HEADER_COUNT, row + 1] = headers
        row += 1
    if read == count and position != end:
        return BYTES_REMAINING
    cursor[ROWS], cursor[KEY_BYTES], cursor[VALUE_BYTES] = row, key_position, value_position
    cursor[HEADERS] = headers
    cursor[READ], cursor[POSITION], cursor[NEXT_OFFSET] = read, position, next_offset
    return 0


@compiled
def fill_run(  # noqa: PLR0917 - compiled functions take positional arguments
    payload: Bytes,
    batches: Rows,
    batch_count: int,
    first_offset: int,
    until_offset: int,
    limit: int,
    wanted: int,
    numbers: Rows,
    ends: Ends,
    valid: Bytes,
    keys: Bytes,
    values: Bytes,
    header_starts: Rows,
    cursor: Rows,
) -> int:
    """:func:`fill_columns` for batches that :func:`scan_batches` found; how many were good, from the first on."""
    base = np.empty(5, np.int64)
    base[3], base[4] = first_offset, until_offset
    for index in range(batch_count):
        batch = batches[index]
        base[0], base[1], base[2] = batch[BASE_OFFSET], batch[BASE_TIMESTAMP], batch[APPEND_TIME]
        cursor[READ], cursor[POSITION], cursor[NEXT_OFFSET] = 0, batch[PAYLOAD_START], first_offset
        end, count = batch[PAYLOAD_END], batch[COUNT]
        status = fill_columns(
            payload, end, count, base, limit, wanted, numbers, ends, valid, keys, values, header_starts, cursor
        )
        if status != 0:
            return index
    return batch_count


@compiled
def fill_headers(  # noqa: PLR0917 - compiled functions take positional arguments
    payload: Bytes,
    first_row: int,
    last_row: int,
    header_starts: Rows,
    ends: Ends,
    header_ends: Ends,
    header_valid: Bytes,
    header_keys: Bytes,
    header_values: Bytes,
    cursor: Rows,
) -> int:
    """Append the headers of these rows, of one batch; 0 or INVALID_STRUCTURE."""
    key_position, value_position = cursor[HEADER_KEY_BYTES], cursor[HEADER_VALUE_BYTES]
    for row in range(first_row, last_row):
        at, end = header_starts[0, row], header_starts[1, row]
        for header in range(ends[HEADER_COUNT, row], ends[HEADER_COUNT, row + 1]):
            key_size, key = read_varint(payload, at, end, 32)
            if key < 0 or key_size < 0:
                return INVALID_STRUCTURE
            value_length, value = read_varint(payload, key + key_size, end, 32)
            value_size = max(value_length, 0)
            at = value + value_size
            if value < 0 or at > end:
                return INVALID_STRUCTURE
            copy_bytes(header_keys, key_position, payload, key, key_size)
            key_position += key_size
            copy_bytes(header_values, value_position, payload, value, value_size)
            value_position += value_size
            header_valid[header] = value_length >= 0
            header_ends[KEY, header + 1] = key_position
            header_ends[VALUE, header + 1] = value_position
        if at != end:
            return INVALID_STRUCTURE
    cursor[HEADER_KEY_BYTES], cursor[HEADER_VALUE_BYTES] = key_position, value_position
    return 0
