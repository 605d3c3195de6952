"""What a disk remembers: inodes with a volatile and a durable state, and what a power loss makes of the difference.

A file's unsynced writes may reach the disk whole, torn at sectors, in any order, or not at all; its length may get
there without its data, which then reads as zeros. The unsynced changes of one directory reach the disk in their order,
up to some point, as ext4 and XFS have it (or in any order, as POSIX allows, if asked for); different directories and
files know nothing of each other.
"""

from collections.abc import Iterator
from enum import Enum, auto
from random import Random
from typing import NamedTuple

SECTOR_BYTES = 512


class CrashPolicy(Enum):
    """How unkind a power loss is."""

    DROP_UNSYNCED = auto()
    """Only what was synced is left."""
    KEEP_ALL = auto()
    """The process died, the machine did not."""
    RANDOM = auto()
    """Each file and each directory gets its own draw of everything that can happen."""
    REORDERED = auto()
    """As RANDOM, and the changes of a directory may overtake each other if they concern different names."""


class Write(NamedTuple):
    """An unsynced write."""

    position: int
    data: bytes


class Truncate(NamedTuple):
    """An unsynced change of length."""

    size: int


class FileInode:
    """A file without a name."""

    def __init__(self, now_ms: int) -> None:
        self.content = bytearray()
        self.modified_ms = now_ms
        self.durable_content = b""
        self.durable_modified_ms = now_ms
        self.pending: list[Write | Truncate] = []

    def apply(self, change: Write | Truncate, now_ms: int) -> None:
        _apply(self.content, change)
        self.pending.append(change)
        self.modified_ms = now_ms

    def sync(self) -> None:
        if self.pending:
            self.durable_content = bytes(self.content)
            self.pending.clear()
        self.durable_modified_ms = self.modified_ms

    def crash(self, rng: Random, policy: CrashPolicy) -> None:
        if policy is not CrashPolicy.KEEP_ALL:
            if policy is not CrashPolicy.DROP_UNSYNCED and self.pending:
                self.content = rng.choice((self._dropped, self._kept, self._prefix, self._sectors))(rng)
            else:
                self.content = bytearray(self.durable_content)
                self.modified_ms = self.durable_modified_ms
        # What a start finds on the disk stays there.
        self.durable_content = bytes(self.content)
        self.durable_modified_ms = self.modified_ms
        self.pending.clear()

    def _dropped(self, rng: Random) -> bytearray:
        return bytearray(self.durable_content)

    def _kept(self, rng: Random) -> bytearray:
        return self.content

    def _prefix(self, rng: Random) -> bytearray:
        """The first changes, and of the next one, if it is a write, the first sectors."""
        content = bytearray(self.durable_content)
        kept = rng.randrange(len(self.pending))
        for change in self.pending[:kept]:
            _apply(content, change)
        torn = self.pending[kept]
        if isinstance(torn, Write):
            sectors = list(_sectors(torn))
            for sector in sectors[: rng.randint(0, len(sectors))]:
                _apply(content, sector)
        return content

    def _sectors(self, rng: Random) -> bytearray:
        """Any sectors of any writes; perhaps the final length without the data."""
        content = bytearray(self.durable_content)
        for change in self.pending:
            for part in _sectors(change) if isinstance(change, Write) else (change,):
                if rng.getrandbits(1):
                    _apply(content, part)
        if rng.getrandbits(1):
            _apply(content, Truncate(len(self.content)))
        return content


def _apply(content: bytearray, change: Write | Truncate) -> None:
    if isinstance(change, Write):
        if len(content) < change.position:
            content.extend(bytes(change.position - len(content)))
        content[change.position : change.position + len(change.data)] = change.data
    elif change.size <= len(content):
        del content[change.size :]
    else:
        content.extend(bytes(change.size - len(content)))


def _sectors(write: Write) -> Iterator[Write]:
    """A write in pieces that end at sector boundaries of the file."""
    start, end = write.position, write.position + len(write.data)
    while start < end:
        stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        yield Write(start, write.data[start - write.position : stop - write.position])
        start = stop


class Link(NamedTuple):
    """An unsynced new name."""

    name: str
    inode: "FileInode | DirInode"


class Unlink(NamedTuple):
    """An unsynced removal."""

    name: str


class Rename(NamedTuple):
    """An unsynced rename; it happens whole or not at all."""

    source: str
    target: str


class DirInode:
    """A directory without a name."""

    def __init__(self) -> None:
        self.entries: dict[str, FileInode | DirInode] = {}
        self.durable_entries: dict[str, FileInode | DirInode] = {}
        self.pending: list[Link | Unlink | Rename] = []

    def apply(self, change: Link | Unlink | Rename) -> None:
        _apply_names(self.entries, change)
        self.pending.append(change)

    def sync(self) -> None:
        self.durable_entries = dict(self.entries)
        self.pending.clear()

    def crash(self, rng: Random, policy: CrashPolicy) -> None:
        """Settle this directory and all below it."""
        for change in self._kept(rng, policy):
            _apply_names(self.durable_entries, change)
        self.pending.clear()
        self.entries = dict(self.durable_entries)
        for name in sorted(self.entries):
            self.entries[name].crash(rng, policy)

    def _kept(self, rng: Random, policy: CrashPolicy) -> "list[Link | Unlink | Rename]":
        if policy is CrashPolicy.DROP_UNSYNCED:
            return []
        if policy is CrashPolicy.KEEP_ALL:
            return self.pending
        if policy is CrashPolicy.RANDOM:
            return self.pending[: rng.randint(0, len(self.pending))]
        kept: list[Link | Unlink | Rename] = []
        lost: set[str] = set()
        for change in self.pending:
            concerned = {change.source, change.target} if isinstance(change, Rename) else {change.name}
            if concerned & lost or rng.getrandbits(1):
                lost |= concerned
            else:
                kept.append(change)
        return kept

    def sync_all(self) -> None:
        self.sync()
        for inode in self.entries.values():
            if isinstance(inode, DirInode):
                inode.sync_all()
            else:
                inode.sync()


def _apply_names(entries: dict[str, FileInode | DirInode], change: Link | Unlink | Rename) -> None:
    if isinstance(change, Link):
        entries[change.name] = change.inode
    elif isinstance(change, Unlink):
        del entries[change.name]
    else:
        entries[change.target] = entries.pop(change.source)
