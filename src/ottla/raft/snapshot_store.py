"""The snapshots of the metadata log that are on the disk."""

import logging
from collections.abc import Callable, Sequence
from functools import partial

from ottla.common.errors import KafkaStorageError
from ottla.log.log_context import LogContext
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.snapshot_names import DELETED_SUFFIX, parse_snapshot_name, snapshot_file_name
from ottla.raft.snapshot_reader import RawSnapshot, last_contained_log_timestamp
from ottla.runtime.port import Files

logger = logging.getLogger(__name__)


def latest_snapshot_id(files: Files, directory: str) -> OffsetAndEpoch | None:
    """The latest complete snapshot in a directory, which need not exist."""
    if not files.is_dir(directory):
        return None
    found = [parsed for name in files.list_dir(directory) if (parsed := parse_snapshot_name(name)) is not None]
    ids = [parsed.snapshot_id for parsed in found if not parsed.is_partial and not parsed.is_deleted]
    return max(ids, key=lambda snapshot_id: snapshot_id.sort_key, default=None)


class SnapshotStore:
    """Complete snapshots, oldest first. Deleting one renames it; its file goes after a delay."""

    def __init__(self, context: LogContext, directory: str, delete_delay_ms: int) -> None:
        self._context = context
        self._files = context.runtime.files
        self._directory = directory
        self._delete_delay_ms = delete_delay_ms
        self._ids: list[OffsetAndEpoch] = []
        self._timestamps: dict[OffsetAndEpoch, int] = {}

    def recover(self, log_start_offset: int) -> None:
        """Find the snapshots; drop the unfinished, the deleted and those below the start of the log.

        KafkaStorageError if the log does not begin at 0 and no snapshot holds what came before it.
        """
        unneeded = []
        for name in self._files.list_dir(self._directory):
            parsed = parse_snapshot_name(name)
            if parsed is None:
                continue
            if parsed.is_partial or parsed.is_deleted or parsed.snapshot_id.offset < log_start_offset:
                unneeded.append(name)
            else:
                self.add(parsed.snapshot_id)
        if log_start_offset > 0 and self.latest_id is None:
            raise KafkaStorageError(
                f"Inconsistent snapshot state in {self._directory}: there must be a snapshot at an offset larger than "
                f"the current log start offset {log_start_offset}, but there is none"
            )
        for name in unneeded:
            self._files.remove(f"{self._directory}/{name}")
            logger.info("Deleted unneeded snapshot file %s/%s", self._directory, name)
        logger.info("Initialized snapshots with IDs %s from %s", self._ids, self._directory)

    def __contains__(self, snapshot_id: OffsetAndEpoch) -> bool:
        return snapshot_id in self._ids

    @property
    def ids(self) -> Sequence[OffsetAndEpoch]:
        """All ids, oldest first."""
        return tuple(self._ids)

    @property
    def latest_id(self) -> OffsetAndEpoch | None:
        """The latest snapshot."""
        return self._ids[-1] if self._ids else None

    @property
    def earliest_id(self) -> OffsetAndEpoch | None:
        """The oldest snapshot."""
        return self._ids[0] if self._ids else None

    def add(self, snapshot_id: OffsetAndEpoch) -> None:
        """A snapshot has been completed."""
        self._ids.append(snapshot_id)
        self._ids.sort(key=lambda known: known.sort_key)

    def path(self, snapshot_id: OffsetAndEpoch) -> str:
        """Where its file lies."""
        return f"{self._directory}/{snapshot_file_name(snapshot_id)}"

    def size_bytes(self, snapshot_id: OffsetAndEpoch) -> int:
        """The length of its file."""
        return self._files.size(self.path(snapshot_id))

    def timestamp_ms(self, snapshot_id: OffsetAndEpoch) -> int:
        """When the last batch that it covers was appended; read once."""
        if snapshot_id not in self._timestamps:
            raw = RawSnapshot(self._files, self.path(snapshot_id))
            self._timestamps[snapshot_id] = last_contained_log_timestamp(raw)
        return self._timestamps[snapshot_id]

    def forget_before(self, snapshot_id: OffsetAndEpoch, reason: Callable[[OffsetAndEpoch], str]) -> int:
        """Mark all older snapshots for deletion; returns how many."""
        gone = [known for known in self._ids if known.sort_key < snapshot_id.sort_key]
        for known in gone:
            logger.info("Marking snapshot %s for deletion because %s", known, reason(known))
            deleted = f"{self._directory}/{snapshot_file_name(known, DELETED_SUFFIX)}"
            self._files.rename(self.path(known), deleted)
            self._ids.remove(known)
            self._timestamps.pop(known, None)
            self._context.deletions.schedule(self._delete_delay_ms, deleted, partial(self._files.remove, deleted))
        return len(gone)
