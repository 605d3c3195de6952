"""Which leader epoch began at which offset: the history by which replicas find where they diverged."""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from typing import Final, NamedTuple

from ottla.log.checkpoints import (
    MalformedCheckpointError,
    format_checkpoint,
    parse_checkpoint,
    parse_int,
    parse_long,
)
from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
UNDEFINED_EPOCH: Final = -1
UNDEFINED_EPOCH_OFFSET: Final = -1

_logger = logging.getLogger(__name__)
_epoch_of = attrgetter("epoch")
_start_offset_of = attrgetter("start_offset")


class EpochEntry(NamedTuple):
    """The epoch of a leader and the first offset that it wrote."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one log in memory. Epochs and their start offsets both increase strictly from entry to entry."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._entries: list[EpochEntry] = []
        for entry in entries:
            self._assign(entry)

    def __bool__(self) -> bool:
        return bool(self._entries)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """All entries, oldest first."""
        return tuple(self._entries)

    @property
    def latest_entry(self) -> EpochEntry | None:
        """The entry of the epoch that is being written."""
        return self._entries[-1] if self._entries else None

    @property
    def latest_epoch(self) -> int | None:
        """The epoch that is being written."""
        return self._entries[-1].epoch if self._entries else None

    @property
    def earliest_entry(self) -> EpochEntry | None:
        """The oldest entry."""
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Let ``epoch`` begin at ``start_offset``; returns whether that changed anything.

        An epoch keeps its start, unless it turns out to have begun earlier. Entries that contradict the new one (a
        higher epoch, or a start at or after its own) give way to it.
        """
        entries = self._entries
        if entries:
            latest = entries[-1]
            if latest.epoch == epoch and latest.start_offset <= start_offset:
                return False
        return self._assign(EpochEntry(epoch, start_offset))

    def _assign(self, entry: EpochEntry) -> bool:
        if entry.epoch < 0 or entry.start_offset < 0:
            raise ValueError(f"{entry} is no leader epoch")
        entries = self._entries
        if entries and entries[-1].epoch == entry.epoch and entries[-1].start_offset <= entry.start_offset:
            return False
        keep = len(entries)
        while keep and (entries[keep - 1].epoch >= entry.epoch or entries[keep - 1].start_offset >= entry.start_offset):
            keep -= 1
        conflicting = entries[keep:]
        entries[keep:] = [entry]
        # A leader that wrote nothing leaves an entry which the next one replaces at the same offset: nothing to report.
        if len(conflicting) > 1 or (conflicting and conflicting[0].start_offset != entry.start_offset):
            _logger.warning(
                "New epoch entry %s caused truncation of conflicting entries %s. Cache now contains %d entries.",
                entry,
                conflicting,
                len(entries),
            )
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest epoch up to ``epoch`` and where it ended.

        The latest epoch ends at the log's end. An epoch before all others ends where the first begins. An epoch that
        is undefined or after all others gives (-1, -1).
        """
        entries = self._entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        if epoch == entries[-1].epoch:
            return epoch, log_end_offset
        higher = bisect_right(entries, epoch, key=_epoch_of)
        found = entries[higher - 1].epoch if higher else epoch
        return found, entries[higher].start_offset

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch in which ``offset`` was written, None before the first entry."""
        position = bisect_right(self._entries, offset, key=_start_offset_of)
        return self._entries[position - 1].epoch if position else None

    def entry(self, epoch: int) -> EpochEntry | None:
        """The entry of exactly this epoch."""
        position = bisect_left(self._entries, epoch, key=_epoch_of)
        if position < len(self._entries) and self._entries[position].epoch == epoch:
            return self._entries[position]
        return None

    def previous_entry(self, epoch: int) -> EpochEntry | None:
        """The entry of the largest epoch below this one."""
        position = bisect_left(self._entries, epoch, key=_epoch_of)
        return self._entries[position - 1] if position else None

    def previous_epoch(self, epoch: int) -> int | None:
        """The largest epoch below this one."""
        entry = self.previous_entry(epoch)
        return entry.epoch if entry is not None else None

    def next_epoch(self, epoch: int) -> int | None:
        """The smallest epoch above this one."""
        position = bisect_right(self._entries, epoch, key=_epoch_of)
        return self._entries[position].epoch if position < len(self._entries) else None

    def entries_in_range(self, start_offset: int, end_offset: int) -> tuple[EpochEntry, ...]:
        """The epochs of the offsets from ``start_offset`` (the first entry is moved there) up to ``end_offset``."""
        part = LeaderEpochs()
        part._entries = list(self._entries)
        if start_offset >= 0:
            part.truncate_from_start(start_offset)
        part.truncate_from_end(end_offset)
        return part.entries

    def truncate_from_end(self, end_offset: int) -> bool:
        """Drop the epochs that began at or after ``end_offset``; returns whether that changed anything."""
        entries = self._entries
        if end_offset < 0 or not entries or entries[-1].start_offset < end_offset:
            return False
        del entries[bisect_left(entries, end_offset, key=_start_offset_of) :]
        return True

    def truncate_from_start(self, start_offset: int) -> bool:
        """Drop the epochs that ended before ``start_offset`` and let the one in which it lies begin there.

        Returns whether that changed anything.
        """
        entries = self._entries
        passed = bisect_right(entries, start_offset, key=_start_offset_of)
        if not passed or (passed == 1 and entries[0].start_offset == start_offset):
            return False
        entries[:passed] = [EpochEntry(entries[passed - 1].epoch, start_offset)]
        return True

    def clear(self) -> None:
        """Forget all epochs."""
        self._entries.clear()


