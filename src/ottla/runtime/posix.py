"""The live file system."""

import errno
import fcntl
import os
import shutil

from ottla.runtime.port import Buffer
from ottla.runtime.shortage import is_shortage

_FULL_FSYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


def _sync(descriptor: int) -> None:
    """Fsync; on macOS also empty the drive's own cache, which its fsync does not.

    The kernel tells of a failed write once, and another try would find nothing wrong: so want of memory is EIO here.
    """
    if descriptor < 0:  # closed; Python would raise ValueError for that, here alone
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    try:
        _sync_all(descriptor)
    except OSError as error:
        if is_shortage(error):
            raise OSError(errno.EIO, f"fsync failed: {error.strerror}") from error
        raise


def _sync_all(descriptor: int) -> None:
    if _FULL_FSYNC is None:
        os.fsync(descriptor)
        return
    try:
        fcntl.fcntl(descriptor, _FULL_FSYNC)
    except OSError:  # network and foreign file systems do not know it
        os.fsync(descriptor)


class PosixFile:
    """A descriptor; see :class:`ottla.runtime.port.File`."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def __repr__(self) -> str:
        return f"PosixFile({self.path!r}, descriptor={self._descriptor})"

    def pread(self, size: int, position: int) -> bytes:
        """Read up to ``size`` bytes; fewer only at the end of the file."""
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        return self._pread_rest(data, size, position)

    def _pread_rest(self, data: bytes, size: int, position: int) -> bytes:
        parts = [data]
        read = len(data)
        while read < size:
            data = os.pread(self._descriptor, size - read, position + read)
            if not data:
                break
            parts.append(data)
            read += len(data)
        return b"".join(parts)

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of ``data``."""
        written = os.pwrite(self._descriptor, data, position)
        if written != len(data):
            self._pwrite_rest(data, written, position)

    def _pwrite_rest(self, data: Buffer, written: int, position: int) -> None:
        with memoryview(data).cast("B") as view:
            while written < view.nbytes:
                written += os.pwrite(self._descriptor, view[written:], position + written)

    def size(self) -> int:
        """The length in bytes, holes and preallocated space included."""
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        """Cut or extend (with zeros) to ``size``."""
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        """Return once contents and length are on the disk."""
        _sync(self._descriptor)

    def fileno(self) -> int:
        """The descriptor, for sendfile."""
        return self._descriptor

    def close(self) -> None:
        """Let go of the file; closing twice is harmless, and every later use raises EBADF."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


class PosixLock:
    """A POSIX record lock over a whole file: the kind that Java takes, so that Apache Kafka respects it, too."""

    __slots__ = ("_descriptor", "_identity")

    held: set[tuple[int, int]] = set()  # noqa: RUF012  POSIX locks belong to the process, so their register does, too
    """Device and inode of what this process has locked. POSIX would grant a process its own lock twice and drop it
    when any descriptor of the file is closed; so a file in here is not even opened."""

    def __init__(self, descriptor: int, identity: tuple[int, int]) -> None:
        self._descriptor = descriptor
        self._identity = identity
        self.held.add(identity)

    def release(self) -> None:
        """Give the lock up; releasing twice is harmless."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            self.held.discard(self._identity)
            os.close(descriptor)


class PosixFiles:
    """The machine's file system; see :class:`ottla.runtime.port.Files`. It has no state and can be pickled."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> PosixFile:
        """Open an existing file, or with ``create`` make it if it is missing."""
        flags = (os.O_RDONLY if read_only else os.O_RDWR) | (os.O_CREAT if create else 0)
        return PosixFile(path, os.open(path, flags, 0o666))

    def list_dir(self, path: str) -> list[str]:
        """The names in a directory, sorted."""
        return sorted(os.listdir(path))

    def exists(self, path: str) -> bool:
        """Whether a file or a directory has this name."""
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        """Whether a directory has this name."""
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        """The length of a file in bytes."""
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        """When the file's contents last changed."""
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Set the time of the last change."""
        modified_ns = modified_ms * 1_000_000
        os.utime(path, ns=(modified_ns, modified_ns))

    def read(self, path: str) -> bytes:
        """The whole file."""
        with open(path, "rb", buffering=0) as file:
            return file.readall()

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory, replacing a file of the target's name."""
        os.replace(source, target)

    def remove(self, path: str) -> None:
        """Remove a file; FileNotFoundError if there is none."""
        os.remove(path)

    def make_dir(self, path: str) -> None:
        """Make a directory and its parents; an existing one is fine."""
        os.makedirs(path, exist_ok=True)

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all in it; a missing one is fine."""
        if os.path.lexists(path):
            shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        """Return once the names in this directory are on the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> PosixLock | None:
        """Lock a file (made if missing) against other processes; None when another, or this one, holds it."""
        while True:
            if os.path.exists(path) and _identity(os.stat(path)) in PosixLock.held:
                return None
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                identity = _identity(os.fstat(descriptor))
                # Its holder may have removed the file between our open and our lock: then we locked nothing.
                if os.path.exists(path) and _identity(os.stat(path)) == identity:
                    return PosixLock(descriptor, identity)
            except (BlockingIOError, PermissionError):  # POSIX leaves open which of the two says "held"
                os.close(descriptor)
                return None
            except OSError:
                os.close(descriptor)
                raise
            os.close(descriptor)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
