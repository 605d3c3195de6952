"""When the active segment is sealed and a new one begins."""

from random import Random

import pytest

from ottla.common.errors import RecordListTooLargeError
from ottla.config.topic import LogConfig
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, A, Machine, append, batch, offsets_in
from tests.sim.crash_files import CrashPolicy, PowerLoss

HOUR_MS = 3_600_000


def test_by_size() -> None:
    size = len(batch(value_bytes=100))
    log = Machine(A).load(LogConfig(segment_bytes=2 * size))
    for _ in range(5):
        append(log, value_bytes=100)
    assert log.segments.base_offsets == [0, 2, 4]
    assert [segment.size for segment in log.segments.values()] == [2 * size, 2 * size, size]


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = Machine(A).load(LogConfig(segment_bytes=100))
    with pytest.raises(RecordListTooLargeError, match="exceeds the maximum configured segment size of 100"):
        append(log, value_bytes=100)
    assert log.log_end_offset == 0
    assert log.segments.base_offsets == [0]


def test_by_the_time_of_the_records() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(segment_ms=HOUR_MS))
    append(log, timestamp=NOW_MS)
    machine.clock.advance_ms(10 * HOUR_MS)
    append(log, timestamp=NOW_MS + HOUR_MS)
    assert log.segments.base_offsets == [0], "the clock does not count where records have a time of their own"
    append(log, timestamp=NOW_MS + HOUR_MS + 1)
    assert log.segments.base_offsets == [0, 2]
    append(log, timestamp=NOW_MS)
    assert log.segments.base_offsets == [0, 2], "an old record is no reason to roll"


def test_by_the_clock_where_records_have_no_time() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(segment_ms=HOUR_MS))
    append(log, timestamp=-1)
    machine.clock.advance_ms(HOUR_MS)
    append(log, timestamp=-1)
    assert log.segments.base_offsets == [0]
    machine.clock.advance_ms(1)
    append(log, timestamp=-1)
    assert log.segments.base_offsets == [0, 2]


@pytest.mark.parametrize("hours", [5, -5])
def test_a_wall_clock_that_is_set_makes_no_segment_older_or_younger(hours: int) -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(segment_ms=HOUR_MS))
    append(log, timestamp=-1)
    machine.clock.set_now_ms(machine.clock.now_ms() + hours * HOUR_MS)
    append(log, timestamp=-1)
    assert log.segments.base_offsets == [0]
    machine.clock.advance_ms(HOUR_MS + 1)
    append(log, timestamp=-1)
    assert log.segments.base_offsets == [0, 2]


def test_an_empty_segment_does_not_age() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(segment_ms=HOUR_MS))
    machine.clock.advance_ms(10 * HOUR_MS)
    append(log, timestamp=-1)
    assert log.segments.base_offsets == [0]


def test_a_segment_keeps_its_age_over_a_restart() -> None:
    machine = Machine(A)
    config = LogConfig(segment_ms=HOUR_MS)
    log = machine.load(config)
    append(log, timestamp=NOW_MS)
    log.close()
    machine.clock.advance_ms(2 * HOUR_MS)
    log = machine.load(config, clean=True)
    append(log, timestamp=NOW_MS + HOUR_MS + 1)
    assert log.segments.base_offsets == [0, 1]


def test_jitter_makes_a_segment_younger_by_chance() -> None:
    machine = Machine(A)
    machine.runtime.rng = Random(3)
    config = LogConfig(segment_ms=HOUR_MS, segment_jitter_ms=HOUR_MS // 2)
    log = machine.load(config)
    jitter_ms = log.segments.active.jitter_ms
    assert 0 < jitter_ms < HOUR_MS // 2
    append(log, timestamp=NOW_MS)
    append(log, timestamp=NOW_MS + HOUR_MS - jitter_ms)
    assert log.segments.base_offsets == [0]
    append(log, timestamp=NOW_MS + HOUR_MS - jitter_ms + 1)
    assert log.segments.base_offsets == [0, 2]
    assert log.segments.active.jitter_ms != jitter_ms, "each segment draws its own"


def test_a_compacted_log_rolls_in_time_for_its_largest_lag() -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=1000)
    log = Machine(A).load(config)
    append(log, timestamp=NOW_MS)
    append(log, timestamp=NOW_MS + 1001)
    assert log.segments.base_offsets == [0, 1]


