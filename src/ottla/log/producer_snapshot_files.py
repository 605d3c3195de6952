"""The ``.snapshot`` files of one partition's directory.

A snapshot at an offset holds the producers as all batches below that offset have left them. It is written in place: a
snapshot that a crash has cut fails its CRC and is passed over for the one before.
"""

import logging
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable

from ottla.log import names
from ottla.log.producer_entry import ProducerEntry
from ottla.log.producer_snapshot import decode_snapshot, encode_snapshot
from ottla.runtime.port import Files

logger = logging.getLogger(__name__)


class ProducerSnapshotFiles:
    """Which snapshots there are, by ascending offset, and the operations on their files."""

    def __init__(self, files: Files, directory: str) -> None:
        self._files = files
        self._directory = directory
        self._offsets: list[int] = []
        self.load()

    @property
    def offsets(self) -> list[int]:
        """The offsets of all snapshots, ascending; a copy."""
        return self._offsets.copy()

    @property
    def oldest(self) -> int | None:
        """The offset of the oldest snapshot."""
        return self._offsets[0] if self._offsets else None

    @property
    def latest(self) -> int | None:
        """The offset of the latest snapshot."""
        return self._offsets[-1] if self._offsets else None

    def __contains__(self, offset: int) -> bool:
        index = bisect_left(self._offsets, offset)
        return index < len(self._offsets) and self._offsets[index] == offset

    def path(self, offset: int, suffix: str = "") -> str:
        """Where the snapshot at an offset is, or would be."""
        return f"{self._directory}/{names.producer_snapshot_file_name(offset, suffix)}"

    def load(self) -> None:
        """Learn anew from the directory which snapshots there are."""
        if not self._files.is_dir(self._directory):
            self._offsets = []
            return
        self._offsets = sorted(
            names.offset_from_file_name(name)
            for name in self._files.list_dir(self._directory)
            if names.is_producer_snapshot_file(name) and not self._files.is_dir(f"{self._directory}/{name}")
        )

    def update_parent_dir(self, directory: str) -> None:
        """Follow the directory to its new name."""
        self._directory = directory

    def read(self, offset: int) -> list[ProducerEntry]:
        """The producers in a snapshot; CorruptSnapshotError when it is damaged."""
        return decode_snapshot(self._files.read(self.path(offset)))

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> str:
        """Write a snapshot and return its path; with ``sync`` its contents are durable, its name not yet."""
        path = self.path(offset)
        data = encode_snapshot(entries)
        file = self._files.open(path, create=True)
        try:
            file.truncate(0)
            file.pwrite(data, 0)
            if sync:
                file.sync()
        finally:
            file.close()
        if offset not in self:
            insort(self._offsets, offset)
        return path

    def flush(self, offset: int) -> None:
        """Make a snapshot's contents durable; one that has been deleted since it was written needs nothing."""
        try:
            file = self._files.open(self.path(offset), read_only=True)
        except FileNotFoundError:
            logger.warning("Failed to flush producer snapshot %s because it does not exist", self.path(offset))
            return
        try:
            file.sync()
        finally:
            file.close()

    def delete(self, offsets: Iterable[int]) -> None:
        """Delete these of the snapshots, if they are there.

        One that a crash brings back does no harm: recovery passes over the snapshots of what it scans.
        """
        for offset in sorted(set(offsets) & set(self._offsets)):
            self._offsets.remove(offset)
            try:
                self._files.remove(self.path(offset))
                logger.info("Deleted producer state snapshot %s", self.path(offset))
            except FileNotFoundError:
                logger.info("Failed to delete producer state snapshot %s because it does not exist.", self.path(offset))

    def mark_for_deletion(self, offset: int) -> str | None:
        """Rename a snapshot to ``.deleted`` and forget it; its new path, or None if there was nothing to rename."""
        if offset not in self:
            return None
        self._offsets.remove(offset)
        renamed = self.path(offset, names.DELETED_SUFFIX)
        try:
            self._files.rename(self.path(offset), renamed)
        except FileNotFoundError:
            logger.info(
                "Failed to rename producer state snapshot %s with deletion suffix because it was already deleted",
                self.path(offset),
            )
            return None
        return renamed

    def remove_strays(self, segment_base_offsets: Collection[int]) -> None:
        """Delete snapshots without a segment, all but the last if it lies beyond the segments.

        That one a clean shutdown has written at the end of the log.
        """
        self.load()
        strays = sorted(set(self._offsets) - set(segment_base_offsets))
        if strays and (not segment_base_offsets or strays[-1] >= max(segment_base_offsets)):
            strays.pop()
        self.delete(strays)
