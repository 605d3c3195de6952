"""Recovery of many logs after an unclean stop, in worker processes.

A worker recovers its share of the logs and closes them, durably; the broker then opens each as if it had been stopped
cleanly. So the scan of gigabytes never holds up the reactor, and several logs are recovered at the same time.
"""

import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.loader import loading
from ottla.log.log_context import LogContext
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.runtime.inline import InlineRuntime
from ottla.runtime.port import Files, Runtime

WORKER_BYTES_MIN = 32 << 20
"""Starting a process takes as long as scanning this much: below it, recovery stays in the broker."""

_LOGGERS = "ottla.log"


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """One log to recover."""

    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    producer_config: ProducerStateManagerConfig
    log_start_offset: int
    recovery_point: int | None
    high_watermark: int
    unflushed_bytes: int
    segments: int = 1


@dataclass(frozen=True, slots=True)
class RecoveredLog:
    """A log that needs no recovery any more."""

    log_start_offset: int
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What a worker tells of one log: how many segments it has still to scan, or that it is done with it."""

    directory: str
    remaining_segments: int
    recovered: RecoveredLog | None
    lines: list[tuple[str, int, str]]
    """What was logged since the last report: logger, level and message."""

    def relay_lines(self) -> None:
        """Repeat the worker's log lines in this process."""
        for name, level, message in self.lines:
            logging.getLogger(name).log(level, "%s", message)


def record_files(files: Files, directory: str) -> list[tuple[int, str]]:
    """The base offsets and names of a log's record files, ascending."""
    found = []
    for name in files.list_dir(directory):
        if names.is_log_file(name):
            with suppress(ValueError):  # somebody else's file; the loader says so
                found.append((names.offset_from_file_name(name), name))
    return sorted(found)


def unflushed_bytes(files: Files, directory: str, record_files: Sequence[tuple[int, str]], recovery_point: int) -> int:
    """How much of a log must be scanned."""
    total = 0
    following: int | None = None
    for base_offset, name in reversed(record_files):
        if following is not None and following <= recovery_point:
            break
        total += files.size(f"{directory}/{name}")
        following = base_offset
    return total


def share_out(tasks: Sequence[RecoveryTask], workers: int) -> list[list[RecoveryTask]]:
    """Divide the work evenly, the largest logs first."""
    shares: list[list[RecoveryTask]] = [[] for _ in range(max(workers, 1))]
    loads = [0] * len(shares)
    for task in sorted(tasks, key=lambda task: (-task.unflushed_bytes, task.directory)):
        lightest = loads.index(min(loads))
        shares[lightest].append(task)
        loads[lightest] += task.unflushed_bytes
    return [share for share in shares if share]


def recover_logs(files: Files, tasks: Sequence[RecoveryTask]) -> Iterator[RecoveryReport]:
    """The work of one worker process: recover each log, close it, and tell the broker after every segment."""
    runtime = InlineRuntime(files)
    for task in tasks:
        steps = recovering(runtime, task)
        remaining_segments, recovered = 0, None
        while recovered is None:
            with _collected_lines() as lines:
                try:
                    remaining_segments = next(steps)
                except StopIteration as end:
                    remaining_segments, recovered = 0, end.value
            yield RecoveryReport(task.directory, remaining_segments, recovered, lines)


def recovering(runtime: Runtime, task: RecoveryTask) -> Generator[int, None, RecoveredLog]:
    """Recover one log in place and close it; yields as ``loading`` does. A failing disk is an OSError all the way."""
    log = yield from loading(
        LogContext(runtime, producer_config=task.producer_config),
        task.directory,
        task.config,
        topic_partition=task.topic_partition,
        log_start_offset=task.log_start_offset,
        recovery_point=task.recovery_point,
    )
    try:
        log.close()
    except KafkaStorageError as error:
        raise error.__cause__ if isinstance(error.__cause__, OSError) else error from None
    return RecoveredLog(log.log_start_offset, log.log_end_offset)


@contextmanager
def _collected_lines() -> Iterator[list[tuple[str, int, str]]]:
    """Catch what is logged meanwhile, for the broker to repeat, instead of writing it here."""
    collector = _Collector()
    logger = logging.getLogger(_LOGGERS)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(collector)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield collector.lines
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
        logger.propagate = propagate


class _Collector(logging.Handler):
    """Keeps log lines as (logger, level, message)."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append((record.name, record.levelno, record.getMessage()))
