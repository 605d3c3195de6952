"""The offset index: ``<base>.index``, eight bytes an entry: relative offset i32, position i32.

An entry's offset is the *last* offset of the batch that begins at its position (as Apache writes it), which lets a
reader check an entry against the log before trusting it.
"""

from array import array
from struct import Struct
from typing import ClassVar, Literal, NamedTuple

from ottla.log.sparse_index import SparseIndex, big_endian_words

_RELATIVE_OFFSET_MAX = (1 << 31) - 1


class OffsetPosition(NamedTuple):
    """Where the batch that ends with ``offset`` begins in the log file."""

    offset: int
    position: int


class OffsetIndex(SparseIndex):
    """Offset → position of a segment, sparse."""

    ENTRY: ClassVar[Struct] = Struct(">II")
    KEY_TYPE: ClassVar[Literal["I", "q"]] = "I"

    def append(self, offset: int, position: int) -> None:
        """Add an entry; offsets only grow."""
        relative, keys = offset - self.base_offset, self._keys
        assert not keys or relative > keys[-1], f"offset {offset} is not after the last one of {self.path}"
        self._append(relative, position)

    def lookup(self, offset: int) -> OffsetPosition:
        """The entry with the largest offset at most ``offset``; the segment's start if there is none."""
        return self.entry(self.floor_slot(offset))

    def floor_slot(self, offset: int) -> int:
        """The slot of that entry, or -1."""
        return self._floor_slot(offset - self.base_offset)

    def entry(self, slot: int) -> OffsetPosition:
        """The entry in a slot; slot -1 stands for the segment's start."""
        if slot < 0:
            return OffsetPosition(self.base_offset, 0)
        return OffsetPosition(self._entries()[slot] + self.base_offset, self._values[slot])

    def first_at_or_after_position(self, position: int) -> OffsetPosition | None:
        """The first entry whose position is at least ``position``: an upper bound for what a fetch can hold."""
        self._entries()
        values = self._values
        low, high = 0, len(values)
        while low < high:
            middle = (low + high) // 2
            if values[middle] < position:
                low = middle + 1
            else:
                high = middle
        return self.entry(low) if low < len(values) else None

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, or the base offset."""
        last = self._last_entries(1)
        return last[0][0] + self.base_offset if last else self.base_offset

    def can_hold(self, offset: int) -> bool:
        """Whether ``offset`` can be written relative to the base."""
        return 0 <= offset - self.base_offset <= _RELATIVE_OFFSET_MAX

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above ``offset``."""
        self._truncate_slots(self.floor_slot(offset - 1) + 1)

    def damage(self, log_size: int) -> str | None:
        """What is wrong with the file at first sight: its length, its last entry; None if nothing is."""
        last = self._last_entries(2)
        if not last:
            return self._length_damage()
        relative, position = last[-1]
        if relative > _RELATIVE_OFFSET_MAX:
            return f"offset {relative + self.base_offset} of the last entry is too far from the base offset"
        if len(last) > 1 and relative <= last[0][0]:
            return f"offset {relative + self.base_offset} of the last entry is not larger than the one before it"
        if position >= log_size:
            return f"position {position} of the last entry is beyond the log's end {log_size}"
        return self._length_damage()

    def _decode(self, data: bytes) -> "tuple[array[int], array[int]]":
        words = big_endian_words(data)
        return words[0::2], words[1::2]
