"""The segments of a log, by base offset."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from ottla.log.segment import LogSegment


class LogSegments:
    """A sorted map from base offset to segment; the last one is active."""

    def __init__(self, segments: Iterable[LogSegment] = ()) -> None:
        self._by_offset: dict[int, LogSegment] = {}
        self._base_offsets: list[int] = []
        self.active: LogSegment
        for segment in segments:
            self.add(segment)

    def add(self, segment: LogSegment) -> None:
        """Put a segment in, in place of one with the same base offset."""
        if segment.base_offset not in self._by_offset:
            self._base_offsets.insert(bisect_left(self._base_offsets, segment.base_offset), segment.base_offset)
        self._by_offset[segment.base_offset] = segment
        self.active = self._by_offset[self._base_offsets[-1]]

    def remove(self, base_offset: int) -> None:
        """Take a segment out; its files stay."""
        del self._by_offset[base_offset]
        self._base_offsets.remove(base_offset)
        if self._base_offsets:
            self.active = self._by_offset[self._base_offsets[-1]]

    def __len__(self) -> int:
        return len(self._base_offsets)

    def __contains__(self, base_offset: int) -> bool:
        return base_offset in self._by_offset

    def __getitem__(self, base_offset: int) -> LogSegment:
        return self._by_offset[base_offset]

    @property
    def first(self) -> LogSegment:
        """The oldest segment."""
        return self._by_offset[self._base_offsets[0]]

    @property
    def base_offsets(self) -> list[int]:
        """All base offsets, ascending."""
        return list(self._base_offsets)

    @property
    def size_in_bytes(self) -> int:
        """The bytes of all record files together."""
        return sum(segment.size for segment in self._by_offset.values())

    def values(self) -> list[LogSegment]:
        """All segments, oldest first."""
        return [self._by_offset[offset] for offset in self._base_offsets]

    def between(self, start: int, end: int) -> list[LogSegment]:
        """From the segment that may hold ``start`` to the last one whose base is below ``end``."""
        low = max(bisect_right(self._base_offsets, start) - 1, 0)
        return [self._by_offset[offset] for offset in self._base_offsets[low : bisect_left(self._base_offsets, end)]]

    def floor(self, offset: int) -> LogSegment | None:
        """The segment with the largest base offset at most ``offset``."""
        slot = bisect_right(self._base_offsets, offset)
        return self._by_offset[self._base_offsets[slot - 1]] if slot else None

    def higher(self, base_offset: int) -> LogSegment | None:
        """The next segment after ``base_offset``."""
        slot = bisect_right(self._base_offsets, base_offset)
        return self._by_offset[self._base_offsets[slot]] if slot < len(self._base_offsets) else None
