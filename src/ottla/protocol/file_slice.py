"""A range of a file that goes to a socket as it is."""

from typing import NamedTuple, Protocol


class ReadableFile(Protocol):
    """What a slice needs of its file: a descriptor for sendfile, and positional reads for every other way out."""

    path: str
    """Where it was opened, for whoever must say that it cannot be read."""

    def fileno(self) -> int:
        """The descriptor."""

    def pread(self, size: int, position: int) -> bytes:
        """Read up to ``size`` bytes."""


class FileSlice(NamedTuple):
    """``size`` bytes of ``file`` from ``position`` on; nothing is read until somebody sends it."""

    file: ReadableFile
    position: int
    size: int

    def read(self) -> bytes:
        """The bytes themselves, for TLS, tests and tools."""
        return self.file.pread(self.size, self.position)


Records = bytes | bytearray | memoryview | FileSlice
"""What a ``records`` field may hold."""
