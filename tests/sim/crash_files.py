"""A file system in memory that loses what was not synced, fails on demand, and knows who synced.

``CrashFiles`` implements ``ottla.runtime.port.Files``. A durability test writes through it, calls ``crash`` and opens
the log again on the same object. ``power_off_after(n)`` stops the code under test in the middle: after n changes of
the disk, the next one and everything that follows raise PowerLoss until ``crash``. ``ignore_sync_at`` turns the syncs
of some source lines into nothing, so that a test can show that each of them is needed.
"""

import copy
import errno
import os
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from random import Random
from typing import NamedTuple

from ottla.runtime.inline import ManualClock
from ottla.runtime.port import Buffer, Clock
from tests.sim.crash_disk import CrashPolicy, DirInode, FileInode, Link, Rename, Truncate, Unlink, Write

__all__ = ["CrashFile", "CrashFiles", "CrashPolicy", "Operation", "PowerLoss", "SyncSite"]

_INLINE_RUNTIME = os.path.join("runtime", "inline.py")
_CHANGES = frozenset(
    {"create", "pwrite", "truncate", "sync", "rename", "remove", "make_dir", "sync_dir", "set_modified_ms"}
)


class PowerLoss(BaseException):
    """The machine is off. Not an Exception: no code under test may survive it."""


class SyncSite(NamedTuple):
    """The source line that called ``File.sync`` or ``Files.sync_dir``."""

    filename: str
    lineno: int
    function: str


class Operation(NamedTuple):
    """One call that reached the disk; ``detail`` is a size, a position or a target."""

    name: str
    path: str
    detail: str = ""


class _Fault:
    def __init__(self, operation: str | None, path: str, times: int | None, skip: int, number: int) -> None:
        self.operation, self.path, self.times, self.skip, self.number = operation, path, times, skip, number

    def strikes(self, operation: Operation) -> bool:
        if self.operation not in (None, operation.name) or not fnmatchcase(operation.path, self.path):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            if not self.times:
                return False
            self.times -= 1
        return True


class CrashLock:
    """A lock that a crash releases."""

    def __init__(self, held: set[str], path: str) -> None:
        self._held, self._path = held, path

    def release(self) -> None:
        self._held.discard(self._path)


class CrashFile:
    """An open file; unusable after a crash."""

    def __init__(self, files: "CrashFiles", path: str, inode: FileInode, read_only: bool) -> None:
        self.path = path
        self._files, self._inode, self._read_only = files, inode, read_only
        self._boot: int | None = files.boot

    def _do(self, name: str, detail: str = "") -> None:
        if self._boot is None:
            raise OSError(errno.EBADF, "closed", self.path)
        if self._boot != self._files.boot:
            raise OSError(errno.EIO, "opened before the crash", self.path)
        if self._read_only and name in ("pwrite", "truncate"):
            raise OSError(errno.EBADF, "opened for reading", self.path)
        self._files.do(Operation(name, self.path, detail))

    def pread(self, size: int, position: int) -> bytes:
        self._do("pread", f"{size}@{position}")
        return bytes(self._inode.content[position : position + size])

    def pwrite(self, data: Buffer, position: int) -> None:
        data = bytes(data)
        self._do("pwrite", f"{len(data)}@{position}")
        self._inode.apply(Write(position, data), self._files.clock.now_ms())

    def size(self) -> int:
        self._do("size")
        return len(self._inode.content)

    def truncate(self, size: int) -> None:
        self._do("truncate", str(size))
        self._inode.apply(Truncate(size), self._files.clock.now_ms())

    def sync(self) -> None:
        ignored = self._files.sync_ignored(_caller())
        self._do("sync", "ignored" if ignored else "")
        if not ignored:
            self._inode.sync()

    def fileno(self) -> int:
        raise OSError(errno.ENOTSUP, "a simulated file has no descriptor", self.path)

    def close(self) -> None:
        self._boot = None


