"""Flushes: who asks for them, how many fsyncs they take, and what the recovery point promises."""

import asyncio
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.runtime.inline import run
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.posix import PosixFiles
from tests.log.log_machine import T0, T1, A, Machine, append, batch
from tests.sim.lazy_runtime import LazyRuntime


def record_syncs(machine: Machine) -> list[str]:
    """The record files that were synced, in order."""
    return [
        operation.path.rpartition("/")[2]
        for operation in machine.files.journal
        if operation.name == "sync" and operation.path.endswith(".log")
    ]


def test_a_flush_is_due_by_the_number_of_messages() -> None:
    log = Machine(A).load(LogConfig(flush_messages=3))
    due = []
    for _ in range(4):
        append(log)
        due.append(log.flush_due)
    assert due == [False, False, True, True]
    run(log.flush())
    assert not log.flush_due
    append(log, 3)
    assert log.flush_due


def test_each_message_with_flush_messages_1_and_none_by_default() -> None:
    eager, lazy = Machine(A).load(LogConfig(flush_messages=1)), Machine(A).load()
    for log in (eager, lazy):
        append(log)
    assert (eager.flush_due, lazy.flush_due) == (True, False)


def test_a_flush_that_a_failure_elsewhere_has_overtaken_is_none() -> None:
    """Its file is closed by then; whoever waits for it must not be told that his records are on the disk."""
    machine = Machine(A)
    runtime = machine.runtime = LazyRuntime(machine.files, machine.clock)
    manager = machine.start()
    waiting, failing = (manager.get_or_create_log(partition) for partition in (T0, T1))
    append(waiting)
    runtime.hold_flushes = True
    flush = waiting.flush()
    machine.files.fail_next("pwrite", f"{A}/topic-1/*.log")
    with pytest.raises(KafkaStorageError):
        append(failing)
    with pytest.raises(KafkaStorageError, match="already offline"):
        run(flush)
    assert waiting.recovery_point == 0


def test_the_recovery_point_moves_when_the_disk_has_answered() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log, 3)
    assert log.recovery_point == 0
    machine.files.fail_next("sync", "*.log")
    with pytest.raises(KafkaStorageError):
        run(log.flush())
    assert log.recovery_point == 0

    machine = Machine(A)
    log = machine.load()
    append(log, 3)
    run(log.flush())
    append(log, 2)
    assert log.recovery_point == 3
    machine.crash()
    assert machine.load(recovery_point=3).log_end_offset == 3


def test_a_flush_takes_one_sync_of_each_file_that_needs_it() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log)
    run(log.flush())
    run(log.flush())
    assert record_syncs(machine) == ["00000000000000000000.log"]
    append(log)
    log.roll()
    assert record_syncs(machine) == ["00000000000000000000.log"] * 2, "a sealed segment is flushed by itself"
    append(log)
    run(log.flush())
    assert record_syncs(machine)[2:] == ["00000000000000000002.log"]


def test_time_of_the_last_flush() -> None:
    machine = Machine(A)
    log = machine.load()
    append(log)
    machine.clock.advance_ms(5)
    run(log.flush())
    assert log.local.last_flush_ms == machine.clock.monotonic_ms()


class SlowFiles(PosixFiles):
    """A disk that takes its time away from the reactor: ``sync_dir`` of a partition waits for ``answer`` there."""

    def __init__(self) -> None:
        self.asked, self.answer = Event(), Event()
        self.syncs = 0

    def sync_dir(self, path: str) -> None:
        if path.endswith("topic-0") and current_thread() is not main_thread():
            self.syncs += 1
            self.asked.set()
            assert self.answer.wait(30)
        super().sync_dir(path)


