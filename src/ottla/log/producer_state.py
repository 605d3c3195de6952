"""The producer state of one partition and its snapshots: :class:`ProducerTable` with its files.

The log appends through the table's ``check`` and ``apply`` (see :mod:`ottla.log.producer_table`), takes a snapshot
whenever it rolls or closes, and after a truncation or at start reloads the last good snapshot and follows the log from
there.
"""

import logging
from collections.abc import Collection

from ottla.common.topic_partition import TopicPartition
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_snapshot import CorruptSnapshotError
from ottla.log.producer_snapshot_files import ProducerSnapshotFiles
from ottla.log.producer_table import ProducerTable
from ottla.runtime.port import Files

logger = logging.getLogger(__name__)


class ProducerStateManager(ProducerTable):
    """The producers of a partition, recoverable: the latest snapshot and the log after it give the table again."""

    def __init__(
        self,
        partition: TopicPartition,
        directory: str,
        files: Files,
        config: ProducerStateManagerConfig | None = None,
    ) -> None:
        super().__init__(partition, config)
        self._snapshots = ProducerSnapshotFiles(files, directory)
        self._last_snap_offset = 0

    # Taking snapshots

    def take_snapshot(self, *, sync: bool = True) -> str | None:
        """Write a snapshot at the end offset and return its path; None if the last one is as good.

        The caller syncs the directory; without ``sync`` he also sees to :meth:`flush_snapshot`, as when the log rolls.
        """
        if self.map_end_offset <= self._last_snap_offset:
            return None
        path = self._snapshots.write(self.map_end_offset, self._producers.values(), sync=sync)
        logger.info(
            "[%s] Wrote producer snapshot at offset %d with %d producer ids.",
            self.partition,
            self.map_end_offset,
            len(self._producers),
        )
        self._last_snap_offset = self.map_end_offset
        return path

    def flush_snapshot(self, offset: int) -> None:
        """Make the contents of a snapshot durable that was taken without ``sync``."""
        self._snapshots.flush(offset)

    # Looking after snapshots

    def latest_snapshot_offset(self) -> int | None:
        """The end offset of the latest snapshot."""
        return self._snapshots.latest

    def oldest_snapshot_offset(self) -> int | None:
        """The end offset of the oldest snapshot."""
        return self._snapshots.oldest

    def snapshot_offsets(self) -> list[int]:
        """The end offsets of all snapshots, ascending."""
        return self._snapshots.offsets

    def fetch_snapshot(self, offset: int) -> str | None:
        """The path of the snapshot at an offset, if there is one."""
        return self._snapshots.path(offset) if offset in self._snapshots else None

    def delete_snapshots_before(self, offset: int) -> None:
        """Delete the snapshots below an offset."""
        self._snapshots.delete(known for known in self._snapshots.offsets if known < offset)

    def remove_stray_snapshots(self, segment_base_offsets: Collection[int]) -> None:
        """Delete the snapshots that belong to no segment, save the one of a clean shutdown at the end of the log."""
        self._snapshots.remove_strays(segment_base_offsets)

    def remove_and_mark_snapshot_for_deletion(self, offset: int) -> str | None:
        """Rename the snapshot at an offset to ``.deleted``, for whoever deletes the segment that it belongs to."""
        return self._snapshots.mark_for_deletion(offset)

    def update_parent_dir(self, directory: str) -> None:
        """Follow the partition's directory to its new name."""
        self._snapshots.update_parent_dir(directory)

    # Truncating and reloading

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Let go of completed transactions below the start of the log; producers stay until they expire."""
        self.on_high_watermark_updated(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        latest = self._snapshots.latest
        self._last_snap_offset = log_start_offset if latest is None else latest

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Cut the state down to a range of the log, by its latest snapshot in that range if the end has changed.

        The caller then follows the log from ``map_end_offset`` on. The new end is at or below the high watermark, so no
        completed transaction awaits replication. What the snapshots do not have (producers whose batches are gone) is
        lost.
        """
        out_of_range = [
            offset for offset in self._snapshots.offsets if offset > log_end_offset or offset <= log_start_offset
        ]
        self._snapshots.delete(out_of_range)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self.clear()
        self._last_snap_offset = self._load_latest_snapshot(now_ms, default_offset=log_start_offset)
        self.map_end_offset = self._last_snap_offset

    def _load_latest_snapshot(self, now_ms: int, *, default_offset: int) -> int:
        """Load the latest snapshot that is intact, delete those that are not, and return its offset."""
        while (offset := self._snapshots.latest) is not None:
            path = self._snapshots.path(offset)
            try:
                logger.info("[%s] Loading producer state from snapshot file '%s'", self.partition, path)
                entries = self._snapshots.read(offset)
            except CorruptSnapshotError as error:
                logger.warning("[%s] Failed to load producer snapshot from '%s': %s", self.partition, path, error)
                self._snapshots.delete([offset])
            else:
                self.load_producer_entries(entries, now_ms)
                return offset
        return default_offset

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything and delete all snapshots: the log begins anew at ``offset``."""
        self.clear()
        self._snapshots.delete(self._snapshots.offsets)
        self._last_snap_offset = 0
        self.map_end_offset = offset

    def truncate_fully_and_reload_snapshots(self) -> None:
        """Forget everything, delete the snapshots that are known, and look for others."""
        logger.info("[%s] Reloading the producer state snapshots", self.partition)
        self.truncate_fully_and_start_at(0)
        self._snapshots.load()
