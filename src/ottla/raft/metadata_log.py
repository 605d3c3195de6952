"""``__cluster_metadata-0``: a log of the log room, cut at the front by snapshots instead of by age.

Raft loads and closes it, not the log manager, which passes its directory by. There is no checkpoint of how far it was
flushed, and none is needed: a snapshot is taken of committed records only, and what is committed is on the disk. So
recovery begins at the latest snapshot, whatever kind of stop came before; and so does a segment, where possible.
"""

import logging
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Final

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import METADATA_TOPIC_ID
from ottla.log.data_directory import METADATA_TOPIC
from ottla.log.loader import loading
from ottla.log.log import FetchIsolation, Log
from ottla.log.log_context import LogContext
from ottla.protocol.file_slice import FileSlice
from ottla.raft.config import MetadataLogConfig
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.snapshot_store import SnapshotStore, latest_snapshot_id
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import Buffer
from ottla.runtime.open_files import RAISE_THE_LIMIT
from ottla.runtime.port import Runtime
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)

METADATA_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)

_NO_EPOCH: Final = 0


class MetadataLog:
    """The log with its snapshots. KafkaStorageError when the disk fails, which ``on_disk_failure`` hears of, too."""

    def __init__(self, log: Log, snapshots: SnapshotStore, config: MetadataLogConfig) -> None:
        self.log = log
        self.snapshots = snapshots
        self._config = config
        self._context = log.context
        self._clock = log.context.runtime.clock

    @classmethod
    async def load(
        cls,
        runtime: Runtime,
        metadata_log_dir: str,
        config: MetadataLogConfig,
        on_disk_failure: Callable[[str, OSError], None],
    ) -> "MetadataLog":
        """Open, or make, the log in the data directory that holds the metadata; recover what was not flushed."""
        directory = metadata_directory(metadata_log_dir)
        context = LogContext(runtime, on_disk_failure=on_disk_failure)
        try:
            latest = latest_snapshot_id(runtime.files, directory)
            steps = loading(
                context,
                directory,
                config.log_config(),
                topic_partition=METADATA_PARTITION,
                recovery_point=latest.offset if latest is not None else 0,
            )
            while True:
                try:
                    next(steps)
                except StopIteration as end:
                    log: Log = end.value
                    break
                await runtime.sleep_ms(0)
            log.assign_topic_id(METADATA_TOPIC_ID)
            snapshots = SnapshotStore(context, directory, config.delete_delay_ms)
            snapshots.recover(log.log_start_offset)
        except OSError as error:
            if is_shortage(error):
                message = f"Error while loading {directory}: {in_words(error)}. {RAISE_THE_LIMIT}."
                raise ResourceShortageError(message) from error
            on_disk_failure(metadata_log_dir, error)
            raise KafkaStorageError(f"Error while loading {directory}: {in_words(error)}") from error
        metadata_log = cls(log, snapshots, config)
        metadata_log._truncate_to_latest_snapshot()
        return metadata_log

    def _truncate_to_latest_snapshot(self) -> None:
        """A snapshot beyond the log came from a leader, and the log it replaces was not dropped yet."""
        latest = self.snapshots.latest_id
        last_epoch = self.log.leader_epochs.latest_epoch or 0
        if latest is None or latest.sort_key <= (last_epoch, self.log.log_end_offset):
            return
        self.log.truncate_fully_and_start_at(latest.offset)
        with self.log.disk.doing("deleting snapshots"):
            self.snapshots.forget_before(latest, lambda _: "the partition was fully truncated")

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def directory(self) -> str:
        """Where segments and snapshots lie."""
        return self.log.directory

    @property
    def start_offset(self) -> int:
        """The first offset."""
        return self.log.log_start_offset

    @property
    def end_offset(self) -> OffsetAndEpoch:
        """The offset that comes next, and the last epoch that was written."""
        return OffsetAndEpoch(self.log.log_end_offset, self.last_epoch)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; of the snapshot, where nothing follows it."""
        epoch = self.log.leader_epochs.latest_epoch
        if epoch is not None:
            return epoch
        latest = self.snapshots.latest_id
        return latest.epoch if latest is not None else _NO_EPOCH

    @property
    def high_watermark(self) -> int:
        """Everything below is committed."""
        return self.log.high_watermark

    def epoch_at(self, offset: int) -> int:
        """The epoch that ``offset`` was written in."""
        epoch = self.log.leader_epochs.epoch_for_offset(offset)
        if epoch is not None:
            return epoch
        earliest = self.snapshots.earliest_id
        return earliest.epoch if earliest is not None else _NO_EPOCH

    # -- writing and reading ------------------------------------------------------------------------------------------

    def initialize_leader_epoch(self, epoch: int) -> None:
        """Note, durably, that an epoch begins at the end of the log."""
        with self.log.disk.doing("noting the leader epoch"):
            self.log.assign_epoch_start_offset(epoch, self.log.log_end_offset)

    def append_as_leader(self, batches: Buffer, epoch: int) -> AppendInfo:
        """Write batches that have their offsets and their epoch; on the disk after ``flush``."""
        return self.log.append_as_leader(batches, epoch, AppendOrigin.RAFT_LEADER)

    def flush(self) -> Awaitable[None]:
        """Bring everything appended so far to the disk, away from the reactor."""
        return self.log.flush()

    def update_high_watermark(self, offset: int) -> None:
        """What lies below ``offset`` is committed."""
        became = self.log.update_high_watermark(offset)
        assert became == offset, f"the log ends at {self.log.log_end_offset}, but {offset} is committed"

    def read(self, offset: int, max_bytes: int, *, committed: bool = True) -> FileSlice | None:
        """At least one whole batch from ``offset`` on, None at the end."""
        isolation = FetchIsolation.HIGH_WATERMARK if committed else FetchIsolation.LOG_END
        return self.log.read(offset, max_bytes, isolation).records

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def check_snapshot_id(self, snapshot_id: OffsetAndEpoch) -> bool:
        """Whether a snapshot may be taken there; ValueError if it never could be, False if it would be of no use."""
        offset = snapshot_id.offset
        if offset < self.start_offset or snapshot_id in self.snapshots:
            logger.info("No snapshot at %s: it is there, or before the log's start %d", snapshot_id, self.start_offset)
            return False
        if offset > self.high_watermark:
            raise ValueError(
                f"Cannot create a snapshot with an id ({snapshot_id}) greater than the high-watermark "
                f"({self.high_watermark})"
            )
        if offset > 0 and self.epoch_at(offset - 1) != snapshot_id.epoch:
            raise ValueError(
                f"Snapshot id ({snapshot_id}) is not valid according to the log: epoch {self.epoch_at(offset - 1)}"
            )
        base_offset = self.log.read(offset, 1, FetchIsolation.LOG_END).start.message_offset
        if base_offset != offset:
            raise ValueError(
                f"Cannot create snapshot at offset ({offset}) because it is not batch aligned. The batch containing "
                f"the requested offset has a base offset of ({base_offset})"
            )
        return True

    def roll_at(self, offset: int) -> None:
        """Begin a new segment where a snapshot is taken, if the log ends there, so that recovery has less to scan."""
        if offset == self.log.log_end_offset and offset != self.log.segments.active.base_offset:
            self.log.roll()

    def maybe_clean(self) -> bool:
        """Delete old snapshots and the segments that they covered, as the retention asks; the latest one stays."""
        with self.log.disk.doing("cleaning the metadata log"):
            by_size = self._clean_by_size()
            by_age = self._clean_by_age()
        return by_size or by_age

    def _clean_by_size(self) -> bool:
        limit = self._config.retention_bytes
        if limit < 0:
            return False
        sizes = {snapshot_id: self.snapshots.size_bytes(snapshot_id) for snapshot_id in self.snapshots.ids}

        def breach(snapshot_id: OffsetAndEpoch) -> str | None:
            log_bytes, snapshot_bytes = self.log.size_in_bytes, sum(sizes.values())
            if log_bytes + snapshot_bytes <= limit:
                return None
            del sizes[snapshot_id]
            return f"the log size ({log_bytes}) and snapshots size ({snapshot_bytes}) is greater than {limit}"

        return self._clean(breach)

    def _clean_by_age(self) -> bool:
        limit = self._config.retention_ms
        if limit < 0:
            return False
        now_ms = self._clock.now_ms()

        def breach(snapshot_id: OffsetAndEpoch) -> str | None:
            timestamp = self.snapshots.timestamp_ms(snapshot_id)
            if now_ms - timestamp <= limit:
                return None
            return f"its timestamp ({timestamp}) is now ({now_ms}) older than the retention ({limit})"

        return self._clean(breach)

    def _clean(self, breach: Callable[[OffsetAndEpoch], str | None]) -> bool:
        cleaned = False
        ids = self.snapshots.ids
        for snapshot_id, following in pairwise(ids):
            reason = breach(snapshot_id)
            if reason is None or not self._delete_before(following, reason):
                break
            cleaned = True
        return cleaned

    def _delete_before(self, snapshot_id: OffsetAndEpoch, reason: str) -> bool:
        """Begin the log at a snapshot; what lies before goes."""
        if not self.log.maybe_increment_log_start_offset(snapshot_id.offset, "snapshot generated"):
            return False
        deleted = self.log.delete_old_segments()
        return bool(self.snapshots.forget_before(snapshot_id, lambda _: reason) + deleted)

    def run_deletions(self) -> None:
        """Remove the files whose delay is over."""
        self._context.deletions.run_due()

    def close(self) -> None:
        """Flush everything and let go."""
        self.log.close()


def metadata_directory(metadata_log_dir: str) -> str:
    """The directory of the metadata log in a data directory."""
    return f"{metadata_log_dir}/{METADATA_PARTITION}"
