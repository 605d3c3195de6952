"""Frames: a size of four bytes, big-endian, and that many bytes. No sockets here; bytes come in, frames go out."""

import struct
from typing import Final

SIZE_BYTES: Final = 4
_size: Final = struct.Struct(">i").unpack_from

MIN_GROWTH_BYTES: Final = 64 * 1024
"""A large frame's memory grows at least by this, and otherwise by what has arrived."""

_TLS_RECORD: Final = b"\x16\x03"
_HTTP_STARTS: Final = (
    b"GET ",
    b"POST",
    b"PUT ",
    b"HEAD",
    b"DELE",
    b"OPTI",
    b"PATC",
    b"TRAC",
    b"CONN",
    b"HTTP",
    b"PRI ",
)


class InvalidReceiveError(Exception):
    """A size that no frame may have; the connection cannot be understood any more."""


class FrameBuffer:
    """The bytes of one connection that are not yet a request.

    Life of a frame: unknown (fewer than four bytes) → announced (``size`` says how long it is) → admitted (its memory
    has been allowed) → complete → taken. Bytes behind the frame stay for the next one. A frame is never given more
    memory than twice of what has arrived of it, so that a size which lies costs nothing; unless the other side may be
    believed: up to ``at_once_bytes`` are given when the frame is announced, and nothing is copied as it grows.
    """

    __slots__ = ("_at_once_bytes", "_buffer", "_filled", "_max_bytes", "_position", "admitted")

    def __init__(self, max_bytes: int, at_once_bytes: int = 0) -> None:
        self._max_bytes = max_bytes
        self._at_once_bytes = at_once_bytes
        self._buffer = bytearray()
        self._position = 0
        self._filled = 0
        """Where the received bytes in the buffer end; beyond it is room for a large frame to arrive in."""
        self.admitted = False
        """Whether the memory of the frame at the front has been allowed; the caller's to set."""

    @property
    def buffered_bytes(self) -> int:
        """What has been received and not been taken."""
        return self._filled - self._position

    def feed(self, data: memoryview) -> memoryview | None:
        """Take what has been received, and give the frame back at once that it begins with, if it does.

        The shortcut for what happens most: nothing was buffered, and a frame has arrived in one piece.
        """
        if self._position == self._filled and len(data) >= SIZE_BYTES:
            end = SIZE_BYTES + _size(data)[0]
            if SIZE_BYTES <= end <= len(data) and end <= self._max_bytes + SIZE_BYTES:
                if end < len(data):
                    self._buffer = bytearray(data[end:])
                    self._position = 0
                    self._filled = len(self._buffer)
                return memoryview(bytearray(data[SIZE_BYTES:end]))
        self.append(data)
        return None

    def append(self, data: memoryview) -> None:
        """Take what has been received; the data is copied."""
        if self._position == self._filled:
            self._buffer = bytearray(data)
        else:
            assert self._filled == len(self._buffer), "a large frame is received through its window"
            if self._position:
                del self._buffer[: self._position]
            self._buffer += data
        self._position = 0
        self._filled = len(self._buffer)

    def size(self) -> int:
        """The size of the frame at the front, -1 as long as it is unknown; InvalidReceiveError if it is absurd."""
        position = self._position
        if self._filled - position < SIZE_BYTES:
            return -1
        size: int = _size(self._buffer, position)[0]
        if 0 <= size <= self._max_bytes:
            return size
        raise InvalidReceiveError(_complaint(size, self._max_bytes, bytes(self._buffer[position : position + 4])))

    def take(self, size: int) -> memoryview | None:
        """The frame at the front, of this size and in memory of its own; None as long as it is incomplete."""
        start = self._position + SIZE_BYTES
        end = start + size
        filled = self._filled
        if end > filled:
            return None
        self.admitted = False
        buffer = self._buffer
        if end == filled:  # nothing behind it
            self._position = self._filled = 0
            self._buffer = bytearray()
            if start == SIZE_BYTES:
                return memoryview(buffer)[SIZE_BYTES:end]  # the frame is all there is: hand it over
        else:
            self._position = end
        return memoryview(buffer[start:end])

    def has_frame(self) -> bool:
        """Whether a frame, or a size that is absurd, waits to be taken."""
        position = self._position
        available = self._filled - position
        if available < SIZE_BYTES:
            return False
        size: int = _size(self._buffer, position)[0]
        return available - SIZE_BYTES >= size or size < 0 or size > self._max_bytes

    def missing(self, size: int) -> int:
        """How many bytes of the frame at the front, of this size, have not arrived."""
        return SIZE_BYTES + size - (self._filled - self._position)

    def window(self, size: int) -> memoryview:
        """Room for the rest of a large frame, to be received into directly; ``filled`` says how much was."""
        if self._position:
            del self._buffer[: self._position]
            self._filled -= self._position
            self._position = 0
        room = len(self._buffer) - self._filled
        missing = SIZE_BYTES + size - self._filled
        if room == 0:
            if missing <= self._at_once_bytes:
                whole = bytearray(SIZE_BYTES + size)
                whole[: self._filled] = self._buffer
                self._buffer = whole
            else:
                growth = min(missing, max(self._filled, MIN_GROWTH_BYTES))
                self._buffer += bytes(growth)
        return memoryview(self._buffer)[self._filled :]

    def filled(self, count: int) -> None:
        """Say how many bytes have been received into the window, which has been released."""
        self._filled += count

    def clear(self) -> None:
        """Forget everything."""
        self._buffer = bytearray()
        self._position = self._filled = 0
        self.admitted = False


def _complaint(size: int, max_bytes: int, start: bytes) -> str:
    """Say what is wrong with a size, and what the bytes look like instead."""
    if start.startswith(_TLS_RECORD):
        return "the connection begins with bytes that look like TLS, on a listener without TLS"
    if start in _HTTP_STARTS:
        return "the connection carries bytes that look like HTTP, which is not spoken here"
    if size < 0:
        return f"Invalid receive (size = {size})"
    return f"Invalid receive (size = {size} larger than {max_bytes})"