@pytest.mark.parametrize(
    ("index_bytes", "batches_a_segment"),
    [(24, 3), (36, 4)],
    ids=["time index of one entry and the last", "time index of two entries and the last"],
)
def test_when_an_index_is_full(index_bytes: int, batches_a_segment: int) -> None:
    log = Machine(A).load(LogConfig(index_interval_bytes=1, segment_index_bytes=index_bytes))
    for number in range(9):
        append(log, timestamp=NOW_MS + number)
    first, second = log.segments.base_offsets[:2]
    assert second - first == batches_a_segment - 1
    for segment in log.segments.values():
        assert segment.time_index.count * 12 <= index_bytes
        assert segment.offset_index.count * 8 <= index_bytes


def test_when_an_offset_does_not_fit_the_segment() -> None:
    log = Machine(A).load()
    log.append_as_follower(batch(base_offset=5), 0)
    assert log.segments.base_offsets == [0]
    log.append_as_follower(batch(base_offset=(1 << 31) - 1), 0)
    assert log.segments.base_offsets == [0], "the last offset that fits"
    log.append_as_follower(batch(base_offset=1 << 31), 0)
    assert log.segments.base_offsets == [0, 1 << 31]
    log.append_as_follower(batch(base_offset=1 << 40), 0)
    assert log.segments.base_offsets == [0, 1 << 31, 1 << 40]
    assert offsets_in(log.read(6, 1 << 20).read()) == [(1 << 31) - 1]
    assert offsets_in(log.read((1 << 31) + 1, 1 << 20).read()) == [1 << 40]


def test_an_empty_first_segment_makes_way_for_a_far_offset() -> None:
    log = Machine(A).load()
    log.append_as_follower(batch(base_offset=1 << 35), 0)
    assert log.segments.base_offsets == [0, 1 << 35]
    assert offsets_in(log.read(0, 1 << 20).read()) == [1 << 35]


def test_rolling_an_empty_segment_leaves_one_segment() -> None:
    machine = Machine(A)
    log = machine.load()
    log.roll()
    append(log)
    assert log.segments.base_offsets == [0]
    assert offsets_in(log.read(0, 1000).read()) == [0]


def test_files_that_stand_where_a_new_segment_begins_go() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log)
    for name in ("00000000000000000001.log", "00000000000000000001.index", "00000000000000000001.txnindex"):
        machine.write(f"{A}/topic-0/{name}", b"left behind")
    log.roll()
    append(log)
    assert log.segments[1].size == len(batch())
    assert log.segments[1].txn_index.entries() == []


def test_a_sealed_segment_has_its_last_timestamp_and_a_snapshot_begins_the_next() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log, timestamp=NOW_MS + 7)
    log.roll()
    assert log.segments.first.time_index.last_entry == (NOW_MS + 7, 0)
    assert machine.files.size(f"{A}/topic-0/00000000000000000000.timeindex") == 12
    assert machine.files.exists(f"{A}/topic-0/00000000000000000001.snapshot")


def test_a_kill_in_the_middle_leaves_no_sealed_segment_without_its_largest_timestamp() -> None:
    """Whatever was flushed is not looked at again by a start: all but the last segment count as sealed."""
    for changes in range(20):
        machine = Machine(A)
        log = machine.load(LogConfig())
        for minute in range(3):
            append(log, timestamp=NOW_MS + minute)
        run(log.flush())
        machine.files.power_off_after(changes)
        try:
            log.roll()
        except PowerLoss:
            is_over = False
        else:
            is_over = True
        machine.crash(CrashPolicy.KEEP_ALL)
        log = machine.load(LogConfig(), recovery_point=3)
        assert log.log_end_offset == 3
        assert log.segments.first.largest_timestamp_ms == NOW_MS + 2, f"killed after {changes} changes"
        if is_over:
            assert log.segments.base_offsets == [0, 3]
            return
    raise AssertionError("a roll takes more changes than that")
