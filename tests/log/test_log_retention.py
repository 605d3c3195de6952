"""Retention: by time, by size, by log start offset, and what each cleanup policy makes of it."""

import pytest

from ottla.config.topic import LogConfig
from ottla.log.log import Log
from ottla.runtime.inline import run
from tests.log.log_machine import NOW_MS, T0, T1, T2, T3, A, Machine, append, batch

DAY_MS = 86_400_000
SIZE = len(batch())


def four_segments(machine: Machine, config: LogConfig) -> Log:
    """One record each, a day apart; the last one is active and new."""
    log = machine.load(config)
    for number in range(4):
        if number:
            log.roll()
            machine.clock.advance_ms(DAY_MS)
        append(log, timestamp=NOW_MS + number * DAY_MS)
    return log


@pytest.mark.parametrize(
    ("retention_ms", "left"),
    [(-1, [0, 1, 2, 3]), (3 * DAY_MS, [0, 1, 2, 3]), (3 * DAY_MS - 1, [1, 2, 3]), (DAY_MS - 1, [3]), (0, [3])],
)
def test_by_time(retention_ms: int, left: list[int]) -> None:
    log = four_segments(Machine(A), LogConfig(retention_ms=retention_ms))
    assert log.delete_old_segments() == 4 - len(left)
    assert log.segments.base_offsets == left
    assert log.log_start_offset == left[0]
    assert log.delete_old_segments() == 0


def test_the_active_segment_is_sealed_and_deleted_when_it_is_old() -> None:
    machine = Machine(A)
    log = four_segments(machine, LogConfig(retention_ms=DAY_MS))
    machine.clock.advance_ms(DAY_MS + 1)
    assert log.delete_old_segments() == 4
    assert log.segments.base_offsets == [4]
    assert (log.log_start_offset, log.log_end_offset, log.size_in_bytes) == (4, 4, 0)
    machine.clock.advance_ms(DAY_MS + 1)
    assert log.delete_old_segments() == 0, "an empty segment stays"
    append(log)
    assert log.log_end_offset == 5


def test_records_without_a_time_are_as_old_as_their_file() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(retention_ms=DAY_MS))
    append(log, timestamp=-1)
    log.roll()
    machine.clock.advance_ms(DAY_MS)
    assert log.delete_old_segments() == 0
    machine.clock.advance_ms(1)
    assert log.delete_old_segments() == 1


def test_a_segment_from_the_future_stays_and_so_does_everything_after_it(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(retention_ms=DAY_MS, message_timestamp_after_max_ms=1 << 60))
    append(log, timestamp=NOW_MS + 10 * DAY_MS)
    log.roll()
    append(log, timestamp=NOW_MS)
    machine.clock.advance_ms(5 * DAY_MS)
    assert log.delete_old_segments() == 0
    assert "contains future timestamp(s), making it ineligible to be deleted" in caplog.text


@pytest.mark.parametrize(
    ("retention_bytes", "left"),
    [(-1, [0, 1, 2, 3]), (4 * SIZE, [0, 1, 2, 3]), (4 * SIZE - 1, [0, 1, 2, 3]), (3 * SIZE, [1, 2, 3]), (SIZE, [3])],
)
def test_by_size_what_is_left_is_at_least_that_much(retention_bytes: int, left: list[int]) -> None:
    log = four_segments(Machine(A), LogConfig(retention_ms=-1, retention_bytes=retention_bytes))
    log.delete_old_segments()
    assert log.segments.base_offsets == left


def test_by_size_down_to_nothing() -> None:
    log = four_segments(Machine(A), LogConfig(retention_ms=-1, retention_bytes=0))
    assert log.delete_old_segments() == 4
    assert log.segments.base_offsets == [4]


