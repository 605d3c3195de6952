"""Which log to clean next, which part of it, and which segments become one: pure decisions.

A log is *clean* up to the first dirty offset (the checkpoint), *cleanable* from there to the first uncleanable offset,
and *uncleanable* after it: the active segment, whatever is not decided, replicated or flushed yet, and what is younger
than ``min.compaction.lag.ms``.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log.segment import LogSegment
from ottla.log.segments import LogSegments

_RELATIVE_OFFSET_MAX = (1 << 31) - 1

_logger = logging.getLogger(__name__)


class CleanableLog(Protocol):
    """What of a log decides about its cleaning."""

    @property
    def topic_partition(self) -> TopicPartition:
        """Whose log it is."""

    @property
    def config(self) -> LogConfig:
        """The topic's configuration."""

    @property
    def segments(self) -> LogSegments:
        """All segments."""

    @property
    def log_start_offset(self) -> int:
        """The first offset that can be read."""

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record will get."""

    @property
    def recovery_point(self) -> int:
        """Below it everything is on the disk."""

    @property
    def last_stable_offset(self) -> int:
        """Below it every record is replicated and every transaction decided."""


AnyLog = TypeVar("AnyLog", bound=CleanableLog)


class OffsetsToClean(NamedTuple):
    """The cleanable offsets, and whether the checkpoint was wrong and must be set to ``first_dirty_offset``."""

    first_dirty_offset: int
    first_uncleanable_dirty_offset: int
    force_update_checkpoint: bool


class LogToClean(NamedTuple):
    """A log and how filthy it is; ``first_uncleanable_offset`` is the base of a segment."""

    topic_partition: TopicPartition
    first_dirty_offset: int
    first_uncleanable_offset: int
    need_compaction_now: bool
    clean_bytes: int
    cleanable_bytes: int

    @property
    def total_bytes(self) -> int:
        """Clean and cleanable bytes; a segment in which cleaning stopped midway counts as both."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        """The dirty share, which ``min.cleanable.dirty.ratio`` is compared with."""
        return self.cleanable_bytes / self.total_bytes

    def is_filthy_enough(self, config: LogConfig) -> bool:
        """Whether a cleaning is due, by its ratio or because the oldest record waits too long."""
        return (
            self.need_compaction_now and self.cleanable_bytes > 0
        ) or self.cleanable_ratio > config.min_cleanable_dirty_ratio


def cleanable_offsets(log: CleanableLog, last_clean_offset: int | None, now_ms: int) -> OffsetsToClean:
    """From where to where the log can be cleaned; an impossible checkpoint gives way to the log's start."""
    log_start_offset = log.log_start_offset
    first_dirty_offset = log_start_offset if last_clean_offset is None else last_clean_offset
    force_update_checkpoint = not log_start_offset <= first_dirty_offset <= log.log_end_offset
    if force_update_checkpoint:
        # With retention the start moves past the checkpoint as a matter of course.
        if first_dirty_offset > log.log_end_offset or not log.config.delete:
            _logger.warning(
                "Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %d is invalid "
                "(log end offset %d).",
                log.topic_partition,
                log_start_offset,
                first_dirty_offset,
                log.log_end_offset,
            )
        first_dirty_offset = log_start_offset
    # A record must not give way to a later one of its key that a crash can still take.
    bounds = [log.last_stable_offset, log.segments.active.base_offset, log.recovery_point]
    min_compaction_lag_ms = max(log.config.min_compaction_lag_ms, 0)
    if min_compaction_lag_ms > 0:
        young_ms = now_ms - min_compaction_lag_ms
        young = (s for s in non_active_segments_from(log, first_dirty_offset) if s.largest_timestamp_ms > young_ms)
        bounds.extend(segment.base_offset for segment in [next(young, None)] if segment is not None)
    return OffsetsToClean(first_dirty_offset, max(first_dirty_offset, min(bounds)), force_update_checkpoint)