class CrashFiles:
    """The disk. ``boot`` counts crashes; ``journal`` lists the operations; ``sync_sites`` who synced."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock: Clock = clock if clock is not None else ManualClock()
        self.boot = 0
        self.journal: list[Operation] = []
        self.sync_sites: set[SyncSite] = set()
        self._root = DirInode()
        self._locks: set[str] = set()
        self._faults: list[_Fault] = []
        self._changes_left: int | None = None
        self._powered = True
        self._ignore_sync: Callable[[SyncSite], bool] = lambda _: False

    # Faults

    def crash(self, rng: Random, *, policy: CrashPolicy = CrashPolicy.RANDOM) -> None:
        """Lose power and start again: old handles are dead, and the disk holds what ``policy`` left of it."""
        self._root.crash(rng, policy)
        self.boot += 1
        self._locks.clear()
        self._changes_left = None
        self._powered = True

    def crashed_copy(self, rng: Random, *, policy: CrashPolicy = CrashPolicy.RANDOM) -> "CrashFiles":
        """The disk as a crash now would leave it, while this one goes on: one run can be looked at in many ways."""
        other = CrashFiles(self.clock)
        other._root = copy.deepcopy(self._root)
        other.crash(rng, policy=policy)
        return other

    def power_off_after(self, changes: int) -> None:
        """Let this many changes happen; the next one and all operations after it raise PowerLoss until ``crash``."""
        self._changes_left = changes

    def fail_next(
        self,
        operation: str | None = None,
        path: str = "*",
        *,
        times: int | None = 1,
        skip: int = 0,
        number: int = errno.EIO,
    ) -> None:
        """Let the next ``times`` operations of this name on paths like this raise OSError, after ``skip`` good ones.

        ``operation`` None means any; ``path`` is a shell pattern; ``times`` None means until ``heal``.
        """
        self._faults.append(_Fault(operation, path, times, skip, number))

    def heal(self) -> None:
        """Take back all faults."""
        self._faults.clear()

    def ignore_sync_at(self, predicate: Callable[[SyncSite], bool]) -> None:
        """From now on do nothing for a sync that comes from such a line."""
        self._ignore_sync = predicate

    def sync_all(self) -> None:
        """Make everything durable: the set-up of a test."""
        self._root.sync_all()

    def sync_ignored(self, site: SyncSite) -> bool:
        self.sync_sites.add(site)
        return self._ignore_sync(site)

    def do(self, operation: Operation) -> None:
        """Account for an operation, or raise what was asked for instead."""
        if self._changes_left is not None and operation.name in _CHANGES:
            self._powered = self._changes_left > 0
            self._changes_left = max(0, self._changes_left - 1)
        if not self._powered:
            raise PowerLoss(f"the power is off, in {operation.name} of {operation.path}")
        for fault in self._faults:
            if fault.strikes(operation):
                raise OSError(fault.number, f"injected failure of {operation.name}", operation.path)
        self.journal.append(operation)

    # The port

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> CrashFile:
        inode = self._find(path)
        if inode is None and create:
            parent, name = self._parent(path)
            self.do(Operation("create", path))
            inode = FileInode(self.clock.now_ms())
            parent.apply(Link(name, inode))
        else:
            self.do(Operation("open", path))
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if isinstance(inode, DirInode):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return CrashFile(self, path, inode, read_only)

    def list_dir(self, path: str) -> list[str]:
        self.do(Operation("list_dir", path))
        return sorted(self._dir(path).entries)

    def exists(self, path: str) -> bool:
        self.do(Operation("exists", path))
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        self.do(Operation("is_dir", path))
        return isinstance(self._find(path), DirInode)

    def size(self, path: str) -> int:
        self.do(Operation("size", path))
        return len(self._file(path).content)

    def modified_ms(self, path: str) -> int:
        self.do(Operation("modified_ms", path))
        return self._file(path).modified_ms

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self.do(Operation("set_modified_ms", path, str(modified_ms)))
        self._file(path).modified_ms = modified_ms

    def read(self, path: str) -> bytes:
        self.do(Operation("read", path))
        return bytes(self._file(path).content)

    def rename(self, source: str, target: str) -> None:
        (parent, name), (target_parent, target_name) = self._parent(source), self._parent(target)
        if parent is not target_parent:
            raise OSError(errno.EXDEV, "each simulated directory keeps its own order of changes", source)
        moved, replaced = parent.entries.get(name), parent.entries.get(target_name)
        self.do(Operation("rename", source, target))
        if moved is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", source)
        if replaced is not None and (isinstance(replaced, DirInode) or isinstance(moved, DirInode)):
            raise OSError(errno.ENOTEMPTY, "the target exists", target)
        if name != target_name:
            parent.apply(Rename(name, target_name))

    def remove(self, path: str) -> None:
        self.do(Operation("remove", path))
        self._file(path)
        parent, name = self._parent(path)
        parent.apply(Unlink(name))

    def make_dir(self, path: str) -> None:
        directory, walked = self._root, ""
        for name in _names(path):
            walked += "/" + name
            inode = directory.entries.get(name)
            if inode is None:
                self.do(Operation("make_dir", walked))
                inode = DirInode()
                directory.apply(Link(name, inode))
            if not isinstance(inode, DirInode):
                raise FileExistsError(errno.EEXIST, "is a file", walked)
            directory = inode

    def remove_tree(self, path: str) -> None:
        if self._find(path) is None:
            return
        directory = self._dir(path)
        for name in sorted(directory.entries):
            if isinstance(directory.entries[name], DirInode):
                self.remove_tree(f"{path}/{name}")
            else:
                self.remove(f"{path}/{name}")
        self.do(Operation("remove", path))
        parent, name = self._parent(path)
        parent.apply(Unlink(name))

    def sync_dir(self, path: str) -> None:
        ignored = self.sync_ignored(_caller())
        directory = self._dir(path)
        self.do(Operation("sync_dir", path, "ignored" if ignored else ""))
        if not ignored:
            directory.sync()

    def lock(self, path: str) -> CrashLock | None:
        if path in self._locks:
            return None
        self.open(path, create=True).close()
        self._locks.add(path)
        return CrashLock(self._locks, path)

    def _find(self, path: str) -> FileInode | DirInode | None:
        inode: FileInode | DirInode | None = self._root
        for name in _names(path):
            if not isinstance(inode, DirInode):
                return None
            inode = inode.entries.get(name)
        return inode

    def _file(self, path: str) -> FileInode:
        inode = self._find(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if isinstance(inode, DirInode):
            raise IsADirectoryError(errno.EISDIR, "is a directory", path)
        return inode

    def _dir(self, path: str) -> DirInode:
        inode = self._find(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        if not isinstance(inode, DirInode):
            raise NotADirectoryError(errno.ENOTDIR, "is a file", path)
        return inode

    def _parent(self, path: str) -> tuple[DirInode, str]:
        *parents, name = _names(path)
        return self._dir("/".join(parents)), name


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _caller() -> SyncSite:
    """Who called the method that calls this; an InlineRuntime in between stands for whoever awaits it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.endswith(_INLINE_RUNTIME):
        frame = frame.f_back
    return SyncSite(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
