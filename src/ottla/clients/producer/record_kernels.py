"""Columns of records into the bytes of batches, compiled by numba; import it only where numba may be loaded.

A column of bytes is three arrays: the data, and for each row where its bytes start and how many they are; a length of
-1 stands for null. Headers are such a column too, encoded already; no bytes at all stand for no headers.
"""

from typing import Any, Final

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from ottla.records.walk_numba import Bytes, Rows, compiled, size_of_varint, write_varint

Partitions = NDArray[np.int32]

ENCODED_BYTES, BASE_TIMESTAMP_MS, MAX_TIMESTAMP_MS = range(3)
"""What ``encode_records`` leaves in its summary."""
SUMMARY_SIZE: Final = 3

_SEED: Final = np.uint32(0x9747B28C)
_M: Final = np.uint32(0x5BD1E995)


def _moving(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """The code for ``_move``, which numba calls with its arguments' types and values."""
    places = []
    for array, index in ((0, 1), (2, 3)):
        data = context.make_array(signature.args[array])(context, builder, values[array]).data
        places.append(builder.gep(data, [values[index]]))
    raw_memcpy: Any = cgutils.raw_memcpy
    raw_memcpy(builder, *places, values[4], 1)
    return context.get_dummy_value()


@intrinsic
def _move(typing: Any, target: Any, position: Any, source: Any, start: Any, size: Any) -> Any:  # noqa: ARG001, PLR0917
    """C's memcpy between arrays of bytes: a copy by slices takes longer than all the rest of a record."""
    return types.void(target, types.intp, source, types.intp, types.intp), _moving


@compiled
def copy_bytes(source: Bytes, start: int, size: int, target: Bytes, position: int) -> int:
    """Copy; the position after it. Nobody checks that both are within their arrays."""
    _move(target, position, source, start, size)  # type: ignore[call-arg]  # numba gives the first
    return position + size


@compiled
def write_bytes(source: Bytes, start: int, length: int, target: Bytes, position: int) -> int:
    """The length, -1 for null, and the bytes; the position after them."""
    position = write_varint(target, position, length)
    return copy_bytes(source, start, length, target, position) if length > 0 else position


@compiled
def encode_records(  # noqa: PLR0917 - compiled functions take positional arguments
    order: Rows,
    first: int,
    last: int,
    timestamps: Rows,
    keys: Bytes,
    key_starts: Rows,
    key_lengths: Rows,
    values: Bytes,
    value_starts: Rows,
    value_lengths: Rows,
    headers: Bytes,
    header_starts: Rows,
    header_lengths: Rows,
    target: Bytes,
    limit: int,
    summary: Rows,
) -> int:
    """Encode rows ``order[first:last]`` as one batch of at most ``limit`` bytes; how many of them fit.

    The first always does: ``target`` must have room for it.
    """
    position = 0
    base_timestamp = timestamps[order[first]]
    max_timestamp = base_timestamp
    index = first
    while index < last:
        row = order[index]
        offset_delta = index - first
        timestamp_delta = timestamps[row] - base_timestamp
        key_length, value_length, header_length = key_lengths[row], value_lengths[row], header_lengths[row]
        size = 1 + size_of_varint(timestamp_delta) + size_of_varint(offset_delta)
        size += size_of_varint(key_length) + max(key_length, 0)
        size += size_of_varint(value_length) + max(value_length, 0)
        size += max(header_length, 1)
        if offset_delta and position + size_of_varint(size) + size > limit:
            break
        position = write_varint(target, position, size)
        target[position] = 0
        position = write_varint(target, position + 1, timestamp_delta)
        position = write_varint(target, position, offset_delta)
        position = write_bytes(keys, key_starts[row], key_length, target, position)
        position = write_bytes(values, value_starts[row], value_length, target, position)
        if header_length > 0:
            position = copy_bytes(headers, header_starts[row], header_length, target, position)
        else:
            target[position] = 0
            position += 1
        max_timestamp = max(max_timestamp, timestamps[row])
        index += 1
    summary[ENCODED_BYTES] = position
    summary[BASE_TIMESTAMP_MS] = base_timestamp
    summary[MAX_TIMESTAMP_MS] = max_timestamp
    return index - first


@compiled
def murmur2(data: Bytes, start: int, length: int) -> int:
    """Java's ``Utils.murmur2``, as an unsigned number of 32 bits."""
    hashed = _SEED ^ np.uint32(length)
    at = start
    for _ in range(length >> 2):
        word = np.uint32(data[at]) | np.uint32(data[at + 1]) << np.uint32(8)
        word |= np.uint32(data[at + 2]) << np.uint32(16) | np.uint32(data[at + 3]) << np.uint32(24)
        word = np.uint32(word * _M)
        word ^= word >> np.uint32(24)
        hashed = np.uint32(hashed * _M) ^ np.uint32(word * _M)
        at += 4
    tail = length & 3
    if tail:
        for index in range(tail):
            hashed ^= np.uint32(data[at + index]) << np.uint32(8 * index)
        hashed = np.uint32(hashed * _M)
    hashed ^= hashed >> np.uint32(13)
    hashed = np.uint32(hashed * _M)
    return int(hashed ^ hashed >> np.uint32(15))


@compiled
def partition_by_key(keys: Bytes, starts: Rows, lengths: Rows, count: int, partitions: Partitions) -> None:
    """Give rows that have a key and no partition (-1) theirs, where Java's producer sends them."""
    for row in range(len(partitions)):
        if partitions[row] < 0 and lengths[row] >= 0:
            partitions[row] = (murmur2(keys, starts[row], lengths[row]) & 0x7FFFFFFF) % count


@compiled
def group_by_partition(partitions: Partitions, first: int, last: int, order: Rows, ends: Rows) -> None:
    """Sort rows ``first`` to ``last`` by partition, each partition's in the order they have.

    ``order`` gets the rows, ``ends`` (all zero before) where those of each partition end in it.
    """
    for row in range(first, last):
        ends[partitions[row]] += 1
    total = 0
    for partition in range(len(ends)):
        total += ends[partition]
        ends[partition] = total - ends[partition]
    for row in range(first, last):
        place = ends[partitions[row]]
        order[place] = row
        ends[partitions[row]] = place + 1


@compiled
def size_of_headers(firsts: Rows, counts: Rows, key_lengths: Rows, value_lengths: Rows, sizes: Rows) -> int:
    """The bytes of each row's headers, 0 for none, and of all; -1 if a header has no key."""
    total = 0
    for row in range(len(sizes)):
        size = 0
        for header in range(firsts[row], firsts[row] + counts[row]):
            if key_lengths[header] < 0:
                return -1
            size += size_of_varint(key_lengths[header]) + key_lengths[header]
            size += size_of_varint(value_lengths[header]) + max(value_lengths[header], 0)
        sizes[row] = size + size_of_varint(counts[row]) if counts[row] else 0
        total += sizes[row]
    return total


@compiled
def encode_headers(  # noqa: PLR0917
    firsts: Rows,
    counts: Rows,
    keys: Bytes,
    key_starts: Rows,
    key_lengths: Rows,
    values: Bytes,
    value_starts: Rows,
    value_lengths: Rows,
    target: Bytes,
) -> None:
    """Write each row's headers, their number first, one row after the other; nothing for a row without."""
    position = 0
    for row in range(len(counts)):
        if counts[row]:
            position = write_varint(target, position, counts[row])
        for header in range(firsts[row], firsts[row] + counts[row]):
            position = write_bytes(keys, key_starts[header], key_lengths[header], target, position)
            position = write_bytes(values, value_starts[header], value_lengths[header], target, position)
