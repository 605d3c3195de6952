"""A cleaning run, as it happens in a niced worker process: read, decide, write ``.cleaned`` segments.

First pass: the keys of the dirty segments go into the offset map, until it is full. Second pass: all segments up to
where the map reaches are filtered into new ones, group by group. The worker only adds files: whenever a group is
written and durable it says so, and the broker, which alone renames, swaps it in before it asks the worker to go on.
"""

import logging
from bisect import bisect_left
from collections.abc import Generator, Iterator
from struct import Struct
from typing import Final, NamedTuple

from ottla.common.errors import CorruptRecordError
from ottla.log import names
from ottla.log.cleaner.filter import RecordFilter
from ottla.log.cleaner.offset_map import BatchWalk, OffsetMap, new_offset_map
from ottla.log.cleaner.plan import group_segments_by_size
from ottla.log.cleaner.stats import CleanerStats
from ottla.log.cleaner.task import CleanedGroup, CleanerProgress, CleanerReport, CleaningDone, CleanTask
from ottla.log.cleaner.transactions import CleanedTransactionMetadata
from ottla.log.index_cache import IndexCache
from ottla.log.offset_index import OffsetIndex
from ottla.log.segment import LogSegment
from ottla.log.txn_index import AbortedTxn, TransactionIndex
from ottla.records.batch import ATTRIBUTES_POSITION, HEADER_BYTES, LOG_OVERHEAD, MAGIC, Buffer, RecordBatch
from ottla.records.crc32c import crc32c
from ottla.runtime.port import File, Files

_logger = logging.getLogger(__name__)

_CHECKED_FIELDS: Final = Struct(">8xi4xbI")
"""Of a batch's header: length, magic, CRC."""


class SegmentToClean(NamedTuple):
    """A segment's files, as a worker sees them."""

    base_offset: int
    next_base_offset: int
    size: int
    offset_index_bytes: int
    time_index_bytes: int
    modified_ms: int


def clean_segments(task: CleanTask) -> Iterator[CleanerReport]:
    """Clean a log as ``task`` says; the last report is CleaningDone.

    Raises CorruptRecordError or InvalidRecordError for a log that cannot be read, OSError for a disk that fails; the
    .cleaned files of the group in work are then left for the broker to remove.
    """
    yield from _Cleaner(task).clean()