def max_compaction_delay_ms(log: CleanableLog, first_dirty_offset: int, now_ms: int) -> int:
    """How long the oldest dirty segment has waited beyond ``max.compaction.lag.ms``; 0 if it has not."""
    first_timestamps = (s.first_batch_timestamp_ms for s in non_active_segments_from(log, first_dirty_offset))
    earliest_ms = min((ms for ms in first_timestamps if ms is not None and ms > 0), default=None)
    clean_until_ms = now_ms - max(log.config.max_compaction_lag_ms, 0)
    return 0 if earliest_ms is None else max(0, clean_until_ms - earliest_ms)


def log_to_clean(log: CleanableLog, offsets: OffsetsToClean, need_compaction_now: bool) -> LogToClean:
    """Measure how much of the log is clean and how much is cleanable."""
    uncleanable = non_active_segments_from(log, offsets.first_uncleanable_dirty_offset)
    first_uncleanable_offset = (uncleanable[0] if uncleanable else log.segments.active).base_offset
    first_dirty_offset = offsets.first_dirty_offset
    cleanable = segments_between(log, min(first_dirty_offset, first_uncleanable_offset), first_uncleanable_offset)
    return LogToClean(
        log.topic_partition,
        first_dirty_offset,
        first_uncleanable_offset,
        need_compaction_now,
        clean_bytes=sum(segment.size for segment in segments_between(log, -1, first_dirty_offset)),
        cleanable_bytes=sum(segment.size for segment in cleanable),
    )


def filthiest(candidates: Iterable[tuple[AnyLog, LogToClean]]) -> tuple[AnyLog, LogToClean] | None:
    """The log with the largest dirty share among those that are filthy enough."""
    due = [
        (log, to_clean)
        for log, to_clean in candidates
        if to_clean.total_bytes > 0 and to_clean.is_filthy_enough(log.config)
    ]
    return max(due, key=lambda candidate: candidate[1].cleanable_ratio, default=None)


def non_active_segments_from(log: CleanableLog, offset: int) -> list[LogSegment]:
    """The sealed segments from the one that may hold ``offset`` on."""
    return segments_between(log, offset, log.segments.active.base_offset)


def segments_between(log: CleanableLog, start: int, end: int) -> list[LogSegment]:
    """The segments that may hold offsets from ``start`` to before ``end``; none for an empty range."""
    return log.segments.between(start, end) if start < end else []


class SegmentSizes(Protocol):
    """What of a segment decides how it is grouped."""

    @property
    def base_offset(self) -> int:
        """Where it begins."""

    @property
    def size(self) -> int:
        """Bytes of records."""

    @property
    def offset_index_bytes(self) -> int:
        """Bytes of offset index entries."""

    @property
    def time_index_bytes(self) -> int:
        """Bytes of time index entries."""


AnySegment = TypeVar("AnySegment", bound=SegmentSizes)


def group_segments_by_size(
    segments: Sequence[AnySegment], max_size: int, max_index_size: int, first_uncleanable_offset: int
) -> list[list[AnySegment]]:
    """Neighbours that fit in one segment together, by size, by size of either index, and by range of offsets.

    Cleaned segments shrink; merging them keeps their number from growing.
    """
    groups: list[list[AnySegment]] = []
    size = offset_index_bytes = time_index_bytes = 0
    for number, segment in enumerate(segments):
        size += segment.size
        offset_index_bytes += segment.offset_index_bytes
        time_index_bytes += segment.time_index_bytes
        next_offset = segments[number + 1].base_offset if number + 1 < len(segments) else first_uncleanable_offset
        if (
            groups
            and size <= max_size
            and offset_index_bytes <= max_index_size
            and time_index_bytes <= max_index_size
            # An empty segment has no offsets that would need to fit.
            and (segment.size == 0 or next_offset - 1 - groups[-1][0].base_offset <= _RELATIVE_OFFSET_MAX)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = segment.size
            offset_index_bytes, time_index_bytes = segment.offset_index_bytes, segment.time_index_bytes
    return groups
