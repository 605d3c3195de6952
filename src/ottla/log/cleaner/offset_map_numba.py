"""The offset map, compiled by numba: open addressing over one array, 24 bytes an entry, keys by SipHash-2-4-128."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ottla.common.errors import InvalidRecordError
from ottla.log.cleaner.offset_map import NOT_FOUND, Retained
from ottla.records.batch import Buffer
from ottla.records.walk_numba import (
    BYTES_REMAINING,
    COLUMNS,
    COPY_GROWTH_BYTES,
    KEY,
    KEY_LENGTH,
    OFFSET_DELTA,
    TIMESTAMP_DELTA,
    VALUE_LENGTH,
    Bytes,
    Rows,
    compiled,
    copy_records,
    walk_records,
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


class NumbaOffsetMap:
    """See :class:`ottla.log.cleaner.offset_map.OffsetMap`; nothing but the table grows with the number of keys."""

    def __init__(self, memory_bytes: int, secret: bytes) -> None:
        self.slots = min(memory_bytes // BYTES_PER_ENTRY, 2**31 - 1)
        self.latest_offset = NOT_FOUND
        self.size = 0
        self._table: Words = np.zeros((max(self.slots, 1), 3), np.uint64)
        self._secret: Words = np.frombuffer(secret, "<u8").astype(np.uint64)
        self._payload: Bytes = np.zeros(0, np.uint8)
        self._rows: Rows = np.zeros((0, COLUMNS), np.int64)
        self._hashes: Words = np.zeros((0, 2), np.uint64)
        self._keep: Bytes = np.zeros(0, np.uint8)
        self._target: Bytes = np.zeros(0, np.uint8)
        self._count = 0
        self._bytes = 0

    def walk(self, payload: Buffer, start: int, end: int, count: int) -> None:
        """Take up a batch's records."""
        self._count = 0
        if count > len(self._rows):
            if count > end - start:  # a record takes more than a byte: do not believe the count
                raise InvalidRecordError(f"Found invalid record count {count} in {end - start} bytes")
            self._rows = np.zeros((count * 2, COLUMNS), np.int64)
            self._hashes = np.zeros((count * 2, 2), np.uint64)
            self._keep = np.zeros(count * 2, np.uint8)
        self._payload = np.frombuffer(payload, np.uint8)
        status = walk_records(self._payload, start, end, count, self._rows)
        if status == BYTES_REMAINING:
            raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")
        if status:
            raise InvalidRecordError("Found invalid record structure")
        self._count = count
        self._bytes = end - start

    def put_keys(self, base_offset: int, start_offset: int, size_max: int) -> bool:
        """Map the walked records' keys; True if the map is full."""
        hash_keys(self._payload, self._rows, self._count, self._secret, self._hashes)
        full, self.size, latest_offset = put_keys(
            self._rows,
            self._hashes,
            self._count,
            self._table,
            base_offset,
            start_offset,
            self.size,
            min(size_max, self.slots),
        )
        if latest_offset >= 0:
            self.latest_offset = latest_offset
        return full

    def retain(self, base_offset: int, retain_tombstones: bool) -> Retained:
        """Decide which of the walked records stay."""
        hash_keys(self._payload, self._rows, self._count, self._secret, self._hashes)
        invalid = mark_retained(
            self._rows,
            self._hashes,
            self._count,
            self._table,
            base_offset,
            self.latest_offset,
            retain_tombstones,
            self._keep,
        )
        return self._summary(invalid)

    def retain_all(self) -> Retained:
        """Let all walked records stay."""
        self._keep[: self._count] = 1
        return self._summary(0)

    def copy_retained(self, timestamp_factor: int, timestamp_shift: int) -> memoryview:
        """The retained records, written again."""
        room = self._bytes + self._count * COPY_GROWTH_BYTES
        if room > len(self._target):
            self._target = np.zeros(room * 2, np.uint8)
        size = copy_records(
            self._payload, self._rows, self._keep, self._count, timestamp_factor, timestamp_shift, self._target
        )
        return self._target.data[:size]

    def _summary(self, invalid: int) -> Retained:
        count, has_tombstones, first_delta, max_delta = summarize(self._rows, self._count, self._keep)
        return Retained(count, invalid, has_tombstones, first_delta, max_delta)
