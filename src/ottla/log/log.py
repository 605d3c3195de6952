"""The log of one partition: what a leader appends to, a follower copies into and a consumer reads from.

Reading and the watermarks are in :mod:`ottla.log.readable_log`. One reactor calls a log, so nothing here locks; only
fsync leaves the reactor.

An append is checked, assigned its offsets and written by one call, or leaves no trace. An OSError of the disk is told
to the context (which takes the data directory offline) and raised as KafkaStorageError, from then on by every method.
Want of open files or memory is a ResourceShortageError, and the next call may work.
"""

import logging
from collections.abc import Awaitable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final

from ottla.common.errors import InconsistentTopicIdError, RecordListTooLargeError
from ottla.common.uuid import Uuid
from ottla.config.topic import LogConfig
from ottla.log import retention
from ottla.log.leader_epochs import LEADER_EPOCH_CHECKPOINT, LeaderEpochCache
from ottla.log.local_log import LocalLog
from ottla.log.log_flusher import LogFlusher
from ottla.log.partition_metadata import PARTITION_METADATA_FILE, PartitionMetadataFile
from ottla.log.producer_append import TV_UNKNOWN
from ottla.log.producer_recall import earlier_batches
from ottla.log.producer_replay import rebuild_producer_state
from ottla.log.producer_state import ProducerStateManager
from ottla.log.producer_update import PendingUpdate
from ottla.log.readable_log import FetchIsolation, ReadableLog
from ottla.log.segment import LogSegment
from ottla.log.txn_index import AbortedTxn
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import Buffer
from ottla.records.inspection import Inspect, inspect
from ottla.records.replicated import analyze_replicated
from ottla.records.validator import validate_and_assign_offsets

__all__ = ["FetchIsolation", "Log"]

logger = logging.getLogger(__name__)

_RAFT_LEADER: Final = AppendOrigin.RAFT_LEADER

_NO_EPOCH: Final = -2


