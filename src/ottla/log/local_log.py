"""The segments of one partition as one append-only file: append, read, roll, truncate, replace.

It knows offsets and bytes, nothing of producers, epochs or watermarks; :class:`ottla.log.log.Log` adds those. Methods
may raise OSError; the caller decides that the disk has failed.
"""

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from ottla.common.errors import OffsetOutOfRangeError
from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.batch_search import first_indexed_at_or_after
from ottla.log.log_context import LogContext
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.segment import LogSegment
from ottla.log.segments import LogSegments
from ottla.log.txn_index import AbortedTxn
from ottla.protocol.file_slice import FileSlice

logger = logging.getLogger(__name__)

GAP_MAX: Final = 1 << 30
"""Segments further apart than this are so on purpose; nearer ones have no gap between them, unless by compaction."""


class FetchData(NamedTuple):
    """What a read found: where it begins, the range of the file to send, and what was aborted in it."""

    start: LogOffsetMetadata
    records: FileSlice | None
    """None when there is nothing to send."""
    first_entry_incomplete: bool = False
    """Whether the first batch is larger than what was asked for, and cut."""
    aborted_transactions: list[AbortedTxn] | None = None
    """For READ_COMMITTED; None for other readers."""

    def read(self) -> bytes:
        """The bytes themselves."""
        return self.records.read() if self.records is not None else b""


