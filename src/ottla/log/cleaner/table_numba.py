"""The table of the compiled offset map: open addressing over one array, 24 bytes an entry, keys by SipHash-2-4-128."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ottla.records.walk_numba import (
    KEY,
    KEY_LENGTH,
    OFFSET_DELTA,
    TIMESTAMP_DELTA,
    VALUE_LENGTH,
    Bytes,
    Rows,
    compiled,
)

BYTES_PER_ENTRY: Final = 24
"""Two words of hash, one of the offset plus 1, so that 0 marks a free slot."""

Word = np.uint64
Words = NDArray[np.uint64]


@compiled
def sip_round(v0: Word, v1: Word, v2: Word, v3: Word) -> tuple[Word, Word, Word, Word]:
    """One SipRound on four uint64 words."""
    v0 += v1
    v1 = (v1 << np.uint64(13)) | (v1 >> np.uint64(51))
    v1 ^= v0
    v0 = (v0 << np.uint64(32)) | (v0 >> np.uint64(32))
    v2 += v3
    v3 = (v3 << np.uint64(16)) | (v3 >> np.uint64(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << np.uint64(21)) | (v3 >> np.uint64(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << np.uint64(17)) | (v1 >> np.uint64(47))
    v1 ^= v2
    v2 = (v2 << np.uint64(32)) | (v2 >> np.uint64(32))
    return v0, v1, v2, v3


@compiled
def siphash_128(data: Bytes, start: int, length: int, secret: Words) -> tuple[Word, Word]:
    """SipHash-2-4 with 128 bits of output, as two uint64 words, the first the lower."""
    v0 = secret[0] ^ np.uint64(0x736F6D6570736575)
    v1 = secret[1] ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
    v2 = secret[0] ^ np.uint64(0x6C7967656E657261)
    v3 = secret[1] ^ np.uint64(0x7465646279746573)
    at = start
    whole_end = start + length // 8 * 8
    while at < whole_end:
        word = np.uint64(0)
        for index in range(8):
            word |= np.uint64(data[at + index]) << np.uint64(8 * index)
        v3 ^= word
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
        v0 ^= word
        at += 8
    word = np.uint64(length & 0xFF) << np.uint64(56)
    for index in range(start + length - at):
        word |= np.uint64(data[at + index]) << np.uint64(8 * index)
    v3 ^= word
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    v0 ^= word
    v2 ^= np.uint64(0xEE)
    for _ in range(4):
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= np.uint64(0xDD)
    for _ in range(4):
        v0, v1, v2, v3 = sip_round(v0, v1, v2, v3)
    return low, v0 ^ v1 ^ v2 ^ v3


@compiled
def find_slot(table: Words, low: Word, high: Word) -> int:
    """The slot that holds this hash, or the free one where it belongs, or -1 if it is absent and none is free."""
    slots = len(table)
    slot: Any = np.int64(((low >> np.uint64(32)) * np.uint64(slots)) >> np.uint64(32))
    for _ in range(slots):
        entry = table[slot]
        if entry[2] == np.uint64(0) or (entry[0] == low and entry[1] == high):
            found: int = slot
            return found
        slot += 1
        if slot == slots:
            slot = 0
    return -1


@compiled
def hash_keys(payload: Bytes, rows: Rows, count: int, secret: Words, hashes: Words) -> None:
    """Hash the key of each record that has one.

    A loop of its own, so that the misses of the table's loops, which are short, overlap in the processor.
    """
    for index in range(count):
        row = rows[index]
        if row[KEY_LENGTH] >= 0:
            hashes[index, 0], hashes[index, 1] = siphash_128(payload, row[KEY], row[KEY_LENGTH], secret)


@compiled
def put_keys(  # noqa: PLR0917 - compiled functions take positional arguments
    rows: Rows,
    hashes: Words,
    count: int,
    table: Words,
    base_offset: int,
    start_offset: int,
    size: int,
    size_max: int,
) -> tuple[bool, int, int]:
    """Map keys; whether the map is full, its size, and the offset put last or -1."""
    latest_offset = -1
    for index in range(count):
        row = rows[index]
        offset = base_offset + row[OFFSET_DELTA]
        if row[KEY_LENGTH] < 0 or offset < start_offset:
            continue
        if size >= size_max:
            return True, size, latest_offset
        low, high = hashes[index, 0], hashes[index, 1]
        slot = find_slot(table, low, high)
        entry = table[slot]
        if entry[2] == np.uint64(0):
            entry[0] = low
            entry[1] = high
            size += 1
        entry[2] = np.uint64(offset + 1)
        latest_offset = offset
    return False, size, latest_offset


@compiled
def mark_retained(  # noqa: PLR0917 - compiled functions take positional arguments
    rows: Rows,
    hashes: Words,
    count: int,
    table: Words,
    base_offset: int,
    latest_offset: int,
    retain_tombstones: bool,
    keep: Bytes,
) -> int:
    """Set ``keep`` for each record that stays; how many have no key."""
    invalid = 0
    for index in range(count):
        row = rows[index]
        offset = base_offset + row[OFFSET_DELTA]
        stays = True
        if offset <= latest_offset:
            if row[KEY_LENGTH] < 0:
                invalid += 1
                stays = False
            elif row[VALUE_LENGTH] < 0 and not retain_tombstones:
                stays = False
            else:
                slot = find_slot(table, hashes[index, 0], hashes[index, 1])
                stays = slot < 0 or offset >= np.int64(table[slot, 2]) - 1
        keep[index] = 1 if stays else 0
    return invalid


@compiled
def summarize(rows: Rows, count: int, keep: Bytes) -> tuple[int, bool, int, int]:
    """Of the retained records: count, whether one is a tombstone, first and largest timestamp delta."""
    retained, has_tombstones, first_delta, max_delta = 0, False, 0, 0
    for index in range(count):
        if keep[index] == 0:
            continue
        delta = rows[index, TIMESTAMP_DELTA]
        if retained == 0:
            first_delta = max_delta = delta
        max_delta = max(max_delta, delta)
        retained += 1
        if rows[index, VALUE_LENGTH] < 0:
            has_tombstones = True
    return retained, has_tombstones, first_delta, max_delta