class Live:
    """A log on asyncio and a slow disk."""

    def __init__(self, path: Path) -> None:
        self.files = SlowFiles()
        self.files.answer.set()
        self.runtime = AsyncioRuntime(self.files)
        self.failures: list[str] = []
        context = LogContext(self.runtime, on_disk_failure=lambda directory, _error: self.failures.append(directory))
        self.log = load_log(context, f"{path}/topic-0", LogConfig(), topic_partition=TopicPartition("topic", 0))
        append(self.log, 2)
        self.files.syncs = 0
        self.files.asked.clear()
        self.files.answer.clear()

    async def until_asked(self) -> None:
        """Wait until a flush sits in the disk."""
        await asyncio.get_running_loop().run_in_executor(None, self.files.asked.wait, 30)
        self.files.asked.clear()


def live(scenario: "object", path: Path) -> Log:
    async def main() -> Log:
        machine = Live(path)
        await scenario(machine)  # type: ignore[operator]
        assert machine.failures == []
        machine.runtime.close()
        return machine.log

    return asyncio.run(main())


def test_waiters_share_an_fsync(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        log, files = machine.log, machine.files
        first = log.flush()
        await machine.until_asked()
        append(log, 1)
        later = [log.flush() for _ in range(5)]
        append(log, 1)
        later += [log.flush() for _ in range(5)]
        assert (files.syncs, log.recovery_point) == (1, 0)
        files.answer.set()
        await first
        assert log.recovery_point >= 2
        await asyncio.gather(*(asyncio.ensure_future(_awaited(one)) for one in later))
        assert (files.syncs, log.recovery_point) == (2, 4), "ten waiters, one more fsync"

    live(scenario, tmp_path)


async def _awaited(awaitable: object) -> None:
    await awaitable  # type: ignore[misc]


def test_appends_go_on_while_a_flush_waits_for_the_disk(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        flushing = machine.log.flush()
        await machine.until_asked()
        append(machine.log, 3)
        machine.files.answer.set()
        await flushing
        assert (machine.log.recovery_point, machine.log.log_end_offset) == (2, 5)

    live(scenario, tmp_path)


def test_a_directory_that_fails_under_a_flush(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        flushing = machine.log.flush()
        await machine.until_asked()
        later = machine.log.flush()
        machine.log.mark_offline(OSError("pulled"))
        (tmp_path / "topic-0").rename(tmp_path / "gone")
        machine.files.answer.set()
        for flush in (flushing, later):
            with pytest.raises(KafkaStorageError, match="pulled"):
                await flush

    live(scenario, tmp_path)


def test_a_flush_does_not_speak_for_what_a_truncation_replaced(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        log = machine.log
        flushing = log.flush()
        await machine.until_asked()
        log.truncate_to(0)
        log.append_as_follower(batch(2), 0)
        machine.files.answer.set()
        await flushing
        assert log.recovery_point == 0
        await log.flush()
        assert log.recovery_point == 2

    live(scenario, tmp_path)


def test_a_directory_renamed_under_a_flush_is_no_failed_disk(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        flushing = machine.log.flush()
        await machine.until_asked()
        machine.log.rename_directory("topic-0.abc-delete")
        machine.files.answer.set()
        await flushing
        assert machine.log.recovery_point == 2

    assert live(scenario, tmp_path).directory.endswith("topic-0.abc-delete")


def test_a_segment_deleted_under_a_flush_is_no_failed_disk(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        log = machine.log
        log.update_config(LogConfig(file_delete_delay_ms=0, retention_ms=-1))
        log.roll()
        await machine.until_asked()
        append(log, 1)
        flushing = log.flush()
        log.update_high_watermark(3)
        log.maybe_increment_log_start_offset(2, "client record deletion")
        assert log.delete_old_segments() == 1
        log.context.deletions.run_due()
        machine.files.answer.set()
        await flushing
        assert log.recovery_point == 3

    live(scenario, tmp_path)


def test_a_log_closed_under_a_flush_ends_it(tmp_path: Path) -> None:
    async def scenario(machine: Live) -> None:
        flushing = machine.log.flush()
        await machine.until_asked()
        machine.log.close_handlers()
        machine.files.answer.set()
        await flushing

    live(scenario, tmp_path)
