"""Opening the log of one partition: finish what a crash interrupted, recover what was not flushed, rebuild the rest.

1. Drop ``.deleted`` and ``.cleaned`` files; complete or drop a swap of the cleaner (:mod:`ottla.log.swap_recovery`).
2. Open the segments; one whose indexes are missing or visibly damaged is scanned and its indexes rebuilt.
3. After an unclean stop, scan every segment from the recovery point on and cut the log at the first damage.
4. Bring leader epochs, producer state and log start offset in line with what is left.
"""

import logging
from collections.abc import Generator, Iterator, Sequence

from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.epoch_recovery import RecoveringEpochs, rebuild_epochs, restore_first_epochs
from ottla.log.leader_epochs import LEADER_EPOCH_CHECKPOINT, LeaderEpochCache
from ottla.log.local_log import GAP_MAX, LocalLog
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.partition_metadata import PARTITION_METADATA_FILE, PartitionMetadataFile
from ottla.log.producer_replay import RecoveringProducers, rebuild_producer_state
from ottla.log.producer_state import ProducerStateManager
from ottla.log.segment import LogSegment
from ottla.log.segment_recovery import Recovered, Tail, recover_segment
from ottla.log.segments import LogSegments
from ottla.log.swap_recovery import complete_interrupted_swaps

logger = logging.getLogger(__name__)


def load_log(
    context: LogContext,
    directory: str,
    config: LogConfig,
    *,
    topic_partition: TopicPartition | None = None,
    log_start_offset: int = 0,
    recovery_point: int | None = 0,
    clean_shutdown: bool = False,
) -> Log:
    """Open a partition's directory, making it if it is missing; never fails on damaged data, only on a failing disk.

    ``log_start_offset`` and ``recovery_point`` come from the data directory's checkpoints. A recovery point of None
    means that nobody knows what was flushed: everything is scanned, and a gap between segments may be there by right.
    """
    steps = loading(
        context,
        directory,
        config,
        topic_partition=topic_partition,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        clean_shutdown=clean_shutdown,
    )
    while True:
        try:
            next(steps)
        except StopIteration as end:
            log: Log = end.value
            return log


def loading(
    context: LogContext,
    directory: str,
    config: LogConfig,
    *,
    topic_partition: TopicPartition | None = None,
    log_start_offset: int = 0,
    recovery_point: int | None = 0,
    clean_shutdown: bool = False,
) -> Generator[int, None, Log]:
    """What ``load_log`` does, for whoever has something else to do in between.

    Before each segment that must be scanned it yields how many there still are; it returns the log.
    """
    return _Loader(
        context,
        directory if "/" in directory else f"./{directory}",  # whose parent is a directory, too
        config,
        topic_partition=topic_partition,
        log_start_offset=log_start_offset,
        recovery_point=recovery_point,
        clean_shutdown=clean_shutdown,
    ).load()