class Log(ReadableLog):
    """See the module. Made by :func:`ottla.log.loader.load_log`."""

    def __init__(
        self,
        local: LocalLog,
        *,
        log_start_offset: int,
        epochs: LeaderEpochCache,
        producer_state: ProducerStateManager,
        metadata_file: PartitionMetadataFile,
    ) -> None:
        super().__init__(local, log_start_offset=log_start_offset, epochs=epochs, producer_state=producer_state)
        self._metadata_file = metadata_file
        metadata = metadata_file.read_or_none()
        self.topic_id: Uuid | None = metadata.topic_id if metadata is not None else None
        self._clock = local.context.runtime.clock
        self._runtime = local.context.runtime
        self._flusher = LogFlusher(local, producer_state, self.disk)
        producer_state.earlier_batches = partial(earlier_batches, local.segments)
        self._epoch = _NO_EPOCH
        self.update_config(local.config)

    def update_config(self, config: LogConfig) -> None:
        """Take over a changed configuration; segments keep the index settings they were made with."""
        self.local.config = config
        self._policy = AppendPolicy.from_config(config, self.context.strict_validation)
        self._segment_bytes = config.segment_bytes
        self._segment_ms = config.max_segment_ms

    # -- appending ----------------------------------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: Buffer,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = TV_UNKNOWN,
        inspect_records: Inspect = inspect,
    ) -> AppendInfo:
        """Check batches, give them the next offsets and write them; a producer's repeated batch gives its first answer.

        A writable buffer is patched in place. Raft, which is its own leader, brings its offsets along. Raises a
        KafkaError that names what the batch breaks, and what ``inspect_records`` raises, which is called where the
        records have to be read. When ``flush_due`` is true afterwards, the topic wants the append
        on the disk before it is acknowledged.
        """
        if self.disk.failure is not None:
            self.disk.check()
        now_ms = self._clock.now_ms()
        next_offset = self.local.log_end_offset
        if origin is _RAFT_LEADER:
            info = analyze_replicated(
                records,
                next_offset=next_offset,
                leader_epoch=leader_epoch,
                origin=origin,
                max_message_bytes=self._policy.max_message_bytes,
            )
        else:
            info = validate_and_assign_offsets(
                records,
                self._policy,
                next_offset=next_offset,
                leader_epoch=leader_epoch,
                now_ms=now_ms,
                origin=origin,
                inspect_records=inspect_records,
            )
        return self._append(info, origin, verification_guard, transaction_version)

    def append_as_follower(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """Write batches as the leader has them; they must follow the end of the log."""
        self.disk.check()
        info = analyze_replicated(records, next_offset=self.local.log_end_offset, leader_epoch=leader_epoch)
        return self._append(info, AppendOrigin.REPLICATION, SENTINEL, TV_UNKNOWN)

    def _append(
        self, info: AppendInfo, origin: AppendOrigin, guard: VerificationGuard, transaction_version: int
    ) -> AppendInfo:
        local = self.local
        batches = info.batches
        size = info.size_in_bytes
        if not batches:
            return info
        try:
            segment = local.segments.active
            if segment.size + size > self._segment_bytes or segment.should_roll(
                info.max_timestamp, info.last_offset, self._segment_ms
            ):
                if size > self._segment_bytes:
                    raise RecordListTooLargeError(
                        f"Message batch size is {size} bytes in append to partition {self.topic_partition}, which "
                        f"exceeds the maximum configured segment size of {self._segment_bytes}."
                    )
                segment = self.roll(info.first_offset)
            pending = None
            if batches[0].producer_id >= 0 or len(batches) > 1:
                pending = self.producer_state.check(
                    batches,
                    origin,
                    segment_base_offset=segment.base_offset,
                    position=segment.size,
                    verification_guard=guard,
                    transaction_version=transaction_version,
                )
                duplicate = pending.duplicate
                if duplicate is not None:
                    return info._replace(
                        first_offset=duplicate.first_offset,
                        last_offset=duplicate.last_offset,
                        append_time=duplicate.timestamp,
                    )
            for batch in batches:
                if batch.partition_leader_epoch != self._epoch:
                    self.assign_epoch_start_offset(batch.partition_leader_epoch, batch.base_offset)
            if pending is not None and pending.completed_txns:
                self._append_markers(info, segment, pending)
            else:
                segment.append(info.records, batches)
                local.log_end_offset = info.last_offset + 1
                if pending is not None:
                    self.producer_state.apply(pending)
        except OSError as error:
            # What the log holds already can be refused no more.
            may_be_refused = local.log_end_offset <= info.last_offset
            raise self.disk.failed("appending records", error, may_be_refused=may_be_refused) from error
        self.producer_state.map_end_offset = info.last_offset + 1
        return info

    def _append_markers(self, info: AppendInfo, segment: LogSegment, pending: PendingUpdate) -> None:
        """Append batches that complete transactions; the index of the aborted ones is opened before they are in."""
        is_indexed = any(txn.is_aborted for txn in pending.completed_txns)
        with segment.txn_index.file.held() if is_indexed else nullcontext():
            segment.append(info.records, info.batches)
            self.local.log_end_offset = info.last_offset + 1
            self.producer_state.apply(pending)
            for txn in pending.completed_txns:
                if txn.is_aborted:
                    last_stable_offset = self.producer_state.last_stable_offset(txn)
                    segment.txn_index.append(
                        AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, last_stable_offset)
                    )
                self.producer_state.complete_txn(txn)

    def assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """Note, durably, where a leader's epoch begins."""
        if leader_epoch >= 0:
            self.leader_epochs.assign(leader_epoch, start_offset)
        self._epoch = leader_epoch

    def roll(self, next_offset: int | None = None) -> LogSegment:
        """Begin a new segment; the sealed one is flushed in the background."""
        with self.disk.doing("rolling log segment"):
            self._metadata_file.maybe_flush()
            segment = self.local.roll(next_offset)
            self._known_position = None
            self.producer_state.update_map_end_offset(segment.base_offset)
            snapshot = None
            try:
                snapshot = self.producer_state.take_snapshot(sync=False)
            finally:  # the log has rolled, with a snapshot or without
                self._flusher.flush_sealed(segment.base_offset, has_snapshot=snapshot is not None)
            return segment

    # -- retention and replacement ------------------------------------------------------------------------------------

    def delete_old_segments(self) -> int:
        """Delete what the topic's retention allows, oldest first; returns how many segments."""
        deleted = 0
        with self.disk.doing("deleting segments"):
            while True:
                bounds = retention.LogBounds(self.log_start_offset, self.high_watermark, self.log_end_offset)
                segments = self.segments.values()
                breach = retention.first_breach(segments, bounds, self.config, self._clock.now_ms())
                if breach is None:
                    return deleted
                if breach.segments == len(segments):
                    self.roll()
                gone = segments[: breach.segments]
                for segment in gone:
                    logger.info("Deleting segment %s of %s due to %s", segment, self.topic_partition, breach.reason)
                following = self.segments.higher(gone[-1].base_offset)
                assert following is not None, "the log has lost its active segment"
                self.maybe_increment_log_start_offset(following.base_offset, "segment deletion")
                self.local.delete_segments(gone)
                self._delete_snapshots(gone)
                deleted += breach.segments

    def replace_segments(self, new_segments: Sequence[LogSegment], old_segments: Sequence[LogSegment]) -> None:
        """Put what the cleaner wrote in place of what it read; survives a crash at every step."""
        with self.disk.doing("replacing segments", may_be_refused=False):
            self._delete_snapshots(self.local.replace_segments(new_segments, old_segments))
            self._known_position = None

    def _delete_snapshots(self, segments: Sequence[LogSegment]) -> None:
        """Producer snapshots go with the segments that they begin."""
        for segment in segments:
            path = self.producer_state.remove_and_mark_snapshot_for_deletion(segment.base_offset)
            if path is not None:
                name = path.rpartition("/")[2]
                self.context.deletions.schedule(
                    self.config.file_delete_delay_ms, path, partial(self._remove_file, name)
                )

    def _remove_file(self, name: str) -> None:
        """Remove a file of the partition, wherever its directory has moved; it may be gone with it."""
        path = f"{self.directory}/{name}"
        if self._runtime.files.exists(path):
            self._runtime.files.remove(path)

    # -- truncation ---------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> bool:
        """Drop ``offset`` and everything after it, in place; returns whether anything went.

        The caller lowers the recovery point *checkpoint* first: what is written here later is not on the disk yet.
        """
        with self.disk.doing("truncating", may_be_refused=False):
            if offset >= self.log_end_offset:
                self.leader_epochs.truncate_from_end(self.log_end_offset)
                self._epoch = _NO_EPOCH
                return False
            logger.info(
                "Truncating %s to offset %d (high watermark %d)", self.topic_partition, offset, self.high_watermark
            )
            if self.segments.first.base_offset > offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self._forget_positions()
            self._delete_snapshots(self.local.truncate_to(offset))
            self.leader_epochs.truncate_from_end(offset)
            self.log_start_offset = min(offset, self.log_start_offset)
            rebuild_producer_state(
                self.producer_state, self.segments, self.log_start_offset, offset, self._clock.now_ms()
            )
            self.update_high_watermark(self.high_watermark)
            return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything and begin anew at ``offset``, as a follower does that lies too far behind."""
        with self.disk.doing("truncating the entire log", may_be_refused=False):
            logger.info("Truncating %s fully; it starts at offset %d", self.topic_partition, offset)
            self._forget_positions()
            self.local.truncate_fully_and_start_at(offset)
            self.leader_epochs.clear()
            self.leader_epochs.flush()
            self.producer_state.truncate_fully_and_start_at(offset)
            self.log_start_offset = offset if log_start_offset is None else log_start_offset
            rebuild_producer_state(
                self.producer_state, self.segments, self.log_start_offset, offset, self._clock.now_ms()
            )
            self.update_high_watermark(offset)

    def _forget_positions(self) -> None:
        self._flusher.forget_running_flush()
        self._epoch = _NO_EPOCH
        self._known_position = None

    # -- durability ---------------------------------------------------------------------------------------------------

    @property
    def flush_due(self) -> bool:
        """Whether ``flush.messages`` asks for a flush now."""
        return self.local.log_end_offset - self.local.recovery_point >= self.config.flush_messages

    def flush(self) -> Awaitable[None]:
        """Bring everything appended so far to the disk, away from the reactor; waiters share one fsync."""
        self.disk.check()
        return self._flusher.flush()

    # -- life ---------------------------------------------------------------------------------------------------------

    def assign_topic_id(self, topic_id: Uuid) -> None:
        """Note the topic's id, on the disk before the first roll or close; another one than before is refused."""
        if self.topic_id is not None and self.topic_id != topic_id:
            raise InconsistentTopicIdError(
                f"Tried to assign topic ID {topic_id} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {self.topic_id}"
            )
        if self.topic_id is None:
            self.topic_id = topic_id
            with self.disk.doing("writing partition metadata"):
                self._metadata_file.record(topic_id)
                self._metadata_file.maybe_flush()

    def rename_directory(self, name: str) -> None:
        """Give the directory another name next to its own: ``-delete``, ``-future``, ``-stray`` or back."""
        with self.disk.doing("renaming the directory", may_be_refused=False):
            self.local.rename_directory(f"{self.data_directory}/{name}")
            self.producer_state.update_parent_dir(self.directory)
            self.leader_epochs.move_to(f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}")
            self._metadata_file.path = f"{self.directory}/{PARTITION_METADATA_FILE}"

    def close(self) -> None:
        """Write everything out, durably, and let go: a clean stop needs no recovery."""
        with self.disk.doing("closing"):
            self._metadata_file.maybe_flush()
            self.leader_epochs.flush()
            self.producer_state.take_snapshot()
            unflushed = self.segments.between(self.recovery_point, self.log_end_offset + 1)
            active = self.segments.active
            active.become_inactive()
            for segment in unflushed:
                segment.flush()
            self._runtime.files.sync_dir(self.directory)
            self.local.recovery_point = self.log_end_offset
            self.local.close()

    def mark_offline(self, error: Exception) -> None:
        """Refuse everything from now on and let go without writing: the data directory has failed."""
        self.disk.failure = error
        self.close_handlers()

    def close_handlers(self) -> None:
        """Let go without writing."""
        self.local.close_handlers()

    def delete(self) -> None:
        """Remove the partition's directory and everything in it; what a crash brings back, a start deletes again."""
        with self.disk.doing("deleting the log"):
            self.close_handlers()
            self._runtime.files.remove_tree(self.directory)

    def __repr__(self) -> str:
        return (
            f"Log({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset}, "
            f"high watermark {self.high_watermark}, {len(self.segments)} segments)"
        )
