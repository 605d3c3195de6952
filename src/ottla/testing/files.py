"""The machine's file system, for a broker that ends with its test: what it holds open can be let go of all at once."""

from weakref import WeakSet

from ottla.runtime.posix import PosixFile, PosixFiles, PosixLock


class BrokerFile(PosixFile):
    """A file that waits for the disk only if it is asked to keep its contents."""

    __slots__ = ("__weakref__", "_is_durable")

    def __init__(self, path: str, descriptor: int, is_durable: bool) -> None:
        super().__init__(path, descriptor)
        self._is_durable = is_durable

    def sync(self) -> None:
        """Return once contents and length are on the disk, or at once; a closed file is an error in any case."""
        if self._is_durable:
            super().sync()
        else:
            self.size()


class BrokerFiles(PosixFiles):
    """Files that are known while they are open.

    Without ``is_durable`` nothing waits for the disk: what was written outlives this process, but not the machine. A
    worker process gets the machine's own file system.
    """

    __slots__ = ("_files", "_is_durable", "_locks")

    def __init__(self, *, is_durable: bool) -> None:
        self._is_durable = is_durable
        self._files: WeakSet[BrokerFile] = WeakSet()
        self._locks: list[PosixLock] = []

    def __reduce__(self) -> tuple[type[PosixFiles], tuple[()]]:
        return PosixFiles, ()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> BrokerFile:
        """Open an existing file, or with ``create`` make it if it is missing."""
        descriptor = super().open(path, create=create, read_only=read_only).fileno()
        file = BrokerFile(path, descriptor, self._is_durable)
        self._files.add(file)
        return file

    def sync_dir(self, path: str) -> None:
        """Return once the names in this directory are on the disk, or at once."""
        if self._is_durable:
            super().sync_dir(path)

    def lock(self, path: str) -> PosixLock | None:
        """Lock a file against other processes."""
        lock = super().lock(path)
        if lock is not None:
            self._locks.append(lock)
        return lock

    def abandon(self) -> None:
        """Close every file and give up every lock, as the end of a process does."""
        for file in list(self._files):
            file.close()
        for lock in self._locks:
            lock.release()
        self._locks.clear()