class LeaderEpochCache(LeaderEpochs):
    """The epochs of one log with their file.

    A new epoch is on the disk when ``assign`` returns, so the file never lacks one. Truncations stay in memory until
    the next assignment or ``flush``, because an entry too many is harmless: whoever opens the log truncates again to
    what it holds. A write without a sync would not be harmless: after a crash the file could be empty.
    """

    __slots__ = ("_dirty", "_files", "damaged", "path")

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path
        self._dirty = False
        self.damaged = False
        """Whether the file could not be read; its owner assigns the epochs again from the batches."""
        entries: list[EpochEntry] = []
        if files.exists(path):
            try:
                entries = parse_checkpoint(files.read(path), path, _epoch_entry)
            except MalformedCheckpointError as error:
                _logger.warning("Ignoring a damaged checkpoint; leader epochs are read from the log again. %s", error)
                self.damaged = self._dirty = True
        super().__init__(entries)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """As in LeaderEpochs, and durable on return."""
        changed = super().assign(epoch, start_offset)
        if changed or self._dirty:  # an epoch that could not be written yet is known, but not durable
            self._write()
        return changed

    def assign_all(self, entries: Iterable[EpochEntry]) -> None:
        """Assign several, with one write."""
        changed = [entry for entry in entries if self._assign(entry)]
        if changed:
            self._write()

    def truncate_from_end(self, end_offset: int) -> bool:
        """As in LeaderEpochs; on the disk after ``flush``."""
        changed = super().truncate_from_end(end_offset)
        self._dirty |= changed
        return changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """As in LeaderEpochs; on the disk after ``flush``."""
        changed = super().truncate_from_start(start_offset)
        self._dirty |= changed
        return changed

    def clear(self) -> None:
        """Forget all epochs; on the disk after ``flush``."""
        self._dirty |= bool(self._entries)
        super().clear()

    def flush(self) -> None:
        """Write what changed since the last write, durably. Only the owner of the log calls this, never a thread."""
        if self._dirty:
            self._write()

    def move_to(self, path: str) -> None:
        """Follow the file, whose directory was renamed."""
        self.path = path

    def _write(self) -> None:
        self._dirty = True
        lines = (f"{epoch} {start_offset}" for epoch, start_offset in self._entries)
        write_atomically(self._files, self.path, format_checkpoint(lines))
        self._dirty = False


def _epoch_entry(words: list[str]) -> EpochEntry:
    epoch, start_offset = words
    return EpochEntry(parse_int(epoch), parse_long(start_offset))
