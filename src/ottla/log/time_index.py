"""The time index: ``<base>.timeindex``, twelve bytes an entry: timestamp i64, relative offset i32.

An entry says: no record up to this offset has a larger timestamp. Timestamps only grow.
"""

import sys
from array import array
from struct import Struct
from typing import ClassVar, Literal, NamedTuple

from ottla.log.sparse_index import SparseIndex, big_endian_words
from ottla.records.batch import NO_TIMESTAMP


class TimestampOffset(NamedTuple):
    """The largest timestamp so far, and the last offset of the batch that brought it."""

    timestamp: int
    offset: int


class TimeIndex(SparseIndex):
    """Timestamp → offset of a segment, sparse."""

    ENTRY: ClassVar[Struct] = Struct(">qI")
    KEY_TYPE: ClassVar[Literal["I", "q"]] = "q"

    @property
    def is_full(self) -> bool:
        """One slot is kept for the entry written when the segment is sealed."""
        return self.count >= self.max_entries - 1

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry, or (-1, base offset)."""
        last = self._last_entries(1)
        return TimestampOffset(last[0][0], last[0][1] + self.base_offset) if last else self.entry(-1)

    def entry(self, slot: int) -> TimestampOffset:
        """The entry in a slot; slot -1 stands for "no timestamp yet"."""
        if slot < 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        return TimestampOffset(self._entries()[slot], self._values[slot] + self.base_offset)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if its timestamp is new; an older one brings nothing."""
        keys = self._keys if self._active else self._entries()
        if timestamp > (keys[-1] if keys else NO_TIMESTAMP):
            self._append(timestamp, offset - self.base_offset)

    def lookup(self, timestamp: int) -> TimestampOffset:
        """The last entry with at most this timestamp."""
        return self.entry(self._floor_slot(timestamp))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above ``offset``."""
        relative = offset - self.base_offset
        self._entries()
        count = len(self._values)
        while count and self._values[count - 1] >= relative:
            count -= 1
        self._truncate_slots(count)

    def damage(self) -> str | None:
        """What is wrong with the file at first sight; None if nothing is."""
        last = self._last_entries(2)
        if len(last) > 1:
            (timestamp_before, offset_before), (timestamp, offset) = last
            if timestamp <= timestamp_before:
                return f"timestamp {timestamp} of the last entry is not larger than the one before it"
            if offset < offset_before:
                return f"offset {offset + self.base_offset} of the last entry is smaller than the one before it"
        return self._length_damage()

    def _decode(self, data: bytes) -> "tuple[array[int], array[int]]":
        words = big_endian_words(data)
        # Two 32-bit words make a timestamp: put them side by side in the machine's own order.
        halves = array("I", bytes(len(words) // 3 * 8))
        first, second = (0, 1) if sys.byteorder == "big" else (1, 0)
        halves[first::2] = words[0::3]
        halves[second::2] = words[1::3]
        timestamps = array("q")
        timestamps.frombytes(halves.tobytes())
        return timestamps, words[2::3]
