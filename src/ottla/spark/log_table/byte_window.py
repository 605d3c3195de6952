"""A file in pieces: what is being looked at is in memory, and a bit of what follows."""

from collections.abc import Callable
from typing import Final

from ottla.records.batch import HEADER_BYTES, RecordBatch

CHUNK_BYTES: Final = 4 * 1024 * 1024


class ByteWindow:
    """``pread(size, position)`` through a buffer that moves forward; ``end`` is where the file ends."""

    __slots__ = ("_buffer", "_chunk_bytes", "_pread", "_start", "end")

    def __init__(self, pread: Callable[[int, int], bytes], end: int, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.end = end
        self._pread = pread
        self._chunk_bytes = chunk_bytes
        self._buffer = memoryview(b"")
        self._start = 0

    def bytes_at(self, position: int, size: int) -> memoryview:
        """So many bytes from there on, fewer at the end; the memory is theirs as long as they are."""
        size = max(min(size, self.end - position), 0)
        at = position - self._start
        if at < 0 or at + size > len(self._buffer):
            wanted = max(min(max(size, self._chunk_bytes), self.end - position), 0)
            data = self._pread(wanted, position)
            if len(data) < wanted:  # somebody has cut the file
                self.end = position + len(data)
            self._buffer, self._start, at = memoryview(data), position, 0
        return self._buffer[at : at + size]

    def header_at(self, position: int) -> RecordBatch | None:
        """What stands there, taken for a batch of which no more than the header is there; None if that is cut off."""
        header = self.bytes_at(position, HEADER_BYTES)
        return RecordBatch(header) if len(header) == HEADER_BYTES else None

    def batch_at(self, position: int, header: RecordBatch) -> RecordBatch | None:
        """That batch, all of it; None if it is cut off."""
        data = self.bytes_at(position, header.size_in_bytes)
        return RecordBatch(data) if len(data) == header.size_in_bytes else None

    def is_zero(self, position: int, end: int) -> bool:
        """Whether there are zeros only."""
        while position < end:
            part = self.bytes_at(position, self._chunk_bytes)
            if not part or any(part):
                return False
            position += len(part)
        return True