class LocalLog:
    """Segments, the end of the log and the recovery point (all below it is on the disk)."""

    def __init__(
        self,
        context: LogContext,
        topic_partition: TopicPartition,
        directory: str,
        config: LogConfig,
        segments: LogSegments,
        *,
        log_end_offset: int,
        recovery_point: int,
    ) -> None:
        self.context = context
        self.topic_partition = topic_partition
        self.directory = directory
        self.config = config
        self.segments = segments
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.is_closed = False
        self._retired: set[LogSegment] = set()
        """Segments that are out of the log and wait for their deletion."""
        self.last_flush_ms = context.runtime.clock.monotonic_ms()

    @property
    def log_end(self) -> LogOffsetMetadata:
        """The end of the log with its position."""
        active = self.segments.active
        return LogOffsetMetadata(self.log_end_offset, active.base_offset, active.size)

    # -- rolling ------------------------------------------------------------------------------------------------------

    def roll(self, next_offset: int | None = None) -> LogSegment:
        """Seal the active segment and begin a new one where its last batch ends.

        Only a batch too far away to be indexed from there (``next_offset``) begins its own segment. Apache Kafka
        leaves a gap wherever there is one in the offsets; without any, recovery can tell that the end of a segment
        was lost. After an OSError the log is as it was: the old segment is still the active one.
        """
        active = self.segments.active
        new_offset = active.read_next_offset()
        if next_offset is not None and next_offset - new_offset > GAP_MAX:
            new_offset = next_offset
        if new_offset == active.base_offset and active.size == 0:
            # An index can be full without an entry when it is smaller than one; a fresh segment takes its place.
            logger.warning("Rolling the empty segment %d of %s anew", new_offset, self.topic_partition)
            self._retire([active])
            return self._begin_segment(new_offset)
        assert new_offset > active.base_offset, f"cannot roll {self.topic_partition} to {new_offset} before {active}"
        files = self.context.runtime.files
        for name in (
            names.log_file_name,
            names.offset_index_file_name,
            names.time_index_file_name,
            names.txn_index_file_name,
        ):
            path = f"{self.directory}/{name(new_offset)}"
            if files.exists(path):
                logger.warning("Newly rolled segment file %s already exists; deleting it first", path)
                files.remove(path)
        active.complete_files()  # first: a start after a crash takes every segment but the last for a sealed one
        segment = self._open_segment(new_offset)
        active.seal()
        self.segments.add(segment)
        logger.info("Rolled new log segment of %s at offset %d", self.topic_partition, new_offset)
        return segment

    def _begin_segment(self, base_offset: int) -> LogSegment:
        segment = self._open_segment(base_offset)
        self.segments.add(segment)
        return segment

    def _open_segment(self, base_offset: int) -> LogSegment:
        runtime = self.context.runtime
        return LogSegment.open(
            runtime.files,
            runtime.clock,
            self.directory,
            base_offset,
            self.config,
            jitter_ms=self.config.random_segment_jitter_ms(runtime.rng),
            index_cache=self.context.index_cache,
        )

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(
        self, start_offset: int, max_bytes: int, limit: LogOffsetMetadata, *, min_one_message: bool, with_aborted: bool
    ) -> FetchData:
        """Batches from the one that holds ``start_offset`` on, within one segment and below ``limit``.

        With ``min_one_message`` a first batch larger than ``max_bytes`` still comes whole.
        """
        segment = self.segments.floor(start_offset)
        if start_offset > self.log_end_offset or segment is None:
            raise OffsetOutOfRangeError(
                f"Received request for offset {start_offset} for partition {self.topic_partition}, but we only have "
                f"log segments upto {self.log_end_offset}."
            )
        aborted: list[AbortedTxn] | None = [] if with_aborted else None
        if start_offset == limit.message_offset:
            return FetchData(limit, None, aborted_transactions=aborted)
        if start_offset > limit.message_offset:
            return FetchData(self.position_of(start_offset), None, aborted_transactions=aborted)
        while segment is not None:
            found = segment.find_batch(start_offset)
            if found is not None:
                start = LogOffsetMetadata(found.base_offset, segment.base_offset, found.position)
                end = self._limit_in(segment, limit)
                size = min(max(max_bytes, found.size_in_bytes) if min_one_message else max_bytes, end - found.position)
                if size <= 0:
                    return FetchData(start, None, aborted_transactions=aborted)
                if with_aborted:
                    aborted = self._aborted_in(start_offset, segment, found.position + size)
                return FetchData(
                    start, FileSlice(segment.log_file, found.position, size), size < found.size_in_bytes, aborted
                )
            # Compaction may have left nothing between the offset and the end of its segment.
            segment = self.segments.higher(segment.base_offset)
        return FetchData(self.log_end, None, aborted_transactions=aborted)

    def _limit_in(self, segment: LogSegment, limit: LogOffsetMetadata) -> int:
        """The position in ``segment`` up to which ``limit`` allows reading."""
        if segment.base_offset < limit.segment_base_offset:
            return segment.size
        if segment.base_offset == limit.segment_base_offset:
            return limit.relative_position_in_segment
        return 0

    def position_of(self, offset: int) -> LogOffsetMetadata:
        """Where the batch that holds ``offset`` (or the next one there is) begins; the end of the log past all."""
        if offset >= self.log_end_offset:
            return self.log_end
        segment = self.segments.floor(offset)
        while segment is not None:
            found = segment.find_batch(offset)
            if found is not None:
                return LogOffsetMetadata(offset, segment.base_offset, found.position)
            segment = self.segments.higher(segment.base_offset)
        return self.log_end

    def _aborted_in(self, start_offset: int, segment: LogSegment, end_position: int) -> list[AbortedTxn]:
        indexed = first_indexed_at_or_after(segment.log_file, segment.size, segment.offset_index, end_position)
        if indexed is not None:
            upper_bound = indexed.offset
        else:
            following = self.segments.higher(segment.base_offset)
            upper_bound = following.base_offset if following is not None else self.log_end_offset
        return self.aborted_transactions(start_offset, upper_bound, segment)

    def aborted_transactions(
        self, start_offset: int, upper_bound_offset: int, segment: LogSegment | None = None
    ) -> list[AbortedTxn]:
        """The aborted transactions that touch a range of offsets, looked up from ``segment`` on."""
        current: LogSegment | None = segment or self.segments.floor(start_offset) or self.segments.first
        found: list[AbortedTxn] = []
        while current is not None:
            aborted, complete = current.txn_index.collect_aborted(start_offset, upper_bound_offset)
            found += aborted
            if complete:
                break
            current = self.segments.higher(current.base_offset)
        return found

    # -- removing -----------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int) -> list[LogSegment]:
        """Drop everything from ``offset`` on, durably; returns the segments that went whole.

        What came back after a crash would mix with what is appended from here on, and contradict its leader epochs.
        """
        gone = [segment for segment in self.segments.values() if segment.base_offset > offset]
        self.delete_segments(reversed(gone))  # the last one first: a crash in between leaves no hole
        if gone:
            self.context.runtime.files.sync_dir(self.directory)
        active = self.segments.active
        active.truncate_to(offset)
        active.log_file.sync()
        self._end_at(offset)
        return gone

    def truncate_fully_and_start_at(self, offset: int) -> list[LogSegment]:
        """Drop everything and begin anew; returns the segments that went."""
        gone = self.segments.values()
        self.delete_segments(reversed(gone))
        self._begin_segment(offset)
        self._end_at(offset)
        return gone

    def _end_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)

    def delete_segments(self, segments: Iterable[LogSegment]) -> None:
        """Take segments out of the log; their files go after the delay."""
        gone = list(segments)
        self._retire(gone)
        for segment in gone:
            self.segments.remove(segment.base_offset)

    def _retire(self, segments: Iterable[LogSegment]) -> None:
        delay_ms = self.config.file_delete_delay_ms
        for segment in segments:
            segment.change_suffix(names.DELETED_SUFFIX)
            self._retired.add(segment)
            self.context.deletions.schedule(
                delay_ms, f"{self.topic_partition} {segment}", partial(self._delete, segment)
            )

    def _delete(self, segment: LogSegment) -> None:
        segment.delete_files()
        self._retired.discard(segment)

    def replace_segments(
        self, new_segments: Sequence[LogSegment], old_segments: Iterable[LogSegment]
    ) -> list[LogSegment]:
        """Swap cleaned segments in for old ones, so that a crash at any step leaves one of the two whole.

        1. ``.cleaned`` → ``.swap``, the last first: from the moment the first one has its ``.swap`` name a restart
           completes the swap, and until then it throws everything away. 2. The old files become ``.deleted``. 3. The
           suffix goes. Each step is on the disk before the next begins; the last one may come undone, and is done
           again. Returns the old segments whose base offset no new one has.
        """
        files = self.context.runtime.files
        ordered = sorted(new_segments, key=lambda segment: segment.base_offset)
        replaced = [old for old in old_segments if self.segments.floor(old.base_offset) is old]
        for segment in reversed(ordered):
            segment.change_suffix(names.SWAP_SUFFIX)
        files.sync_dir(self.directory)
        new_offsets = {segment.base_offset for segment in ordered}
        self._retire(replaced)
        files.sync_dir(self.directory)
        for old in replaced:
            if old.base_offset not in new_offsets:
                self.segments.remove(old.base_offset)
        for segment in ordered:
            self.segments.add(segment)
            segment.change_suffix("")
        return [old for old in replaced if old.base_offset not in new_offsets]

    # -- closing ------------------------------------------------------------------------------------------------------

    def rename_directory(self, directory: str) -> None:
        """Move the whole directory; open files stay good."""
        files = self.context.runtime.files
        files.rename(self.directory, directory)
        self.directory = directory
        for segment in (*self.segments.values(), *self._retired):
            segment.move_to(directory)
        files.sync_dir(directory.rpartition("/")[0])

    def close(self) -> None:
        """Close all segments, trimmed and with their last index entries."""
        self.is_closed = True
        for segment in self.segments.values():
            segment.close()

    def close_handlers(self) -> None:
        """Let go of all files without writing."""
        self.is_closed = True
        for segment in self.segments.values():
            segment.close_handlers()
