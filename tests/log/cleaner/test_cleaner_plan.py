"""Which part of a log is cleanable, which log comes first, and which segments are merged."""

from dataclasses import dataclass
from typing import cast

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log.cleaner.plan import (
    LogToClean,
    OffsetsToClean,
    cleanable_offsets,
    filthiest,
    group_segments_by_size,
    log_to_clean,
    max_compaction_delay_ms,
)
from ottla.log.cleaner.throttle import Throttler
from ottla.log.segment import LogSegment
from ottla.log.segments import LogSegments

NOW_MS = 1_000_000


@dataclass
class FakeSegment:
    base_offset: int
    size: int = 100
    largest_timestamp_ms: int = 0
    first_batch_timestamp_ms: int | None = None
    offset_index_bytes: int = 8
    time_index_bytes: int = 12


class FakeLog:
    def __init__(self, *segments: FakeSegment, end: int, start: int = 0, lso: int | None = None, **props: str) -> None:
        self.topic_partition = TopicPartition("t", 0)
        policy = {"cleanup.policy": "compact", **{key.replace("_", "."): value for key, value in props.items()}}
        self.config = LogConfig.from_props(policy)
        self.segments = LogSegments(cast("list[LogSegment]", list(segments)))
        self.log_start_offset = start
        self.log_end_offset = end
        self.recovery_point = end
        self.last_stable_offset = end if lso is None else lso


def segments(*base_offsets: int) -> list[FakeSegment]:
    return [FakeSegment(base_offset) for base_offset in base_offsets]


@pytest.mark.parametrize(
    ("checkpoint", "start", "expected", "warns"),
    [
        (None, 0, OffsetsToClean(0, 20, False), False),
        (10, 0, OffsetsToClean(10, 20, False), False),
        (5, 7, OffsetsToClean(7, 20, True), True),  # below the start
        (31, 7, OffsetsToClean(7, 20, True), True),  # beyond the end
        (30, 0, OffsetsToClean(30, 30, False), False),  # nothing is dirty
    ],
)
def test_an_impossible_checkpoint_gives_way_to_the_start(
    checkpoint: int | None, start: int, expected: OffsetsToClean, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = FakeLog(*segments(0, 10, 20), end=30, start=start)
    assert cleanable_offsets(log, checkpoint, NOW_MS) == expected
    assert bool(caplog.records) == warns


def test_retention_moves_the_start_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    log = FakeLog(*segments(0, 10, 20), end=30, start=7, cleanup_policy="compact,delete")
    assert cleanable_offsets(log, 5, NOW_MS).force_update_checkpoint
    assert not caplog.records


def test_nothing_is_cleaned_past_the_last_stable_offset() -> None:
    log = FakeLog(*segments(0, 10, 20), end=30, lso=15)
    offsets = cleanable_offsets(log, 0, NOW_MS)
    assert offsets.first_uncleanable_dirty_offset == 15
    assert log_to_clean(log, offsets, False).first_uncleanable_offset == 10


def test_young_segments_are_left_alone() -> None:
    old, young, active = segments(0, 10, 20)
    old.largest_timestamp_ms, young.largest_timestamp_ms = NOW_MS - 501, NOW_MS - 499
    log = FakeLog(old, young, active, end=30, min_compaction_lag_ms="500", max_compaction_lag_ms="1000")
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 10, False)
    young.largest_timestamp_ms = NOW_MS - 500
    assert cleanable_offsets(log, None, NOW_MS) == OffsetsToClean(0, 20, False)


def test_the_compaction_delay_counts_from_the_oldest_dirty_segment() -> None:
    clean, dirty, active = segments(0, 10, 20)
    clean.first_batch_timestamp_ms, dirty.first_batch_timestamp_ms = NOW_MS - 5000, NOW_MS - 1001
    log = FakeLog(clean, dirty, active, end=30, max_compaction_lag_ms="1000")
    assert max_compaction_delay_ms(log, 10, NOW_MS) == 1
    assert max_compaction_delay_ms(log, 0, NOW_MS) == 4000
    assert max_compaction_delay_ms(log, 20, NOW_MS) == 0
    dirty.first_batch_timestamp_ms = 0
    assert max_compaction_delay_ms(log, 10, NOW_MS) == 0


def test_sizes_count_from_segment_to_segment() -> None:
    log = FakeLog(*segments(0, 10, 20, 30), end=40)
    to_clean = log_to_clean(log, OffsetsToClean(15, 30, False), need_compaction_now=True)
    assert to_clean == LogToClean(log.topic_partition, 15, 30, True, clean_bytes=200, cleanable_bytes=200)
    assert to_clean.cleanable_ratio == 0.5


def test_the_filthiest_log_comes_first() -> None:
    log = FakeLog(*segments(0), end=10, min_cleanable_dirty_ratio="0.5")

    def candidate(clean_bytes: int, cleanable_bytes: int, now: bool = False) -> tuple[FakeLog, LogToClean]:
        return log, LogToClean(log.topic_partition, 0, 0, now, clean_bytes, cleanable_bytes)

    half, most, all_clean, urgent, empty = (
        candidate(50, 50),
        candidate(40, 60),
        candidate(100, 0, True),
        candidate(99, 1, True),
        candidate(0, 0),
    )
    assert filthiest([half, all_clean, empty]) is None
    assert filthiest([half, urgent]) == urgent
    assert filthiest([urgent, most, half]) == most


def test_segments_are_merged_while_they_fit() -> None:
    def sizes(found: list[FakeSegment], size: int = 250, index: int = 1000, end: int = 50) -> list[list[int]]:
        return [[s.base_offset for s in group] for group in group_segments_by_size(found, size, index, end)]

    five = segments(0, 10, 20, 30, 40)
    assert sizes([]) == []
    assert sizes(five) == [[0, 10], [20, 30], [40]]
    assert sizes(five, size=50) == [[0], [10], [20], [30], [40]]  # each is larger than allowed
    assert sizes(five, size=10_000) == [[0, 10, 20, 30, 40]]
    assert sizes(five, size=10_000, index=24) == [[0, 10], [20, 30], [40]]  # the time index is the larger one
    five[0].offset_index_bytes = 24
    assert sizes(five, size=10_000, index=24) == [[0], [10, 20], [30, 40]]


def test_offsets_of_a_group_stay_in_range() -> None:
    def groups(found: list[FakeSegment], first_uncleanable: int) -> list[list[int]]:
        grouped = group_segments_by_size(found, 10_000, 10_000, first_uncleanable)
        return [[segment.base_offset for segment in group] for group in grouped]

    limit = (1 << 31) - 1
    found = segments(0, 10, limit)
    assert groups(found, limit + 1) == [[0, 10, limit]]
    assert groups(found, limit + 2) == [[0, 10], [limit]]
    found[2].size = 0
    assert groups(found, limit + 2) == [[0, 10, limit]]  # an empty segment has no offsets to index


def test_the_throttle_asks_for_pauses_that_hold_the_rate() -> None:
    throttler = Throttler(1000, monotonic_ms=0)
    assert throttler.observe(10_000, 300) == 0  # too early to tell
    assert throttler.observe(0, 400) == 9_600
    assert throttler.observe(100, 10_200) == 0
    assert throttler.observe(100, 10_500) == 0  # 200 bytes in half a second are fewer than allowed
    throttler.bytes_per_second = 100
    assert throttler.observe(100, 11_000) == 500
