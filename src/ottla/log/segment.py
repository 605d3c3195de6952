"""A segment of a log: a record file and its three indexes, under one base offset.

Life: *active* (appended to) → *inactive* (sealed by a roll) → deleted, or replaced by the cleaner. ``suffix`` tells
what the files are called meanwhile: nothing, ``.cleaned``, ``.swap`` or ``.deleted``.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from ottla.common.error_words import in_words
from ottla.common.errors import CorruptRecordError, KafkaError
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.batch_search import BatchPosition, find_batch, indexed_start
from ottla.log.index_cache import IndexCache
from ottla.log.offset_index import OffsetIndex
from ottla.log.time_index import TimeIndex, TimestampOffset
from ottla.log.txn_index import TransactionIndex
from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.records.timestamp_search import Search
from ottla.runtime.port import Buffer, Clock, File, Files

READ_CHUNK_BYTES: Final = 1 << 20
_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
_INDEX_FILE_NAMES: Final = (names.offset_index_file_name, names.time_index_file_name, names.txn_index_file_name)


class SegmentOffsetOverflowError(KafkaError):
    """An offset too far from the segment's base to be indexed; the log must roll, or split the segment."""


class LogSegment:
    """One segment. Whoever owns the log decides when to roll, flush and delete it."""

    def __init__(
        self,
        files: Files,
        clock: Clock,
        directory: str,
        base_offset: int,
        config: LogConfig,
        *,
        suffix: str = "",
        jitter_ms: int = 0,
        index_cache: IndexCache | None = None,
    ) -> None:
        """Open the files, making a missing record file; use :meth:`open` to make a new segment."""
        cache = index_cache or IndexCache()
        self.base_offset = base_offset
        self.directory = directory
        self.suffix = suffix
        self.jitter_ms = jitter_ms
        self._files = files
        self._clock = clock
        self.index_interval_bytes = config.index_interval_bytes
        self.log_file: File = files.open(self._path(names.log_file_name), create=True)
        self.size = self.log_file.size()
        index_bytes = config.segment_index_bytes
        self.offset_index = OffsetIndex(
            files, self._path(names.offset_index_file_name), base_offset, index_bytes, cache
        )
        self.time_index = TimeIndex(files, self._path(names.time_index_file_name), base_offset, index_bytes, cache)
        self.txn_index = TransactionIndex(files, self._path(names.txn_index_file_name), base_offset)
        self._index_files = (self.offset_index.file, self.time_index.file, self.txn_index.file)
        self._created_ms = clock.monotonic_ms()
        self._bytes_since_index_entry = 0
        self._max_timestamp: TimestampOffset | None = None
        self._rolling_timestamp: int | None = None
        self.has_full_index = False
        """Whether an index takes no more entries; known while the segment is active."""

    @classmethod
    def open(
        cls,
        files: Files,
        clock: Clock,
        directory: str,
        base_offset: int,
        config: LogConfig,
        *,
        suffix: str = "",
        jitter_ms: int = 0,
        index_cache: IndexCache | None = None,
    ) -> "LogSegment":
        """Make a segment that will be appended to, preallocated if the topic says so; none of its files, or all."""
        segment = cls(
            files, clock, directory, base_offset, config, suffix=suffix, jitter_ms=jitter_ms, index_cache=index_cache
        )
        try:
            if config.preallocate and segment.size == 0:
                segment.log_file.truncate(config.segment_bytes)
            segment.activate()
        except OSError:
            segment.take_back()
            raise
        return segment

    def activate(self) -> None:
        """Make ready for appends: both sparse indexes in memory, their files there."""
        self.offset_index.activate()
        self.time_index.activate()
        self.write_out_indexes()
        self._count_index_entries()

    # -- writing ------------------------------------------------------------------------------------------------------

    def append(self, data: Buffer, batches: Sequence[RecordBatch]) -> None:
        """Write whole batches at the end with one call, and index them.

        Raises SegmentOffsetOverflowError before anything is written; after an OSError the segment is as it was,
        whatever reached the file lies behind its end and is overwritten.
        """
        last_batch = batches[-1]
        last_offset = last_batch.base_offset + last_batch.last_offset_delta
        if not 0 <= last_offset - self.base_offset <= _RELATIVE_OFFSET_MAX:
            raise SegmentOffsetOverflowError(f"offset {last_offset} does not fit in the segment at {self.base_offset}")
        position = self.size
        self.log_file.pwrite(data, position)
        self.size = position + len(data)
        if position == 0:
            self._rolling_timestamp = batches[0].max_timestamp
        max_timestamp = self._max_timestamp or self.max_timestamp_and_offset
        for batch in batches:
            batch_last_offset = batch.base_offset + batch.last_offset_delta
            if batch.max_timestamp > max_timestamp[0]:
                # a third of a microsecond less than the class's own
                max_timestamp = self._max_timestamp = tuple.__new__(
                    TimestampOffset, (batch.max_timestamp, batch_last_offset)
                )
            if self._bytes_since_index_entry > self.index_interval_bytes:
                self.offset_index.append(batch_last_offset, position)
                self.time_index.maybe_append(*max_timestamp)
                self._bytes_since_index_entry = 0
                self._count_index_entries()
            size = batch.size_in_bytes
            position += size
            self._bytes_since_index_entry += size

    def should_roll(self, max_timestamp: int, last_offset: int, segment_ms: int) -> bool:
        """Whether batches that fit by size belong in a new segment all the same: by age, full index or offset range."""
        first = self._rolling_timestamp  # what time_waited_for_roll_ms does, for the hot path
        if first is not None and first >= 0:
            is_old = max_timestamp - first > segment_ms - self.jitter_ms
        else:
            waited_ms = self.time_waited_for_roll_ms(max_timestamp)
            is_old = self.size > 0 and waited_ms > segment_ms - self.jitter_ms
        return is_old or self.has_full_index or not 0 <= last_offset - self.base_offset <= _RELATIVE_OFFSET_MAX

    def _count_index_entries(self) -> None:
        """Look whether the indexes take more; after whatever changes how many entries they have."""
        self.has_full_index = self.offset_index.is_full or self.time_index.is_full

    def time_waited_for_roll_ms(self, max_timestamp: int) -> int:
        """The age for rolling: by record timestamps where there are any, else by the clock since creation."""
        first = self._first_batch_timestamp()
        return (
            max_timestamp - first if first is not None and first >= 0 else self._clock.monotonic_ms() - self._created_ms
        )

    def become_inactive(self) -> None:
        """Seal after the last append. After an OSError the segment is still active."""
        self.complete_files()
        self.seal()

    def complete_files(self) -> None:
        """Give the files all that those of a sealed segment have: the largest timestamp in the time index, no room
        behind what is used. The segment is still active.
        """
        self.time_index.maybe_append(*self.max_timestamp_and_offset)
        self._trim()
        self.write_out_indexes()

    def seal(self) -> None:
        """Hand the entries to the cache: no appends follow. The files are complete, so nothing can fail."""
        self.offset_index.seal()
        self.time_index.seal()

    def truncate_to(self, offset: int) -> int:
        """Drop every batch that holds ``offset`` or a later one; returns the bytes dropped."""
        found = self.find_batch(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self.activate()
        dropped_bytes = 0
        if found is not None:
            dropped_bytes = self.size - found.position
            self.truncate_file(found.position)
        if self.size == 0:
            self._created_ms = self._clock.monotonic_ms()
            self._rolling_timestamp = None
        self._bytes_since_index_entry = 0
        self._max_timestamp = self._read_max_timestamp()
        return dropped_bytes

    def truncate_file(self, size: int) -> None:
        """Cut the record file alone; recovery rebuilds the rest."""
        self.log_file.truncate(size)
        self.size = size

    def restore_after_recovery(self, max_timestamp: TimestampOffset) -> None:
        """Take over what a scan of the whole file found."""
        self._max_timestamp = max_timestamp
        self._rolling_timestamp = None
        self._bytes_since_index_entry = 0

    # -- reading ------------------------------------------------------------------------------------------------------

    def find_batch(self, offset: int) -> BatchPosition | None:
        """The first batch whose last offset is at least ``offset``; None past the end."""
        return find_batch(self.log_file, self.size, self.offset_index, offset)

    def read_batches(self, position: int = 0, chunk_bytes: int = READ_CHUNK_BYTES) -> Iterator[RecordBatch]:
        """The batches from ``position`` to the end, as views over chunks of the file; CRCs are not checked.

        Ends before a cut last batch; raises CorruptRecordError at a length no batch can have.
        """
        while position + HEADER_BYTES <= self.size:
            chunk = memoryview(self.log_file.pread(min(chunk_bytes, self.size - position), position))
            at, end = 0, len(chunk)
            while end - at >= HEADER_BYTES:
                batch = RecordBatch(chunk, at)
                size = batch.size_in_bytes
                if size < HEADER_BYTES:
                    raise CorruptRecordError(
                        f"batch of {size} bytes at position {position + at} of {self.log_file.path}"
                    )
                if at + size > end:
                    break
                yield batch
                at += size
            else:
                position += at
                continue
            if at == 0:
                if position + size > self.size:
                    return
                chunk_bytes = size
            position += at

    def read_next_offset(self) -> int:
        """The offset after the last whole batch; the base offset when there is none."""
        return self.read_end()[0]

    def read_end(self) -> tuple[int, int]:
        """The offset and the position behind the last whole batch, found from the last index entry on.

        A position before the segment's size tells of damage: a clean stop leaves nothing behind the last batch.
        """
        next_offset = self.base_offset
        position, _ = indexed_start(
            self.log_file, self.size, self.offset_index, self.base_offset + _RELATIVE_OFFSET_MAX
        )
        with suppress(CorruptRecordError):
            for batch in self.read_batches(position):
                next_offset = batch.next_offset
                position += batch.size_in_bytes
        return next_offset, position

    def find_offset_by_timestamp(
        self, timestamp: int, starting_offset: int, search: Search
    ) -> tuple[int, int, int] | None:
        """The first record at or after both bounds, as (timestamp, offset, leader epoch)."""
        indexed = self.time_index.lookup(timestamp)
        found = self.find_batch(max(indexed.offset, starting_offset))
        if found is None:
            return None
        for batch in self.read_batches(found.position):
            if batch.max_timestamp >= timestamp and (record := search(batch, timestamp, starting_offset)):
                return *record, batch.partition_leader_epoch
        return None

    # -- timestamps ---------------------------------------------------------------------------------------------------

    @property
    def max_timestamp_and_offset(self) -> TimestampOffset:
        """The largest timestamp, and the last offset of its batch; (-1, base offset) without any."""
        if self._max_timestamp is None:
            self._max_timestamp = self.time_index.last_entry
        return self._max_timestamp

    @property
    def largest_timestamp_ms(self) -> int:
        """What retention goes by: the largest record timestamp, or the file's time when no record has one."""
        timestamp = self.max_timestamp_and_offset.timestamp
        return timestamp if timestamp >= 0 else self.modified_ms

    @property
    def first_batch_timestamp_ms(self) -> int | None:
        """The first batch's largest timestamp, for compaction lag; None when it has none."""
        first = self._first_batch_timestamp()
        return first if first is not None and first >= 0 else None

    @property
    def modified_ms(self) -> int:
        """When the record file last changed."""
        return self._files.modified_ms(self._path(names.log_file_name))

    def set_modified_ms(self, modified_ms: int) -> None:
        """Date the files back to those they were made from, as the cleaner must."""
        for path in (self._path(names.log_file_name), self.offset_index.path, self.time_index.path):
            self._files.set_modified_ms(path, modified_ms)

    def _first_batch_timestamp(self) -> int | None:
        if self._rolling_timestamp is None and self.size >= HEADER_BYTES:
            self._rolling_timestamp = RecordBatch(self.log_file.pread(HEADER_BYTES, 0)).max_timestamp
        return self._rolling_timestamp

    def _read_max_timestamp(self) -> TimestampOffset:
        """The last time index entry, or a later batch that beats it."""
        largest = self.time_index.last_entry
        found = self.find_batch(largest.offset)
        for batch in self.read_batches(found.position) if found is not None else ():
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampOffset(batch.max_timestamp, batch.last_offset)
        return largest

    # -- files --------------------------------------------------------------------------------------------------------

    def write_out_indexes(self) -> None:
        """Bring the index files up to date."""
        self.offset_index.write_out()
        self.time_index.write_out()

    def begin_sync(self) -> None:
        """Bring the index files up to date and open those that must be synced; on the reactor."""
        self.write_out_indexes()
        for file in self._index_files:
            file.begin_sync()

    def sync(self) -> None:
        """Make all files durable, between ``begin_sync`` and ``end_sync``; away from the reactor."""
        self.log_file.sync()
        for file in self._index_files:
            file.sync()

    def end_sync(self) -> None:
        """Close what ``begin_sync`` has opened, whether the sync worked or not; on the reactor again."""
        for file in self._index_files:
            file.end_sync()

    def flush(self) -> None:
        """All three at once."""
        try:
            self.begin_sync()
            self.sync()
        finally:
            self.end_sync()

    def close(self) -> None:
        """Write the last time index entry, trim and let go of the files."""
        if self._max_timestamp is not None:
            self.time_index.maybe_append(*self._max_timestamp)
        self.offset_index.close()
        self.time_index.close()
        self.txn_index.close()
        self._trim()
        self.log_file.close()

    def close_handlers(self) -> None:
        """Let go without writing, for a disk that has failed."""
        self.offset_index.close_handlers()
        self.time_index.close_handlers()
        self.txn_index.close()
        self.log_file.close()

    def change_suffix(self, suffix: str) -> None:
        """Rename all files; open handles and readers stay good."""
        log_path = self._path(names.log_file_name)
        self.suffix = suffix
        self._files.rename(log_path, self._path(names.log_file_name))
        for file, name in zip(self._index_files, _INDEX_FILE_NAMES, strict=True):
            file.rename(self._path(name))

    def move_to(self, directory: str) -> None:
        """Follow the directory, which was renamed."""
        self.directory = directory
        for file, name in zip(self._index_files, _INDEX_FILE_NAMES, strict=True):
            file.path = self._path(name)

    def delete_files(self) -> None:
        """Remove all files from the disk; what is gone already is fine."""
        self.log_file.close()
        self.offset_index.remove()
        self.time_index.remove()
        self.txn_index.remove()
        path = self._path(names.log_file_name)
        if self._files.exists(path):
            self._files.remove(path)

    def take_back(self) -> None:
        """Remove a segment that is not to be. Left behind, it would end the log at a restart: to fail is the disk's."""
        try:
            self.delete_files()
        except OSError as error:
            raise OSError(errno.EIO, f"{self} could not be removed again: {in_words(error)}") from error

    def _trim(self) -> None:
        if self.log_file.size() != self.size:
            self.log_file.truncate(self.size)

    def _path(self, name: Callable[[int, str], str]) -> str:
        return f"{self.directory}/{name(self.base_offset, self.suffix)}"

    def __repr__(self) -> str:
        return (
            f"LogSegment(base_offset={self.base_offset}, size={self.size}{', ' + self.suffix if self.suffix else ''})"
        )
