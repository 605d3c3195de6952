"""A response, or several, on their way into a socket."""

import os
import socket
from collections import deque
from collections.abc import Iterable
from enum import Enum, auto
from itertools import islice
from typing import Final

from ottla.network.listener_type import SendMode
from ottla.network.page_cache import is_cached
from ottla.network.request import Part, Request
from ottla.protocol.file_slice import FileSlice, ReadableFile

MAX_WRITE_BYTES: Final = 1024 * 1024
"""What one connection may write in a row before others have their turn, and what is looked up in the page cache."""
TAIL_BYTES: Final = 64 * 1024
"""What is left of a response beyond that and no larger than this goes along, rather than wait for another turn.

A range that is known to be cached and no larger than this is extended, rather than sent as a splinter of its own.
"""
COPY_BYTES: Final = 256 * 1024
"""How much of a file is copied into memory at a time, where sendfile cannot be used."""
_MAX_GATHER: Final = 16
_MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)


class Progress(Enum):
    """Where a send stands."""

    DONE = auto()
    BLOCKED = auto()
    """The socket takes no more, or others are due; go on when it is writable."""
    COLD = auto()
    """The next range is not in the page cache; go on when ``cold_range`` has been loaded."""


class Send:
    """What is left to write to a connection, in order, and the requests that are answered with it.

    A file's range is looked up in the page cache before it is touched, in pieces of ``MAX_WRITE_BYTES``. A socket takes
    what fits its buffer, which divides no piece evenly, so the next piece is looked up before this one is at its end.
    """

    __slots__ = ("_parts", "_warm_bytes", "cold_range", "ends_request", "requests")

    def __init__(
        self,
        parts: Iterable[Part],
        requests: list[Request],
        *,
        ends_request: bool = True,
    ) -> None:
        self._parts: deque[Part] = deque(part for part in parts if _size(part))
        self.requests = requests
        self.ends_request = ends_request
        """Whether the response to the request under way is among them; those before it were corked."""
        self.cold_range: FileSlice | None = None
        self._warm_bytes = 0

    def append(self, parts: Iterable[Part], request: Request) -> None:
        """Add the next response behind what is left of those before."""
        self._parts.extend(part for part in parts if _size(part))
        self.requests.append(request)
        self.ends_request = True

    @property
    def file(self) -> ReadableFile | None:
        """The file whose range comes next, None where bytes do."""
        front = self._parts[0] if self._parts else None
        return front.file if isinstance(front, FileSlice) else None

    @property
    def remaining_bytes(self) -> int:
        """What is left to write."""
        return sum(map(_size, self._parts))

    def loaded(self) -> None:
        """The cold range has been read."""
        assert self.cold_range is not None, "nothing was cold"
        self._warm_bytes = self.cold_range.size
        self.cold_range = None

    def write(self, sock: socket.socket, mode: SendMode) -> Progress:
        """Write as much as the socket takes, within bounds. OSError: the connection, or the file, is broken."""
        parts = self._parts
        budget = MAX_WRITE_BYTES
        try:
            while parts:
                if budget <= 0 and self.remaining_bytes > TAIL_BYTES:
                    return Progress.BLOCKED
                part = parts[0]
                if not isinstance(part, FileSlice):
                    sent = self._write_memory(sock)
                elif not self._warm(part):
                    return Progress.COLD
                elif mode is SendMode.COPY:
                    self._copy(part)
                    continue
                else:
                    sent = self._write_file(sock, part)
                budget -= sent
        except BlockingIOError:
            return Progress.BLOCKED
        return Progress.DONE

    def _write_memory(self, sock: socket.socket) -> int:
        """Write the bytes at the front together; what precedes a file waits in the kernel for the file's bytes."""
        parts = self._parts
        gathered: list[bytes | bytearray | memoryview] = []
        flags = 0
        for part in islice(parts, _MAX_GATHER):
            if isinstance(part, FileSlice):
                flags = _MSG_MORE
                break
            gathered.append(part)
        sent = sock.sendmsg(gathered, (), flags)
        left = sent
        for part in gathered:
            if left < len(part):
                parts[0] = memoryview(part)[left:]
                break
            left -= len(part)
            parts.popleft()
        return sent

    def _warm(self, part: FileSlice) -> bool:
        """Whether the front of this range may be touched; where not, ``cold_range`` says what to load."""
        warm_bytes = self._warm_bytes
        if warm_bytes > TAIL_BYTES or warm_bytes == part.size:
            return True
        position = part.position + warm_bytes
        size = min(part.size - warm_bytes, MAX_WRITE_BYTES)
        if is_cached(part.file, position, size):
            self._warm_bytes = warm_bytes + size
        elif warm_bytes == 0:
            self.cold_range = FileSlice(part.file, position, size)
            return False
        return True

    def _write_file(self, sock: socket.socket, part: FileSlice) -> int:
        size = min(part.size, self._warm_bytes)
        sent = os.sendfile(sock.fileno(), part.file.fileno(), part.position, size)
        if sent == 0:
            raise EOFError(f"a file ends before {part.position + part.size}, which was promised to a client")
        self._consume(part, sent)
        return sent

    def _copy(self, part: FileSlice) -> None:
        """Put the next piece of a file, as bytes, before the rest of it."""
        size = min(part.size, self._warm_bytes, COPY_BYTES)
        data = part.file.pread(size, part.position)
        if len(data) < size:
            raise EOFError(f"a file ends before {part.position + part.size}, which was promised to a client")
        self._consume(part, size)
        self._parts.appendleft(data)

    def _consume(self, part: FileSlice, size: int) -> None:
        self._warm_bytes -= size
        if size == part.size:
            self._parts.popleft()
            self._warm_bytes = 0
        else:
            self._parts[0] = FileSlice(part.file, part.position + size, part.size - size)


def _size(part: Part) -> int:
    return part.size if isinstance(part, FileSlice) else len(part)
