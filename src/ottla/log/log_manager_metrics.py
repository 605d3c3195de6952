"""The gauges of the log manager, of its cleaner and of every log, under Apache's names. Read when somebody asks."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Labels, Registry

_LOG_GAUGES: Final[Mapping[str, tuple[str, Callable[[Log], float]]]] = {
    "Size": ("Bytes of a log's record files", lambda log: log.size_in_bytes),
    "NumLogSegments": ("Segments of a log", lambda log: len(log.segments)),
    "LogStartOffset": ("The first offset that can be read", lambda log: log.log_start_offset),
    "LogEndOffset": ("The offset that the next record gets", lambda log: log.log_end_offset),
}
_CLEANER_GAUGES: Final[Mapping[str, tuple[str, Callable[[LogCleaner], float]]]] = {
    "max-buffer-utilization-percent": (
        "How full the cleaners' offset maps were in their last runs, at most",
        lambda cleaner: 100 * max((stats.buffer_utilization for stats in cleaner.last_stats.values()), default=0),
    ),
    "cleaner-recopy-percent": (
        "What the last runs of the cleaners kept of what they read",
        lambda cleaner: (
            100
            * sum(stats.bytes_written for stats in cleaner.last_stats.values())
            / max(sum(stats.bytes_read for stats in cleaner.last_stats.values()), 1)
        ),
    ),
    "max-clean-time-secs": (
        "How long the last runs of the cleaners took, at most",
        lambda cleaner: max((stats.end_ms - stats.start_ms for stats in cleaner.last_stats.values()), default=0) / 1000,
    ),
    "max-compaction-delay-secs": (
        "How long a record has waited beyond max.compaction.lag.ms, at most",
        lambda cleaner: cleaner.max_compaction_delay_ms / 1000,
    ),
}


def register_log_manager(registry: Registry, manager: LogManager, monotonic_ms: Callable[[], int]) -> None:
    """Show a log manager."""
    for name, (text, read) in _LOG_GAUGES.items():
        registry.live_gauges(metric_name("kafka.log", "Log", name), text, partial(_of_logs, manager, read))
    registry.gauge(
        metric_name("kafka.log", "LogManager", "OfflineLogDirectoryCount"),
        "Data directories that cannot be used",
        lambda: len(manager.directories.offline_paths),
    )
    registry.live_gauges(
        metric_name("kafka.log", "LogManager", "LogDirectoryOffline"),
        "1 for a data directory that cannot be used",
        lambda: [((("logDirectory", one.path),), int(not one.is_online)) for one in manager.directories],
    )
    registry.live_gauges(
        metric_name("kafka.log", "LogManager", "remainingLogsToRecover"),
        "Logs of a data directory that are still to be loaded",
        lambda: [((("dir", path),), logs) for path, logs in manager.remaining_logs.items()],
    )
    registry.live_gauges(
        metric_name("kafka.log", "LogManager", "remainingSegmentsToRecover"),
        "Segments of a data directory that are still to be recovered, as far as is known",
        lambda: [((("dir", one.path),), _remaining_segments(manager, one.path)) for one in manager.directories],
    )
    _register_cleaner(registry, manager, monotonic_ms)


def _register_cleaner(registry: Registry, manager: LogManager, monotonic_ms: Callable[[], int]) -> None:
    cleaner = manager.cleaner
    for name, (text, read) in _CLEANER_GAUGES.items():
        registry.gauge(metric_name("kafka.log", "LogCleaner", name), text, partial(read, cleaner))
    registry.gauge(
        metric_name("kafka.log", "LogCleanerManager", "max-dirty-percent"),
        "The dirty share of the filthiest log",
        lambda: 100 * cleaner.dirtiest_log_cleanable_ratio,
    )
    registry.gauge(
        metric_name("kafka.log", "LogCleanerManager", "time-since-last-run-ms"),
        "Milliseconds since a cleaner last looked for something to clean",
        lambda: monotonic_ms() - cleaner.last_run_ms,
    )
    registry.live_gauges(
        metric_name("kafka.log", "LogCleanerManager", "uncleanable-partitions-count"),
        "Partitions of a data directory whose cleaning failed",
        lambda: [
            ((("logDirectory", one.path),), len(cleaner.uncleanable_partitions(one.path)))
            for one in manager.directories
        ],
    )
    registry.live_gauges(
        metric_name("kafka.log", "LogCleanerManager", "uncleanable-bytes"),
        "Bytes of the logs of a data directory whose cleaning failed",
        lambda: [((("logDirectory", one.path),), _uncleanable_bytes(manager, one.path)) for one in manager.directories],
    )


def _of_logs(manager: LogManager, read: Callable[[Log], float]) -> Iterator[tuple[Labels, float]]:
    for log in list(manager.logs.values()):
        topic, partition = log.topic_partition
        yield (("partition", str(partition)), ("topic", topic)), read(log)
    for log in list(manager.future_logs.values()):
        topic, partition = log.topic_partition
        yield (("is_future", "true"), ("partition", str(partition)), ("topic", topic)), read(log)


def _remaining_segments(manager: LogManager, path: str) -> int:
    return sum(
        segments for directory, segments in manager.remaining_segments.items() if directory.rpartition("/")[0] == path
    )


def _uncleanable_bytes(manager: LogManager, path: str) -> int:
    logs = [manager.logs.get(one) for one in manager.cleaner.uncleanable_partitions(path)]
    return sum(log.size_in_bytes for log in logs if log is not None)
