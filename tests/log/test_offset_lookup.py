"""Offsets by timestamp, real ones and those with a meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.topic import LogConfig
from ottla.log.log import Log
from ottla.log.offset_lookup import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    TimestampedOffset,
    offset_for_timestamp,
)
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import SimpleRecord
from tests.log.log_machine import NOW_MS, A, Machine, append


def append_at(log: Log, *timestamps: int, epoch: int = 0, compression: int = Compression.NONE) -> None:
    """One batch."""
    records = [SimpleRecord(NOW_MS + timestamp, b"k", b"v") for timestamp in timestamps]
    log.append_as_leader(build_batch(records, compression=compression), epoch)
    log.update_high_watermark(log.log_end_offset)


def find(log: Log, timestamp: int) -> tuple[int, int, int | None] | None:
    """With timestamps from NOW_MS on."""
    found = offset_for_timestamp(log, NOW_MS + timestamp)
    return None if found is None else (found.timestamp - NOW_MS, found.offset, found.leader_epoch)


def test_the_first_record_that_is_not_older() -> None:
    log = Machine(A).load()
    append_at(log, 10, 20)
    append_at(log, 30, 25, epoch=1)
    log.roll()
    append_at(log, 40, epoch=2)
    expected = {0: (10, 0, 0), 10: (10, 0, 0), 11: (20, 1, 0), 21: (30, 2, 1), 30: (30, 2, 1), 31: (40, 4, 2)}
    assert {timestamp: find(log, timestamp) for timestamp in expected} == expected
    assert find(log, 41) is None


def test_not_below_the_log_start_offset() -> None:
    log = Machine(A).load()
    append_at(log, 10, 20, 30)
    log.maybe_increment_log_start_offset(1, "client record deletion")
    assert find(log, 0) == (20, 1, 0)


@pytest.mark.parametrize("timestamp", [EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP])
def test_the_earliest(timestamp: int) -> None:
    log = Machine(A).load()
    assert offset_for_timestamp(log, timestamp) == TimestampedOffset(-1, 0, None)
    append(log, 3, epoch=4)
    log.maybe_increment_log_start_offset(2, "client record deletion")
    assert offset_for_timestamp(log, timestamp) == TimestampedOffset(-1, 2, 4)


def test_the_latest() -> None:
    log = Machine(A).load()
    assert offset_for_timestamp(log, LATEST_TIMESTAMP) == TimestampedOffset(-1, 0, None)
    append(log, 3, epoch=4)
    assert offset_for_timestamp(log, LATEST_TIMESTAMP) == TimestampedOffset(-1, 3, 4)


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.LZ4])
def test_the_one_with_the_largest_timestamp(compression: int) -> None:
    log = Machine(A).load()
    assert offset_for_timestamp(log, MAX_TIMESTAMP) is None
    append_at(log, 5, compression=compression)
    append_at(log, 10, 50, 50, 20, epoch=3, compression=compression)
    log.roll()
    append_at(log, 50, 1, epoch=4)
    assert offset_for_timestamp(log, MAX_TIMESTAMP) == TimestampedOffset(NOW_MS + 50, 2, 3)
    append_at(log, 51, epoch=5)
    assert offset_for_timestamp(log, MAX_TIMESTAMP) == TimestampedOffset(NOW_MS + 51, 7, 5)


def test_records_without_a_time_have_no_largest() -> None:
    log = Machine(A).load()
    append(log, 2, timestamp=-1)
    assert offset_for_timestamp(log, MAX_TIMESTAMP) is None


@pytest.mark.parametrize("timestamp", [LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP])
def test_nothing_is_tiered(timestamp: int) -> None:
    log = Machine(A).load()
    append(log, 3)
    assert offset_for_timestamp(log, timestamp) == TimestampedOffset(-1, -1, -1)


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), min_size=1, max_size=12), st.integers(-1, 31))
def test_like_a_search_through_the_segments(batches: list[list[int]], wanted: int) -> None:
    """Apache stops at the first segment whose largest timestamp reaches the one looked for; within, at the record."""
    log = Machine(A).load(LogConfig(index_interval_bytes=1))
    records: list[tuple[int, int]] = []
    for number, timestamps in enumerate(batches):
        if number % 4 == 3:
            log.roll()
        append_at(log, *timestamps)
        records += [(timestamp, len(records) + index) for index, timestamp in enumerate(timestamps)]
    found = find(log, wanted)
    expected = next(((*record, 0) for record in records if record[0] >= wanted), None)
    assert found == expected
