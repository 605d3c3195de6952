"""The file of an index, open only while something happens to it: a broker has three for each of its segments.

Closed → held → closed. Every change opens the file and closes it again. Only ``begin_sync`` keeps it open, until
``end_sync``: the sync in between runs in a thread, and opens nothing. All else is called on the reactor.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.runtime.port import Buffer, File, Files


class IndexFile:
    """See the module. A file that is missing is made by the first change."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self._files = files
        self._file: File | None = None
        self._holders = 0
        self._is_syncing = False
        self._changes = 0
        self._synced_changes = 0

    def read(self) -> bytes | None:
        """The whole file; None if it is missing."""
        try:
            return self._files.read(self.path)
        except FileNotFoundError:
            return None

    def read_tail(self, entry_bytes: int, count: int) -> bytes:
        """The last ``count`` whole entries; nothing if the file is missing."""
        try:
            file = self._files.open(self.path, read_only=True)
        except FileNotFoundError:
            return b""
        try:
            end = file.size() // entry_bytes * entry_bytes
            start = max(end - count * entry_bytes, 0)
            return file.pread(end - start, start)
        finally:
            file.close()

    def exists(self) -> bool:
        """Whether there is a file."""
        return self._files.exists(self.path)

    def size(self) -> int:
        """Its length in bytes."""
        return self._files.size(self.path)

    def write(self, data: Buffer, position: int) -> None:
        """Write; durable after the next sync."""
        with self.held() as file:
            self._changes += 1
            file.pwrite(data, position)

    def truncate(self, size: int) -> None:
        """Cut to ``size``; durable after the next sync."""
        with self.held() as file:
            self._changes += 1
            file.truncate(size)

    @contextmanager
    def held(self) -> Iterator[File]:
        """Keep the file open: no change in between fails for want of a descriptor."""
        if self._file is None:
            self._file = self._files.open(self.path, create=True)
        file = self._file
        self._holders += 1
        try:
            yield file
        finally:
            self._holders -= 1
            if not self._holders and not self._is_syncing:
                self._close()

    def begin_sync(self) -> None:
        """Open the file if a change is not durable yet."""
        if self._changes != self._synced_changes and not self._is_syncing:
            if self._file is None:
                self._file = self._files.open(self.path, create=True)
            self._is_syncing = True

    def sync(self) -> None:
        """Make the changes durable that came before; between ``begin_sync`` and ``end_sync``, in any thread."""
        file, changes = self._file, self._changes
        if self._is_syncing and file is not None:
            file.sync()
            self._synced_changes = changes

    def end_sync(self) -> None:
        """Close the file; a change since the sync waits for the next one."""
        if self._is_syncing:
            self._is_syncing = False
            if not self._holders:
                self._close()

    def close(self) -> None:
        """Let go at once, a sync that is under way included: nobody wants the file any more."""
        self._is_syncing = False
        self._synced_changes = self._changes
        self._close()

    def rename(self, path: str) -> None:
        """Give the file another name; a missing one stays missing."""
        if self._files.exists(self.path):
            self._files.rename(self.path, path)
        self.path = path

    def remove(self) -> None:
        """Delete the file, if it is there."""
        self.close()
        if self._files.exists(self.path):
            self._files.remove(self.path)

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