class _Loader:
    """One loading, step by step."""

    def __init__(
        self,
        context: LogContext,
        directory: str,
        config: LogConfig,
        *,
        topic_partition: TopicPartition | None,
        log_start_offset: int,
        recovery_point: int | None,
        clean_shutdown: bool,
    ) -> None:
        self._context = context
        self._files = context.runtime.files
        self._clock = context.runtime.clock
        self._directory = directory
        self._config = config
        self._topic_partition = topic_partition or names.parse_topic_partition_dir(directory)
        self._log_start_offset = log_start_offset
        self._recovery_point = recovery_point or 0
        self._gaps_are_losses = recovery_point is not None and not config.compact
        self._clean_shutdown = clean_shutdown
        self._segments = LogSegments()
        self._opened: list[LogSegment] = []

    def load(self) -> Generator[int, None, Log]:
        """Run all steps; a load that fails leaves no file open."""
        try:
            return (yield from self._load())
        except BaseException:
            for segment in self._opened:
                segment.close_handlers()
            raise

    def _load(self) -> Generator[int, None, Log]:
        if not self._files.is_dir(self._directory):
            self._files.make_dir(self._directory)
            self._files.sync_dir(self._directory.rpartition("/")[0])
        complete_interrupted_swaps(self._files, self._clock, self._directory, self._config)
        self._epochs = LeaderEpochCache(self._files, f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}")
        self._open_segments()
        if self._epochs.damaged:
            rebuild_epochs(self._epochs, self._segments.values())
        log_end_offset = yield from self._recover()
        self._epochs.truncate_from_end(log_end_offset)
        log_start_offset = max(self._log_start_offset, self._segments.first.base_offset)
        if not self._clean_shutdown:
            restore_first_epochs(self._epochs, self._segments.values(), log_start_offset)
        self._epochs.truncate_from_start(log_start_offset)
        self._epochs.flush()
        producer_state = self._new_producer_state()
        producer_state.remove_stray_snapshots(self._segments.base_offsets)
        rebuild_producer_state(
            producer_state,
            self._segments,
            log_start_offset,
            log_end_offset,
            self._clock.now_ms(),
            clean_start=self._clean_shutdown,
        )
        self._segments.active.activate()
        local = LocalLog(
            self._context,
            self._topic_partition,
            self._directory,
            self._config,
            self._segments,
            log_end_offset=log_end_offset,
            recovery_point=log_end_offset if self._clean_shutdown else min(self._recovery_point, log_end_offset),
        )
        metadata_file = PartitionMetadataFile(self._files, f"{self._directory}/{PARTITION_METADATA_FILE}")
        return Log(
            local,
            log_start_offset=log_start_offset,
            epochs=self._epochs,
            producer_state=producer_state,
            metadata_file=metadata_file,
        )

    def _open_segments(self) -> None:
        """Open every record file, oldest first: what a segment needs for its recovery stands before it."""
        present = set(self._files.list_dir(self._directory))
        for name in sorted(present):
            if names.is_index_file(name):
                base_offset = _offset_of(name)
                if base_offset is not None and names.log_file_name(base_offset) not in present:
                    logger.warning("Found an orphaned index file %s/%s, with no log file.", self._directory, name)
                    self._files.remove(f"{self._directory}/{name}")
            elif names.is_log_file(name):
                base_offset = _offset_of(name)
                if base_offset is None:
                    logger.warning("Ignoring %s/%s: its name is not an offset", self._directory, name)
                    continue
                segment = self._open_segment(base_offset)
                reason = self._index_damage(segment, present)
                if reason is not None:
                    logger.warning(
                        "Corrupt index found for log file %s: %s. Recovering segment and rebuilding index files.",
                        segment.log_file.path,
                        reason,
                    )
                    self._recover_segment(segment, RecoveringEpochs(self._epochs, to_log_end=False))
                self._segments.add(segment)

    def _index_damage(self, segment: LogSegment, present: set[str]) -> str | None:
        """Why the indexes of a segment must be rebuilt; those from the recovery point on will be anyway."""
        if not self._clean_shutdown and segment.base_offset >= self._recovery_point:
            return None
        for name in (names.offset_index_file_name, names.time_index_file_name):
            if name(segment.base_offset) not in present:
                return f"{name(segment.base_offset)} is missing"
        return segment.offset_index.damage(segment.size) or segment.time_index.damage() or segment.txn_index.damage()

    def _recover(self) -> Generator[int, None, int]:
        """Recover the segments that were not flushed, make sure there is an active one, and find the log's end."""
        if not self._clean_shutdown and len(self._segments):
            yield from self._recover_unflushed(self._segments.between(self._recovery_point, 1 << 63))
        if len(self._segments):
            log_end_offset = yield from self._read_log_end_offset(self._segments.active)
            if log_end_offset >= self._log_start_offset:
                return log_end_offset
            logger.error(
                "Putting aside all segments of %s (as *%s) because its end offset %d is smaller than its checkpointed "
                "start offset %d. Either its last records were lost with the power, or the checkpoint is damaged.",
                self._topic_partition,
                names.STRAY_SUFFIX,
                log_end_offset,
                self._log_start_offset,
            )
            self._put_aside(self._segments.values())
            self._epochs.clear()
            self._new_producer_state().truncate_fully_and_start_at(self._log_start_offset)
        self._segments.add(self._open_segment(self._log_start_offset, new=True))
        return self._log_start_offset

    def _read_log_end_offset(self, active: LogSegment) -> Generator[int, None, int]:
        """Where the last segment ends; if that is not where its file ends, it was damaged after a clean stop."""
        log_end_offset, position = active.read_end()
        if position == active.size:
            return log_end_offset
        logger.warning(
            "Corrupt record file found in %s, though it was stopped cleanly. Recovering the last segment.",
            self._directory,
        )
        yield from self._recover_unflushed([active])
        return active.read_next_offset()

    def _recover_unflushed(self, unflushed: list[LogSegment]) -> Iterator[int]:
        """Scan segments up to the first damage; what lies behind it goes."""
        epochs = RecoveringEpochs(self._epochs, to_log_end=True)
        before: Tail | None = None
        for done, segment in enumerate(unflushed):
            logger.info(
                "Recovering unflushed segment %d. %d/%d recovered for %s.",
                segment.base_offset,
                done,
                len(unflushed),
                self._topic_partition,
            )
            yield len(unflushed) - done
            following = unflushed[done + 1 :]
            recovered = self._recover_segment(segment, epochs, following, before)
            if recovered.cut_bytes:
                last = segment
                if recovered.blames_previous:
                    assert before is not None and before.jump is not None, f"{segment} blames a segment not scanned"
                    last = unflushed[done - 1]
                    self._delete([segment])
                    last.truncate_file(before.jump.position)
                    self._recover_segment(last, epochs)
                logger.warning(
                    "Corruption found in segment %d of %s, truncating to offset %d; %d later segments go",
                    last.base_offset,
                    self._topic_partition,
                    last.read_next_offset(),
                    len(unflushed) - unflushed.index(last) - 1,
                )
                break
            if following and self._lost_its_end(segment, following[0]):
                logger.warning(
                    "Segment %d of %s ends at offset %d, where the next one does not begin; %d later segments go",
                    segment.base_offset,
                    self._topic_partition,
                    segment.read_next_offset(),
                    len(following),
                )
                self._delete(following)
                break
            before = recovered.tail

    def _lost_its_end(self, segment: LogSegment, following: LogSegment) -> bool:
        """Whether the batches between two segments never reached the disk, though later ones did.

        A segment begins where the one before it ends (``LocalLog.roll``), and the cleaner touches nothing that the
        recovery point on the disk does not cover. See docs/decisions/0008-no-hole-after-a-power-loss.md.
        """
        gap = following.base_offset - segment.read_next_offset()
        return self._gaps_are_losses and 0 < gap <= GAP_MAX

    def _recover_segment(
        self,
        segment: LogSegment,
        epochs: RecoveringEpochs,
        following: Sequence[LogSegment] = (),
        before: Tail | None = None,
    ) -> Recovered:
        """Scan one segment with the producer state that stands before it; damage in it deletes those that follow."""
        cut_bytes = 0
        while True:
            state = self._new_producer_state()
            rebuild_producer_state(
                state, self._segments, self._log_start_offset, segment.base_offset, self._clock.now_ms()
            )
            recovered = recover_segment(
                segment,
                RecoveringProducers(state),
                epochs,
                next_base_offset=following[0].base_offset if following else None,
                before=before,
                before_cut=lambda: self._delete(following),
            )
            cut_bytes += recovered.cut_bytes
            if not recovered.again:
                break
        # The next segment begins with the producers as they stand here.
        state.take_snapshot()
        return recovered._replace(cut_bytes=cut_bytes)

    def _delete(self, segments: Sequence[LogSegment]) -> None:
        """Remove segments for good."""
        for segment in segments:
            if segment.base_offset in self._segments:
                self._segments.remove(segment.base_offset)
            segment.delete_files()
        self._files.sync_dir(self._directory)

    def _put_aside(self, segments: list[LogSegment]) -> None:
        """Take segments out of the log, but not from the disk: all that speaks against them is an unchecked file."""
        for segment in segments:
            self._segments.remove(segment.base_offset)
            segment.close_handlers()
            segment.change_suffix(names.STRAY_SUFFIX)

    def _open_segment(self, base_offset: int, *, new: bool = False) -> LogSegment:
        make = LogSegment.open if new else LogSegment
        segment = make(
            self._files,
            self._clock,
            self._directory,
            base_offset,
            self._config,
            jitter_ms=self._config.random_segment_jitter_ms(self._context.runtime.rng),
            index_cache=self._context.index_cache,
        )
        self._opened.append(segment)
        return segment

    def _new_producer_state(self) -> ProducerStateManager:
        return ProducerStateManager(self._topic_partition, self._directory, self._files, self._context.producer_config)


def _offset_of(name: str) -> int | None:
    try:
        return names.offset_from_file_name(name)
    except ValueError:
        return None
