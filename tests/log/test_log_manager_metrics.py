"""Every gauge of the log manager, of its cleaner and of its logs follows what it shows."""

from ottla.log.log_manager_metrics import register_log_manager
from ottla.log.log_metrics import LogMetrics
from ottla.log.manager import LogManager
from ottla.metrics import Counter, Gauge, Histogram, Registry
from ottla.runtime.inline import run
from tests.log.log_machine import T0, T1, A, B, Machine, append
from tests.sim.crash_files import CrashPolicy


class _Shown:
    """A manager and what a scrape would show of it."""

    def __init__(self, machine: Machine) -> None:
        self.registry = Registry()
        self.manager = LogManager(
            machine.runtime,
            machine.config,
            topic_overrides=lambda topic: machine.overrides.get(topic, {}),
            metrics=LogMetrics(self.registry),
        )
        register_log_manager(self.registry, self.manager, machine.clock.monotonic_ms)

    def __call__(self, name: str, **labels: str) -> float | None:
        (family,) = [one for one in self.registry.collect(0) if one.name == f"kafka_log_{name}"]
        if family.source is not None:
            return dict(family.source()).get(tuple(sorted(labels.items())))
        metric = family.metrics[tuple(sorted(labels.items()))]
        if isinstance(metric, Gauge):
            return metric.read()
        return metric.value if isinstance(metric, Counter) else metric.count


def test_logs_come_grow_and_go() -> None:
    shown = _Shown(Machine(A, B))
    manager = shown.manager
    run(manager.start())
    of_log = {"topic": "topic", "partition": "0"}
    names = ("size", "numlogsegments", "logstartoffset", "logendoffset")
    assert [shown(f"log_{name}", **of_log) for name in names] == [None] * 4
    log = manager.get_or_create_log(T0, directory=A)
    assert [shown(f"log_{name}", **of_log) for name in names] == [0, 1, 0, 0]
    append(log, 3)
    log.roll()
    append(log, 2)
    log.update_high_watermark(5)
    log.maybe_increment_log_start_offset(1, "a test")
    assert [shown(f"log_{name}", **of_log) for name in names] == [log.size_in_bytes, 2, 1, 5]
    manager.get_or_create_log(T0, directory=B, is_future=True)
    assert shown("log_logendoffset", is_future="true", **of_log) == 0
    run(manager.delete_log(T0, is_future=True))
    run(manager.delete_log(T0))
    assert shown("log_size", **of_log) is None


def test_flushes_are_timed() -> None:
    shown = _Shown(Machine(A))
    run(shown.manager.start())
    log = shown.manager.get_or_create_log(T0)
    append(log)
    assert shown("logflushstats_logflushrateandtimems") == 0
    run(log.flush())
    run(log.flush())  # nothing to do
    assert shown("logflushstats_logflushrateandtimems") == 1
    assert isinstance(shown.registry.get("kafka_log_logflushstats_logflushrateandtimems"), Histogram)


def test_a_start_can_be_watched() -> None:
    machine = Machine(A)
    manager = machine.start()
    for partition in (T0, T1):
        append(manager.get_or_create_log(partition))
    machine.crash(CrashPolicy.KEEP_ALL)
    shown = _Shown(machine)
    seen: list[tuple[float | None, ...]] = []

    class Watched(dict[str, int]):
        def __setitem__(self, path: str, remaining: int) -> None:
            super().__setitem__(path, remaining)
            seen.append(
                (
                    shown("logmanager_remaininglogstorecover", dir=A),
                    shown("logmanager_remainingsegmentstorecover", dir=A),
                    shown("logmanager_logsloaded_total"),
                )
            )

    shown.manager._startup.remaining_segments = Watched()
    run(shown.manager.start())
    assert [remaining for remaining in seen if remaining[1]] == [(2, 1, 0), (1, 1, 1)]
    assert shown("logmanager_remaininglogstorecover", dir=A) == 0
    assert shown("logmanager_remainingsegmentstorecover", dir=A) == 0
    assert shown("logmanager_logsloaded_total") == 2


def test_a_failed_directory_is_shown() -> None:
    shown = _Shown(Machine(A, B))
    run(shown.manager.start())
    assert shown("logmanager_offlinelogdirectorycount") == 0
    shown.manager.handle_directory_failure(B, OSError("no such luck"))
    assert shown("logmanager_offlinelogdirectorycount") == 1
    assert [shown("logmanager_logdirectoryoffline", logDirectory=path) for path in (A, B)] == [0, 1]


def test_cleaning_is_shown() -> None:
    machine = Machine(A)
    machine.overrides["topic"] = {"cleanup.policy": "compact", "max.compaction.lag.ms": 1, "segment.ms": 1}
    shown = _Shown(machine)
    manager = shown.manager
    run(manager.start())
    log = manager.get_or_create_log(T0)
    for _ in range(3):
        append(log, 4)
        log.roll()
    log.update_high_watermark(log.log_end_offset)
    run(log.flush())
    machine.clock.advance_ms(5_000)
    assert shown("logcleanermanager_time_since_last_run_ms") == 5_000
    percents = ("logcleaner_max_buffer_utilization_percent", "logcleaner_cleaner_recopy_percent")
    assert [shown(name) for name in percents] == [0, 0]
    stats = run(manager.cleaner.clean_filthiest())
    assert stats is not None
    assert shown("logcleanermanager_time_since_last_run_ms") == 0
    assert shown("logcleanermanager_max_dirty_percent") == 100
    assert shown("logcleaner_max_compaction_delay_secs") == 4.999
    assert shown("logcleaner_cleaner_recopy_percent") == 100 * stats.bytes_written / stats.bytes_read
    assert shown("logcleaner_max_buffer_utilization_percent") == 100 * stats.buffer_utilization > 0
    stats.start_ms, stats.end_ms = 1_000, 3_500
    assert shown("logcleaner_max_clean_time_secs") == 2.5
    of_directory = ("logcleanermanager_uncleanable_partitions_count", "logcleanermanager_uncleanable_bytes")
    assert [shown(name, logDirectory=A) for name in of_directory] == [0, 0]
    manager.cleaner.mark_partition_uncleanable(log, ValueError("broken"))
    assert [shown(name, logDirectory=A) for name in of_directory] == [1, log.size_in_bytes]
