"""Loading in parallel: how the work is divided, and the worker processes that do it."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log import log_startup
from ottla.log.manager import LogManager
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.recovery import RecoveredLog, RecoveryTask, record_files, recover_logs, share_out, unflushed_bytes
from ottla.runtime.live import AsyncioRuntime
from tests.log.log_machine import T0, T1, T2, A, Machine, append, batch
from tests.sim.crash_files import CrashPolicy


def task(name: str, size: int) -> RecoveryTask:
    return RecoveryTask(name, TopicPartition(name, 0), LogConfig(), ProducerStateManagerConfig(), 0, 0, 0, size)


def test_the_largest_logs_are_shared_out_first() -> None:
    tasks = [task("a", 1), task("b", 5), task("c", 4), task("d", 2)]
    shares = share_out(tasks, 2)
    assert [[one.directory for one in share] for share in shares] == [["b", "a"], ["c", "d"]]
    assert [[one.directory for one in share] for share in share_out(tasks, 9)] == [["b"], ["c"], ["d"], ["a"]]
    assert [len(share) for share in share_out(tasks, 1)] == [4]
    assert share_out([], 3) == []


def test_only_segments_behind_the_recovery_point_count_as_work() -> None:
    machine = Machine(A)
    log = machine.load()
    for _ in range(2):
        append(log)
        log.roll()
    append(log)
    sizes = [segment.size for segment in log.segments.values()]
    expected = [sum(sizes), sum(sizes[1:]), sizes[2], sizes[2]]
    machine.write(f"{A}/topic-0/notes.log", b"not a segment")
    segments = record_files(machine.files, log.directory)
    assert [unflushed_bytes(machine.files, log.directory, segments, point) for point in (0, 1, 2, 9)] == expected


def test_a_worker_brings_its_log_lines_and_leaves_logging_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine(A)
    append(machine.load(), 3)
    caplog.set_level(logging.INFO)
    root = logging.getLogger("ottla.log")
    before = (root.handlers[:], root.level, root.propagate)
    one = RecoveryTask(f"{A}/topic-0", T0, LogConfig(), ProducerStateManagerConfig(), 0, 0, 0, 1)
    begun, done = recover_logs(machine.files, [one])
    assert (root.handlers[:], root.level, root.propagate) == before
    assert (begun.remaining_segments, begun.recovered) == (1, None)
    assert (done.remaining_segments, done.recovered) == (0, RecoveredLog(0, 3))
    line = ("ottla.log.loader", logging.INFO, "Recovering unflushed segment 0. 0/1 recovered for topic-0.")
    assert line in begun.lines
    assert line[2] not in caplog.text
    begun.relay_lines()
    assert line[2] in caplog.text


def test_a_worker_that_meets_a_bad_disk_takes_the_directory_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_startup, "WORKER_BYTES_MIN", 0)
    machine = Machine(A, num_recovery_threads_per_data_dir=2)
    manager = machine.start()
    for partition in (T0, T1, T2):
        append(manager.get_or_create_log(partition))
    machine.crash(CrashPolicy.KEEP_ALL)
    machine.files.fail_next("sync", f"{A}/topic-0/*.log")
    with pytest.raises(KafkaStorageError, match="None of the log directories can be used"):
        machine.start()
    manager = machine.start()
    assert set(manager.logs) == {T0, T1, T2}


def test_nothing_goes_on_behind_a_loading_that_failed() -> None:
    async def scenario() -> list[str]:
        done = []

        async def loading(name: str, turns: int, error: OSError | KafkaStorageError | None = None) -> str:
            for _ in range(turns):
                await asyncio.sleep(0)
            done.append(name)
            if error is not None:
                raise error
            return name

        tasks = [("bad", 0, OSError("first")), ("slow", 5, None), ("worse", 9, KafkaStorageError("second"))]
        runtime = AsyncioRuntime()
        with pytest.raises(OSError, match="first"):
            await log_startup._all([runtime.spawn(loading(*task)) for task in tasks])
        runtime.close()
        return done

    assert asyncio.run(scenario()) == ["bad", "slow", "worse"]


def test_processes_recover_and_the_broker_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_startup, "WORKER_BYTES_MIN", 1)
    config = BrokerLogConfig(log_dirs=(str(tmp_path / "a"), str(tmp_path / "b")), num_recovery_threads_per_data_dir=2)
    partitions = [TopicPartition("topic", number) for number in range(5)]

    async def write() -> None:
        manager = LogManager(AsyncioRuntime(), config)
        await manager.start()
        for partition in partitions:
            log = manager.get_or_create_log(partition)
            append(log, 3)
            log.roll()
            append(log, 2)
            active = log.segments.active
            active.log_file.pwrite(b"torn", active.size)
        for directory in manager.directories:
            directory.close()  # and no word more: the process is dead

    class Watched(AsyncioRuntime):
        workers = 0

        def work(self, function, /, *args):  # type: ignore[no-untyped-def]
            self.workers += 1
            return super().work(function, *args)

    async def recover() -> tuple[list[int], int]:
        runtime = Watched()
        manager = LogManager(runtime, config)
        await manager.start()
        ends = [manager.logs[partition].log_end_offset for partition in partitions]
        assert manager.remaining_logs == dict.fromkeys(config.log_dirs, 0)
        await manager.stop()
        runtime.close()
        return ends, runtime.workers

    asyncio.run(write())
    caplog.set_level(logging.INFO)
    ends, workers = asyncio.run(recover())
    assert ends == [5] * 5
    assert workers == 4, "two for each directory"
    said = [record.getMessage() for record in caplog.records]
    for partition in partitions:
        assert f"Recovering unflushed segment 3. 1/2 recovered for {partition}." in said
    assert sum("4 bytes are not a whole batch" in line for line in said) == 5
    assert "Recovery complete" in caplog.text
    assert not [name for name in os.listdir(tmp_path / "a") if name.endswith(".tmp")]


def test_flushes_and_removals_at_the_same_time_harm_nobody(tmp_path: Path) -> None:
    """Threads sync while the reactor rolls, renames, truncates and deletes: no disk has failed, and nothing says so."""
    config = BrokerLogConfig(log_dirs=(str(tmp_path),), log_segment_delete_delay_ms=0)
    failures: list[str] = []

    async def scenario() -> None:
        runtime = AsyncioRuntime()
        manager = LogManager(runtime, config, on_directory_failure=failures.append)
        await manager.start()
        for number in range(16):
            partition = TopicPartition("topic", number % 4)
            log = manager.get_or_create_log(partition)
            append(log, 2)
            log.roll()
            append(log, 2)
            flushing = log.flush()
            checkpointing = runtime.spawn(manager.checkpoint_recovery_points())
            if number % 4 == 0:
                await manager.delete_log(partition)
            elif number % 4 == 1:
                await manager.truncate_to(partition, 1)
                log.append_as_follower(batch(base_offset=1), 0)
            elif number % 4 == 2:
                log.maybe_increment_log_start_offset(log.log_end_offset, "client record deletion")
                log.delete_old_segments()
            manager.context.deletions.run_due()
            await flushing
            await checkpointing
        await manager.stop()
        runtime.close()

    asyncio.run(scenario())
    assert failures == []


def test_checkpoint_writes_take_turns_and_the_last_one_wins(tmp_path: Path) -> None:
    config = BrokerLogConfig(log_dirs=(str(tmp_path),))

    async def scenario() -> str:
        runtime = AsyncioRuntime()
        manager = LogManager(runtime, config)
        await manager.start()
        log = manager.get_or_create_log(T0)
        for _ in range(6):
            append(log, 5)
            await log.flush()
            writing = [runtime.spawn(manager.checkpoint_recovery_points()) for _ in range(3)]
            await manager.truncate_to(T0, log.log_end_offset - 3)
            content = (tmp_path / "recovery-point-offset-checkpoint").read_text()
            assert int(content.split()[-1]) <= log.log_end_offset
            for one in writing:
                await one
        await manager.stop()
        runtime.close()
        return (tmp_path / "recovery-point-offset-checkpoint").read_text()

    assert asyncio.run(scenario()) == "0\n1\ntopic 0 12\n"
