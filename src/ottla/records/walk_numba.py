"""The walk of :mod:`ottla.records.walk`, compiled by numba; import it only where numba may be loaded.

A record is a row of eight int64 columns, the fields of :class:`~ottla.records.walk.RecordSpan` in their order.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Rows = NDArray[np.int64]
Compiled = TypeVar("Compiled", bound=Callable[..., Any])

COLUMNS: Final = 8
START, END, TIMESTAMP_DELTA, OFFSET_DELTA, BODY, KEY, KEY_LENGTH, VALUE_LENGTH = range(COLUMNS)

INVALID_STRUCTURE: Final = -1

COPY_GROWTH_BYTES: Final = 12
"""What a record may grow by when its timestamp delta changes: nine more bytes of delta, some of its length."""


def compiled(function: Compiled) -> Compiled:
    """``numba.njit``, kept in the cache on disk where numba finds a place it may write to."""
    try:
        return cast("Compiled", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba's "no locator available": neither __pycache__ nor the user's cache is writable
        return cast("Compiled", numba.njit(nogil=True)(function))


@compiled
def read_varint(payload: Bytes, position: int, end: int, bits: int) -> tuple[int, int]:
    """The zig-zag number of at most ``bits`` bits at ``position``, and the position after it; -1 if it has no end."""
    raw = np.uint64(0)
    shift = 0
    while position < end and shift < bits:
        byte = np.uint64(payload[position])
        position += 1
        raw |= (byte & np.uint64(0x7F)) << np.uint64(shift)
        if byte < np.uint64(0x80):
            if bits == 32:
                raw &= np.uint64(0xFFFFFFFF)
            value: Any = np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1))
            return value, position
        shift += 7
    return 0, -1


@compiled
def walk_records(payload: Bytes, start: int, end: int, count: int, rows: Rows) -> int:
    """Fill one row a record; the position after the last, or INVALID_STRUCTURE."""
    position = start
    for index in range(count):
        size, at = read_varint(payload, position, end, 32)
        record_end = at + size
        if at < 0 or size < 0 or record_end > end:
            return INVALID_STRUCTURE
        timestamp_delta, at = read_varint(payload, at + 1, record_end, 64)
        if at < 0:
            return INVALID_STRUCTURE
        offset_delta, body = read_varint(payload, at, record_end, 32)
        if body < 0:
            return INVALID_STRUCTURE
        key_length, key = read_varint(payload, body, record_end, 32)
        if key < 0:
            return INVALID_STRUCTURE
        value_length, value = read_varint(payload, key + max(key_length, 0), record_end, 32)
        if value < 0 or value + max(value_length, 0) >= record_end:
            return INVALID_STRUCTURE
        row = rows[index]
        row[START] = position
        row[END] = record_end
        row[TIMESTAMP_DELTA] = timestamp_delta
        row[OFFSET_DELTA] = offset_delta
        row[BODY] = body
        row[KEY] = key
        row[KEY_LENGTH] = key_length
        row[VALUE_LENGTH] = value_length
        position = record_end
    return position


@compiled
def write_varint(target: Bytes, position: int, value: int) -> int:
    """Write a zig-zag number; the position after it."""
    raw = np.uint64((value << 1) ^ (value >> 63))
    while raw >= np.uint64(0x80):
        target[position] = np.uint8((raw & np.uint64(0x7F)) | np.uint64(0x80))
        raw >>= np.uint64(7)
        position += 1
    target[position] = np.uint8(raw)
    return position + 1


@compiled
def size_of_varint(value: int) -> int:
    """The bytes that :func:`write_varint` takes."""
    raw = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while raw >= np.uint64(0x80):
        raw >>= np.uint64(7)
        size += 1
    return size


@compiled
def copy_records(  # noqa: PLR0917 - compiled functions take positional arguments
    payload: Bytes, rows: Rows, keep: Bytes, count: int, timestamp_factor: int, timestamp_shift: int, target: Bytes
) -> int:
    """Write the records whose ``keep`` is not 0 again, as :func:`ottla.records.walk.copy_records`; their bytes."""
    position = 0
    for index in range(count):
        if keep[index] == 0:
            continue
        row = rows[index]
        end, body = row[END], row[BODY]
        timestamp_delta = row[TIMESTAMP_DELTA] * timestamp_factor + timestamp_shift
        offset_delta = row[OFFSET_DELTA]
        rest = end - body
        size = 1 + size_of_varint(timestamp_delta) + size_of_varint(offset_delta) + rest
        position = write_varint(target, position, size)
        target[position] = 0
        position = write_varint(target, position + 1, timestamp_delta)
        position = write_varint(target, position, offset_delta)
        target[position : position + rest] = payload[body:end]
        position += rest
    return position