class _Cleaner:
    def __init__(self, task: CleanTask) -> None:
        self._task = task
        self._stats = CleanerStats(start_ms=task.clock.monotonic_ms())
        self._map: OffsetMap = new_offset_map(task.offset_map_bytes, task.secret, compiled=task.compiled)
        self._unreported_bytes = 0
        # As they are now: the broker replaces the files of each group.
        self._txn_indexes = [
            TransactionIndex(task.files, self._path(names.txn_index_file_name(base_offset)), base_offset)
            for base_offset in task.base_offsets
        ]
        for index in self._txn_indexes:
            index.entries()
        self._segments = [
            self._segment(base_offset, next_base_offset)
            for base_offset, next_base_offset in zip(
                task.base_offsets, (*task.base_offsets[1:], task.first_uncleanable_offset), strict=True
            )
            if base_offset < task.first_uncleanable_offset
        ]

    def clean(self) -> Iterator[CleanerReport]:
        task, stats = self._task, self._stats
        _logger.info("Beginning cleaning of log %s", task.topic_partition)
        yield from self._build_offset_map()
        stats.map_done_ms = task.clock.monotonic_ms()
        stats.buffer_utilization = self._map.size / self._map.slots
        end_offset = self._map.latest_offset + 1

        groups = group_segments_by_size(
            [segment for segment in self._segments if segment.base_offset < end_offset],
            task.config.segment_bytes,
            task.config.segment_index_bytes,
            task.first_uncleanable_offset,
        )
        transactions = CleanedTransactionMetadata()
        record_filter = RecordFilter(
            offset_map=self._map,
            transactions=transactions,
            last_records=task.last_records,
            upper_bound_offset=task.first_uncleanable_offset,
            now_ms=task.now_ms,
            delete_retention_ms=task.config.delete_retention_ms,
            stats=stats,
        )
        for group in groups:
            yield from self._clean_group(group, transactions, record_filter)
        stats.end_ms = task.clock.monotonic_ms()
        yield CleaningDone(end_offset, stats)

    # -- the first pass -----------------------------------------------------------------------------------------------

    def _build_offset_map(self) -> Iterator[CleanerReport]:
        task = self._task
        dirty = [segment for segment in self._segments if segment.next_base_offset > task.first_dirty_offset]
        _logger.info(
            "Building offset map for log %s for %d segments in offset range [%d, %d).",
            task.topic_partition,
            len(dirty),
            task.first_dirty_offset,
            task.first_uncleanable_offset,
        )
        transactions = CleanedTransactionMetadata()
        if dirty:
            # Apache Kafka also adds transactions that ended before the first dirty offset; a producer's later records
            # are then taken for aborted and miss the map. They stay out here.
            transactions.add_aborted_transactions(
                self._collect_aborted(dirty[0].base_offset, task.first_dirty_offset, task.first_uncleanable_offset)
            )
        for segment in dirty:
            full = yield from self._map_segment(segment, transactions)
            if full:
                _logger.debug("Offset map is full, segment %d is partially mapped", segment.base_offset)
                return

    def _map_segment(
        self, segment: SegmentToClean, transactions: CleanedTransactionMetadata
    ) -> Generator[CleanerReport, None, bool]:
        """Map a segment's keys; True when the map is full."""
        offset_map, stats = self._map, self._stats
        start_offset = self._task.first_dirty_offset
        size_max = int(offset_map.slots * self._task.load_factor)
        for chunk in self._read(segment, self._start_position(segment)):
            position, end = 0, len(chunk)
            while position < end:
                mapped = offset_map.put_run(chunk, position, start_offset, size_max)
                stats.map_messages_read += mapped.records_count
                if mapped.full:
                    return True
                position = mapped.position
                if position < end:
                    batch = RecordBatch(chunk, position)
                    if self._map_batch(batch, transactions, size_max):
                        return True
                    position += batch.size_in_bytes
            stats.map_bytes_read += end
            yield from self._report()
        offset_map.latest_offset = segment.next_base_offset - 1  # nothing lies in the gap behind the last batch
        return False

    def _map_batch(self, batch: RecordBatch, transactions: CleanedTransactionMetadata, size_max: int) -> bool:
        offset_map, start_offset = self._map, self._task.first_dirty_offset
        if batch.is_control:
            transactions.on_control_batch_read(batch)
        elif not transactions.on_batch_read(batch) and batch.records_count:
            for _ in BatchWalk(batch).slices(offset_map):
                if offset_map.put_keys(batch.base_offset, start_offset, size_max):
                    return True
        self._stats.map_messages_read += batch.records_count
        if batch.last_offset >= start_offset:
            offset_map.latest_offset = batch.last_offset
        return False

    # -- the second pass ----------------------------------------------------------------------------------------------

    def _clean_group(
        self, group: list[SegmentToClean], transactions: CleanedTransactionMetadata, record_filter: RecordFilter
    ) -> Iterator[CleanerReport]:
        task = self._task
        base_offset = group[0].base_offset
        remove_cleaned_files(task.files, task.directory, base_offset)
        cleaned = LogSegment.open(
            task.files, task.clock, task.directory, base_offset, task.config, suffix=names.CLEANED_SUFFIX
        )
        try:
            transactions.retain = cleaned.txn_index.append
            for segment in group:
                _logger.info(
                    "Cleaning segment %d (%d bytes) in log %s into %d",
                    segment.base_offset,
                    segment.size,
                    task.topic_partition,
                    base_offset,
                )
                transactions.add_aborted_transactions(
                    self._collect_aborted(segment.base_offset, segment.base_offset, segment.next_base_offset)
                )
                yield from self._clean_into(cleaned, segment, record_filter)
            cleaned.become_inactive()
            cleaned.flush()
            cleaned.set_modified_ms(group[-1].modified_ms)
            task.files.sync_dir(task.directory)
        finally:
            cleaned.close_handlers()
        yield CleanedGroup(tuple(segment.base_offset for segment in group))

    def _clean_into(
        self, cleaned: LogSegment, segment: SegmentToClean, record_filter: RecordFilter
    ) -> Iterator[CleanerReport]:
        for chunk in self._read(segment, 0):
            retained = list(record_filter.filter_chunk(chunk))
            if retained:
                data = b"".join([batch.bytes for batch in retained])
                cleaned.append(data, retained)
                self._unreported_bytes += len(data)
            yield from self._report()

    # -- files --------------------------------------------------------------------------------------------------------

    def _report(self) -> Iterator[CleanerReport]:
        if self._unreported_bytes >= self._task.report_bytes:
            io_bytes, self._unreported_bytes = self._unreported_bytes, 0
            yield CleanerProgress(io_bytes)

    def _read(self, segment: SegmentToClean, position: int) -> Iterator[Buffer]:
        """Chunks of whole batches from ``position`` to the segment's end; CRCs are valid."""
        file = self._task.files.open(self._path(names.log_file_name(segment.base_offset)), read_only=True)
        try:
            while position < segment.size:
                chunk = read_chunk(file, position, segment.size, self._task.io_buffer_bytes)
                self._unreported_bytes += len(chunk)
                yield chunk
                position += len(chunk)
        finally:
            file.close()

    def _start_position(self, segment: SegmentToClean) -> int:
        """Where in the segment the first dirty offset is, or somewhat before."""
        path = self._path(names.offset_index_file_name(segment.base_offset))
        index = OffsetIndex(
            self._task.files, path, segment.base_offset, self._task.config.segment_index_bytes, IndexCache()
        )
        return index.lookup(self._task.first_dirty_offset).position

    def _collect_aborted(self, base_offset: int, start_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions that overlap a range that begins in the segment at ``base_offset``."""
        found: list[AbortedTxn] = []
        for index in self._txn_indexes[bisect_left(self._task.base_offsets, base_offset) :]:
            aborted, complete = index.collect_aborted(start_offset, upper_bound_offset)
            found += aborted
            if complete:
                break
        return found

    def _segment(self, base_offset: int, next_base_offset: int) -> SegmentToClean:
        files = self._task.files
        log_path = self._path(names.log_file_name(base_offset))
        return SegmentToClean(
            base_offset,
            next_base_offset,
            files.size(log_path),
            _size_if_there(files, self._path(names.offset_index_file_name(base_offset))),
            _size_if_there(files, self._path(names.time_index_file_name(base_offset))),
            files.modified_ms(log_path),
        )

    def _path(self, name: str) -> str:
        return f"{self._task.directory}/{name}"


def read_chunk(file: File, position: int, end: int, chunk_bytes: int) -> bytes:
    """The whole batches in the next ``chunk_bytes``, or the next one if it is larger.

    Raises CorruptRecordError if that one is cut, and for a batch whose CRC is wrong.
    """
    left = end - position
    chunk = file.pread(min(max(chunk_bytes, HEADER_BYTES), left), position)
    whole_bytes = _check_batches(chunk)
    if whole_bytes:
        return chunk[:whole_bytes]
    size = RecordBatch(chunk).size_in_bytes
    if size > left:
        raise CorruptRecordError(
            f"Log segment may be corrupt, batch size {size} > {left} bytes left in segment at position {position} of "
            f"{file.path}"
        )
    chunk = file.pread(size, position)
    _check_batches(chunk)
    return chunk


def _check_batches(chunk: bytes) -> int:
    """Check the length, format and CRC of each whole batch; how many bytes they take."""
    view = memoryview(chunk)
    position, end = 0, len(chunk)
    while end - position >= HEADER_BYTES:
        length, magic, crc = _CHECKED_FIELDS.unpack_from(chunk, position)
        next_position = position + LOG_OVERHEAD + length
        if next_position - position < HEADER_BYTES or magic != MAGIC:
            raise CorruptRecordError(f"Record batch is corrupt (length {length}, magic {magic})")
        if next_position > end:
            break
        if crc32c(view[position + ATTRIBUTES_POSITION : next_position]) != crc:
            RecordBatch(chunk, position).ensure_valid()
        position = next_position
    return position


def remove_cleaned_files(files: Files, directory: str, base_offset: int) -> None:
    """Remove what a cleaning that did not end left behind."""
    for name in (
        names.log_file_name,
        names.offset_index_file_name,
        names.time_index_file_name,
        names.txn_index_file_name,
    ):
        path = f"{directory}/{name(base_offset, names.CLEANED_SUFFIX)}"
        if files.exists(path):
            files.remove(path)


def _size_if_there(files: Files, path: str) -> int:
    return files.size(path) if files.exists(path) else 0
