"""The driver: checkpoints, pausing and aborting, throttling, swaps."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from random import Random
from typing import TypeVar

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.log.checkpoints import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.cleaner.states import CleaningStates
from ottla.log.cleaner.task import CleanedGroup, CleanerProgress
from ottla.log.log import Log
from ottla.runtime.inline import InlineRuntime, run
from ottla.runtime.live import AsyncioRuntime
from tests.log.cleaner.cleaner_logs import NOW_MS, PARTITION, CleanerBench

T = TypeVar("T")


def fill(bench: CleanerBench, rounds: int = 3) -> None:
    for number in range(rounds):
        bench.append([(b"a", b"%d" % number), (b"b%d" % number, b"x")])
        bench.roll()


def leftovers(bench: CleanerBench) -> list[str]:
    names = bench.runtime.files.list_dir(bench.log.directory)
    return [name for name in names if name.endswith((".cleaned", ".swap"))]


class SteppingRuntime(InlineRuntime):
    """Calls back with each report of a worker before it is handed on."""

    def __init__(self, bench: CleanerBench, on_report: Callable[[object], None]) -> None:
        super().__init__(clock=bench.clock, rng=Random(1))
        self.on_report = on_report
        self.slept_ms = 0

    async def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        for report in function(*args):
            self.on_report(report)
            yield report

    async def sleep_ms(self, duration_ms: int) -> None:
        self.slept_ms += duration_ms
        await super().sleep_ms(duration_ms)


def stepping(
    bench: CleanerBench, on_report: Callable[[object], None], broker: BrokerLogConfig | None = None
) -> LogCleaner:
    runtime = SteppingRuntime(bench, on_report)
    return LogCleaner(runtime, broker or BrokerLogConfig(), bench.logs, [bench.directory])


def test_a_clean_log_is_left_alone(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    assert run(bench.cleaner.clean_filthiest()) is None
    fill(bench)
    assert run(bench.cleaner.clean_filthiest()) is not None
    checkpoint = OffsetCheckpoint(bench.runtime.files, f"{bench.directory}/{CLEANER_OFFSET_CHECKPOINT}")
    assert checkpoint.read() == {PARTITION: 6}
    assert len(bench.log.segments) == 2
    assert run(bench.cleaner.clean_filthiest()) is None

    again = LogCleaner(bench.runtime, BrokerLogConfig(), bench.logs, [bench.directory])
    assert run(again.clean_filthiest()) is None
    assert again.cleaner_checkpoints() == {PARTITION: 6}


def test_cleaned_segments_keep_the_time_of_the_last_old_one(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    for number, segment in enumerate(bench.log.segments.values()):
        segment.set_modified_ms(NOW_MS - 1000 + number)
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert bench.log.segments.first.modified_ms == NOW_MS - 1000 + 2


def test_the_swapped_log_survives_a_restart(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    assert run(bench.cleaner.clean_filthiest()) is not None
    values = bench.values()
    assert [value[1] for value in values] == [b"b0", b"b1", b"a", b"b2"]
    bench.log.local.close()
    bench.log = bench.load()
    assert bench.values() == values
    assert bench.log.log_end_offset == 6


def test_a_full_map_cleans_in_several_runs(tmp_path: object) -> None:
    # 192 bytes a key, so 1 MiB has room for 5,461 keys and a load factor of 0.0004 for two.
    broker = replace(
        BrokerLogConfig(), log_cleaner_dedupe_buffer_size=(1 << 20) + 1, log_cleaner_io_buffer_load_factor=0.0004
    )
    bench = CleanerBench(str(tmp_path), broker=broker)
    fill(bench)
    ends = []
    while run(bench.cleaner.clean_filthiest()) is not None:
        ends.append(bench.cleaner.cleaner_checkpoints()[PARTITION])
    assert ends == [2, 4, 6]
    assert [value[1] for value in bench.values()] == [b"b0", b"b1", b"a", b"b2"]


def test_an_impossible_checkpoint_is_corrected_on_the_disk(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path), {"min.cleanable.dirty.ratio": "1"})
    fill(bench)
    run(bench.cleaner.update_checkpoint(bench.directory, PARTITION, 99))
    assert run(bench.cleaner.clean_filthiest()) is None
    checkpoint = OffsetCheckpoint(bench.runtime.files, f"{bench.directory}/{CLEANER_OFFSET_CHECKPOINT}")
    assert checkpoint.read() == {PARTITION: 0}


def test_checkpoints_follow_truncation_and_moves(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    other = f"{bench.directory}/other"
    bench.runtime.files.make_dir(other)
    cleaner = LogCleaner(bench.runtime, BrokerLogConfig(), bench.logs, [bench.directory, other])
    run(cleaner.update_checkpoint(bench.directory, PARTITION, 4))
    run(cleaner.maybe_truncate_checkpoint(bench.directory, PARTITION, 5))
    assert cleaner.cleaner_checkpoints() == {PARTITION: 4}
    run(cleaner.maybe_truncate_checkpoint(bench.directory, PARTITION, 2))
    assert cleaner.cleaner_checkpoints() == {PARTITION: 2}
    cleaner.mark_partition_uncleanable(bench.log, ValueError("for the test"))
    run(cleaner.alter_checkpoint_dir(PARTITION, bench.directory, other))
    files = bench.runtime.files
    assert OffsetCheckpoint(files, f"{bench.directory}/{CLEANER_OFFSET_CHECKPOINT}").read() == {}
    assert OffsetCheckpoint(files, f"{other}/{CLEANER_OFFSET_CHECKPOINT}").read() == {PARTITION: 2}
    assert cleaner.uncleanable_partitions(other) == {PARTITION}
    run(cleaner.update_checkpoint(other, PARTITION, None))
    assert cleaner.cleaner_checkpoints() == {}


def test_a_failed_directory_is_not_cleaned(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    bench.cleaner.handle_log_dir_failure(bench.directory)
    assert run(bench.cleaner.clean_filthiest()) is None
    run(bench.cleaner.update_checkpoint(bench.directory, PARTITION, 4))
    assert bench.cleaner.cleaner_checkpoints() == {}


def test_a_paused_log_is_not_cleaned_until_all_have_resumed(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    for _ in range(2):
        run(bench.cleaner.abort_and_pause_cleaning(PARTITION))
    bench.cleaner.resume_cleaning([PARTITION])
    assert run(bench.cleaner.clean_filthiest()) is None
    assert bench.cleaner.deletable_logs() == []
    bench.cleaner.resume_cleaning([PARTITION])
    run(bench.cleaner.abort_cleaning(PARTITION))
    assert run(bench.cleaner.clean_filthiest()) is not None


def test_retention_and_cleaning_keep_out_of_each_others_way(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    assert bench.cleaner.pause_cleaning_for_non_compacted_partitions() == []
    assert bench.cleaner.deletable_logs() == [bench.log]
    assert run(bench.cleaner.clean_filthiest()) is None
    bench.cleaner.done_deleting([PARTITION])

    bench.log.update_config(bench.config.override({"cleanup.policy": "delete"}))
    assert bench.cleaner.deletable_logs() == []
    assert bench.cleaner.pause_cleaning_for_non_compacted_partitions() == [bench.log]
    bench.log.update_config(bench.config)
    assert run(bench.cleaner.clean_filthiest()) is None
    bench.cleaner.resume_cleaning([PARTITION])
    assert run(bench.cleaner.clean_filthiest()) is not None


@pytest.mark.parametrize("when", [CleanerProgress, CleanedGroup])
def test_an_aborted_run_leaves_the_log_whole(tmp_path: object, when: type) -> None:
    bench = CleanerBench(str(tmp_path), {"segment.bytes": str(1 << 20)})
    fill(bench)
    before = bench.values()

    def on_report(report: object) -> None:
        if isinstance(report, when) and not cleaner._states.is_aborted(PARTITION):
            cleaner._states.abort_and_pause(PARTITION)

    broker = replace(BrokerLogConfig(), log_cleaner_io_buffer_size=0, log_cleaner_io_max_bytes_per_second=1.0)
    cleaner = stepping(bench, on_report, broker)
    assert run(cleaner.clean_filthiest()) is None
    assert cleaner._states.is_paused(PARTITION)
    assert bench.values() == before
    assert leftovers(bench) == []
    assert cleaner.cleaner_checkpoints() == {}
    cleaner.resume_cleaning([PARTITION])
    cleaner._runtime.on_report = lambda _: None  # type: ignore[attr-defined]
    assert run(cleaner.clean_filthiest()) is not None


def test_a_log_that_was_replaced_is_not_touched(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    before = bench.values()
    cleaner = stepping(bench, lambda _: bench.logs.clear())
    assert run(cleaner.clean_filthiest()) is None
    assert bench.values() == before
    assert leftovers(bench) == []


def test_the_io_rate_is_held(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench, rounds=40)
    cleanable_bytes = sum(segment.size for segment in bench.log.segments.values())
    broker = replace(BrokerLogConfig(), log_cleaner_io_buffer_size=0, log_cleaner_io_max_bytes_per_second=1000.0)
    cleaner = stepping(bench, lambda _: bench.clock.advance_ms(50), broker)
    started_ms = bench.clock.monotonic_ms()
    assert run(cleaner.clean_filthiest()) is not None
    elapsed_ms = bench.clock.monotonic_ms() - started_ms
    assert cleanable_bytes * 1.5 < elapsed_ms < cleanable_bytes * 4  # twice read, written once, at a byte a millisecond


def test_a_failing_disk_takes_its_directory_offline(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    failures: list[tuple[str, OSError]] = []
    object.__setattr__(bench.context, "on_disk_failure", lambda directory, error: failures.append((directory, error)))

    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    assert run(stepping(bench, fail).clean_filthiest()) is None
    assert [(directory, error.errno) for directory, error in failures] == [(bench.directory, 5)]
    assert leftovers(bench) == []


def test_the_loop_pauses_when_nothing_is_filthy_and_ends_at_shutdown(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench)
    cleaner = stepping(bench, lambda _: None)
    runtime = cleaner._runtime
    assert isinstance(runtime, SteppingRuntime)

    async def sleep_ms(duration_ms: int) -> None:
        runtime.slept_ms += duration_ms
        if runtime.slept_ms >= 20_000:
            cleaner.shutdown()

    runtime.sleep_ms = sleep_ms  # type: ignore[method-assign]
    run(cleaner.run())
    assert 20_000 <= runtime.slept_ms < 30_000
    assert cleaner.cleaner_checkpoints() == {PARTITION: 6}


def test_a_worker_process_cleans_while_another_coroutine_aborts(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    fill(bench, rounds=30)
    before = bench.values()

    async def main() -> None:
        runtime = AsyncioRuntime()
        broker = replace(BrokerLogConfig(), log_cleaner_io_buffer_size=0, log_cleaner_io_max_bytes_per_second=500.0)
        cleaner = LogCleaner(runtime, broker, bench.logs, [bench.directory])
        running = asyncio.ensure_future(cleaner.clean_filthiest())
        while PARTITION not in cleaner._states:
            await asyncio.sleep(0)
        await cleaner.abort_and_pause_cleaning(PARTITION)
        assert await running is None
        assert bench.values() == before
        assert leftovers(bench) == []
        cleaner.resume_cleaning([PARTITION])
        cleaner.reconfigure(BrokerLogConfig())
        stats = await cleaner.clean_filthiest()
        assert stats is not None
        assert stats.messages_written == 31
        runtime.close()

    asyncio.run(main())
    assert len(bench.values()) == 31


def test_states_refuse_what_makes_no_sense() -> None:
    states = CleaningStates()
    partition = TopicPartition("t", 1)
    for call in (states.done, states.resume):
        with pytest.raises(AssertionError):
            call(partition)
    states.start(partition)
    for call in (states.start, states.resume):
        with pytest.raises(AssertionError):
            call(partition)
    states.abort_and_pause(partition)
    with pytest.raises(AssertionError):
        states.abort_and_pause(partition)
    assert not states.done(partition)
    assert states.is_paused(partition)
    states.resume(partition)
    assert partition not in states


def test_up_to_all_threads_share_the_memory(tmp_path: object) -> None:
    broker = replace(BrokerLogConfig(), log_cleaner_threads=4)
    bench = CleanerBench(str(tmp_path), broker=broker)
    fill(bench)
    found = run(bench.cleaner.grab_filthiest_compacted_log())
    assert found is not None
    log: Log = found[0]
    task = bench.cleaner.task(log, found[1])
    assert task.offset_map_bytes == 32 << 20
    assert task.io_buffer_bytes == 64 << 10
    assert task.compiled is False  # small
    assert len(task.secret) == 16
    assert bench.cleaner.task(log, found[1]).secret != task.secret
