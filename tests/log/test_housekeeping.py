"""The timetable of the log manager's chores, on a clock that moves when told to."""

import asyncio
from pathlib import Path

import pytest

from ottla.config.broker import BrokerLogConfig
from ottla.log.checkpoints import OffsetCheckpoint
from ottla.log.housekeeping import Housekeeping
from ottla.log.manager import LogManager
from ottla.runtime.inline import run
from ottla.runtime.live import AsyncioRuntime
from tests.log.log_machine import T0, A, Machine, append

INTERVALS = {
    "clean_up_logs": "log_retention_check_interval_ms",
    "flush_dirty_logs": "log_flush_scheduler_interval_ms",
    "checkpoint_recovery_points": "log_flush_offset_checkpoint_interval_ms",
    "checkpoint_log_start_offsets": "log_flush_start_offset_checkpoint_interval_ms",
    "expire_producers": "producer_id_expiration_check_interval_ms",
}


@pytest.mark.parametrize(("chore", "interval"), INTERVALS.items(), ids=list(INTERVALS))
def test_each_chore_has_its_interval_after_the_initial_delay(
    chore: str, interval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(A, log_initial_task_delay_ms=50, **{**dict.fromkeys(INTERVALS.values(), 10**9), interval: 30})
    manager = machine.start()
    done: list[int] = []
    original = getattr(LogManager, chore)

    def watched(self: LogManager) -> object:
        done.append(machine.clock.monotonic_ms())
        return original(self)

    monkeypatch.setattr(LogManager, chore, watched)
    started_ms = machine.clock.monotonic_ms()
    housekeeping = Housekeeping(machine.runtime, manager)
    while machine.clock.monotonic_ms() < started_ms + 120:
        run(housekeeping.run_due())
        machine.clock.advance_ms(10)
    assert [at - started_ms for at in done] == [50, 80, 110]


def test_it_tells_when_to_come_back() -> None:
    machine = Machine(A, log_initial_task_delay_ms=50)
    housekeeping = Housekeeping(machine.runtime, machine.start())
    assert run(housekeeping.run_due()) == 50
    machine.clock.advance_ms(45)
    assert run(housekeeping.run_due()) == 5
    machine.clock.advance_ms(5)
    assert run(housekeeping.run_due()) == 1000, "deletions are looked after every second"


def test_a_step_of_the_wall_clock_changes_no_appointment() -> None:
    machine = Machine(A, log_initial_task_delay_ms=50)
    housekeeping = Housekeeping(machine.runtime, machine.start())
    machine.clock.set_now_ms(0)
    assert run(housekeeping.run_due()) == 50


def test_files_are_deleted_by_the_second() -> None:
    machine = Machine(A, log_initial_task_delay_ms=0)
    machine.overrides["topic"] = {"file.delete.delay.ms": "2500"}
    manager = machine.start()
    append(manager.get_or_create_log(T0))
    housekeeping = Housekeeping(machine.runtime, manager)
    run(housekeeping.run_due())
    run(manager.delete_log(T0))
    left = []
    for _ in range(4):
        machine.clock.advance_ms(1000)
        run(housekeeping.run_due())
        left.append(len(machine.names(A)))
    assert left == [1, 1, 0, 0]


def test_flush_ms_is_kept_by_the_flusher() -> None:
    machine = Machine(A, log_initial_task_delay_ms=0, log_flush_scheduler_interval_ms=10)
    machine.overrides["topic"] = {"flush.ms": "25"}
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    housekeeping = Housekeeping(machine.runtime, manager)
    append(log, 3)
    points = []
    for _ in range(4):
        machine.clock.advance_ms(10)
        run(housekeeping.run_due())
        points.append(log.recovery_point)
    assert points == [0, 0, 3, 3]


@pytest.mark.parametrize("hours", [5, -5])
def test_a_wall_clock_that_is_set_moves_neither_flushes_nor_deletions(hours: int) -> None:
    machine = Machine(A, log_initial_task_delay_ms=0, log_flush_scheduler_interval_ms=10)
    machine.overrides["topic"] = {"flush.ms": "25", "file.delete.delay.ms": "3000"}
    manager = machine.start()
    housekeeping = Housekeeping(machine.runtime, manager)
    log = manager.get_or_create_log(T0)
    append(log, 3)
    machine.clock.set_now_ms(machine.clock.now_ms() + hours * 3_600_000)
    points = []
    for _ in range(4):
        machine.clock.advance_ms(10)
        run(housekeeping.run_due())
        points.append(log.recovery_point)
    assert points == [0, 0, 3, 3]
    run(manager.delete_log(T0))
    machine.clock.set_now_ms(machine.clock.now_ms() + hours * 3_600_000)
    left = []
    for _ in range(4):
        machine.clock.advance_ms(1000)
        run(housekeeping.run_due())
        left.append(len([name for name in machine.names(A) if name.endswith("-delete")]))
    assert left == [1, 1, 0, 0]


def test_retention_and_checkpoints_together() -> None:
    machine = Machine(A, log_initial_task_delay_ms=0)
    machine.overrides["topic"] = {"retention.ms": "1000"}
    manager = machine.start()
    log = manager.get_or_create_log(T0)
    append(log, 3)
    log.roll()
    machine.clock.advance_ms(2000)
    append(log, 2, timestamp=machine.clock.now_ms())
    run(log.flush())
    run(Housekeeping(machine.runtime, manager).run_due())
    assert log.segments.base_offsets == [3]
    assert OffsetCheckpoint(machine.files, f"{A}/recovery-point-offset-checkpoint").read() == {T0: 5}


def test_it_runs_beside_its_cleaners_until_it_is_told_to_stop(tmp_path: Path) -> None:
    config = BrokerLogConfig(log_dirs=(str(tmp_path),), log_initial_task_delay_ms=0, log_cleaner_backoff_ms=1)

    async def scenario() -> None:
        runtime = AsyncioRuntime()
        manager = LogManager(runtime, config)
        await manager.start()
        housekeeping = Housekeeping(runtime, manager)
        running = runtime.spawn(housekeeping.run())
        await asyncio.sleep(0)
        append(manager.get_or_create_log(T0))
        housekeeping.stop()
        await running
        await manager.stop()
        runtime.close()

    asyncio.run(scenario())
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_without_cleaner_nothing_is_cleaned(tmp_path: Path) -> None:
    machine = Machine(A, log_cleaner_enable=False)
    manager = machine.start()
    housekeeping = Housekeeping(machine.runtime, manager)
    spawned: list[object] = []
    machine.runtime.spawn = spawned.append  # type: ignore[method-assign, assignment]
    housekeeping.stop()
    run(housekeeping.run())
    assert spawned == []