def test_by_log_start_offset_whole_segments_only() -> None:
    log = four_segments(Machine(A), LogConfig(retention_ms=-1))
    log.maybe_increment_log_start_offset(2, "client record deletion")
    assert log.delete_old_segments() == 2
    assert log.segments.base_offsets == [2, 3]
    log.maybe_increment_log_start_offset(4, "client record deletion")
    assert log.delete_old_segments() == 1
    assert log.segments.base_offsets == [3], "the active segment is not deleted for its records' sake"
    assert log.log_start_offset == 4


def test_nothing_above_the_high_watermark_goes() -> None:
    machine = Machine(A)
    log = four_segments(machine, LogConfig(retention_ms=0))
    log.update_high_watermark(2)
    machine.clock.advance_ms(DAY_MS)
    assert log.delete_old_segments() == 2
    assert log.segments.base_offsets == [2, 3]
    log.update_high_watermark(0)
    assert log.log_start_offset == 2


POLICIES = {
    "delete": [],
    "compact": [0, 1, 2, 3],
    "compact,delete": [],
    "": [0, 1, 2, 3],
}
"""What is left of four old segments by time, in base offsets; the log start offset deletes under all of them."""


@pytest.mark.parametrize(("policy", "left"), POLICIES.items(), ids=[name or "none" for name in POLICIES])
def test_cleanup_policies(policy: str, left: list[int]) -> None:
    machine = Machine(A)
    config = LogConfig(retention_ms=1, retention_bytes=0, cleanup_policy=frozenset(filter(None, policy.split(","))))
    log = four_segments(machine, config)
    machine.clock.advance_ms(DAY_MS)
    log.delete_old_segments()
    assert log.segments.base_offsets == (left or [4])

    log = four_segments(Machine(A), config)
    log.maybe_increment_log_start_offset(2, "client record deletion")
    assert log.delete_old_segments() >= 2
    assert log.segments.first.base_offset >= 2


def test_snapshots_and_indexes_go_with_their_segments() -> None:
    machine = Machine(A)
    log = four_segments(machine, LogConfig(retention_ms=DAY_MS, file_delete_delay_ms=5))
    log.delete_old_segments()
    assert log.producer_state.snapshot_offsets() == [2, 3]
    deleted = {name for name in machine.names(log.directory) if name.endswith(".deleted")}
    assert {name.split(".")[0][-1] for name in deleted} == {"0", "1"}
    assert {name.split(".")[1] for name in deleted} == {"log", "index", "timeindex", "snapshot"}
    machine.clock.advance_ms(5)
    log.context.deletions.run_due()
    assert not [name for name in machine.names(log.directory) if name.endswith(".deleted")]


def test_a_restart_removes_what_waited_for_its_deletion() -> None:
    machine = Machine(A)
    log = four_segments(machine, LogConfig(retention_ms=DAY_MS))
    log.delete_old_segments()
    log.close()
    log = machine.load(clean=True)
    assert log.segments.base_offsets == [2, 3]
    assert not [name for name in machine.names(log.directory) if name.endswith(".deleted")]


def test_leader_epochs_and_producers_follow_the_log_start() -> None:
    machine = Machine(A)
    log = machine.load(LogConfig(retention_ms=-1))
    for epoch in range(3):
        append(log, 2, epoch=epoch)
        log.roll()
    log.maybe_increment_log_start_offset(3, "client record deletion")
    assert log.leader_epochs.entries == ((1, 3), (2, 4))


def test_the_manager_looks_after_all_its_logs() -> None:
    machine = Machine(A, log_retention_ms=DAY_MS)
    machine.overrides = {"compacted": {"cleanup.policy": "compact"}, "both": {"cleanup.policy": "compact,delete"}}
    manager = machine.start()
    partitions = [T0, T1, T2._replace(topic="compacted"), T3._replace(topic="both")]
    for partition in partitions:
        log = manager.get_or_create_log(partition)
        append(log)
        log.roll()
    machine.clock.advance_ms(DAY_MS + 1)
    assert manager.clean_up_logs() == 3
    assert [manager.logs[partition].segments.base_offsets for partition in partitions] == [[1], [1], [0, 1], [1]]
    assert manager.clean_up_logs() == 0
    run(manager.stop())
