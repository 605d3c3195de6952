"""Loading all logs of the data directories at start.

A directory with a clean-shutdown marker is opened as it is; in any other, every log is recovered first. Directories
are loaded side by side, and within one up to ``num.recovery.threads.per.data.dir`` workers recover. A directory whose
disk fails meanwhile goes offline; the others do not notice.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import TypeVar

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.data_directory import DataDirectory
from ottla.log.directory_checkpoints import DirectoryCheckpoints
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.recovery import (
    WORKER_BYTES_MIN,
    RecoveredLog,
    RecoveryTask,
    record_files,
    recover_logs,
    recovering,
    share_out,
    unflushed_bytes,
)
from ottla.runtime.open_files import OpenFiles
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LOGS_A_SLICE = 16
_STRAYS_SHOWN = 10


class LogStartup:
    """One start: ``remaining_logs`` (by data directory) counts down as logs are loaded, and ``remaining_segments`` (by
    the directory of each log that is being recovered) as their segments are scanned.
    """

    def __init__(
        self,
        context: LogContext,
        topic_config: Callable[[str], LogConfig],
        recovery_threads: int,
        checkpoints: Mapping[str, DirectoryCheckpoints],
        open_files: OpenFiles,
        *,
        on_loaded: Callable[[Log], None],
        on_deleted: Callable[[str, LogConfig], None],
    ) -> None:
        """``on_deleted`` hears of the directories that wait for their deletion; those are not opened."""
        self.remaining_logs: dict[str, int] = {}
        self.remaining_segments: dict[str, int] = {}
        self._context = context
        self._runtime = context.runtime
        self._topic_config = topic_config
        self._configs: dict[str, LogConfig] = {}
        self._recovery_threads = recovery_threads
        self._checkpoints = checkpoints
        self._open_files = open_files
        self._on_loaded = on_loaded
        self._on_deleted = on_deleted

    async def load(self, directories: list[DataDirectory]) -> None:
        """Load every online directory; KafkaStorageError for what no operator can have meant, such as one log twice.

        ResourceShortageError if there are more segments than files can be opened; then nothing is touched.
        """
        started_ms = self._runtime.clock.monotonic_ms()
        online = [directory for directory in directories if directory.is_online]
        logger.info("Loading logs from log dirs %s", ", ".join(directory.path for directory in online))
        found = {directory: tasks for directory in online if (tasks := self._find(directory)) is not None}
        segments = sum(task.segments for tasks in found.values() for task in tasks)
        self._open_files.require_for_start(segments)
        try:
            totals = await _all(
                [self._runtime.spawn(self._load_directory(directory, tasks)) for directory, tasks in found.items()]
            )
        except OSError as error:
            logger.error("Error while loading the logs: %s", in_words(error))
            raise self._open_files.too_few_for(segments) from error
        self.forget_configs()
        logger.info(
            "Loaded %d logs in %dms. Recovery complete.",
            sum(totals),
            self._runtime.clock.monotonic_ms() - started_ms,
        )

    def _find(self, directory: DataDirectory) -> list[RecoveryTask] | None:
        """The logs of a directory; None if its disk fails."""
        try:
            tasks = self._tasks(directory, directory.partition_directories())
        except OSError as error:
            self._failed(directory, error)
            return None
        self.remaining_logs[directory.path] = len(tasks)
        return tasks

    async def _load_directory(self, directory: DataDirectory, tasks: list[RecoveryTask]) -> int:
        """Load these logs; an OSError is want of open files or memory."""
        try:
            clean = directory.clean_shutdown.delete()
            if not tasks:
                logger.info("No logs found to be loaded in %s", directory.path)
            elif clean:
                logger.info(
                    "Skipping recovery of %d logs from %s since clean shutdown file was found",
                    len(tasks),
                    directory.path,
                )
                await self._open_all(directory, tasks)
            else:
                logger.info(
                    "Recovering %d logs from %s since no clean shutdown file was found", len(tasks), directory.path
                )
                await self._recover_all(directory, tasks)
        except OSError as error:
            self._failed(directory, error)
            return 0
        directory.is_loaded = True
        return len(tasks)

    def _failed(self, directory: DataDirectory, error: OSError) -> None:
        if is_shortage(error):
            raise error
        logger.error("Error while loading log dir %s: %s", directory.path, in_words(error))
        self.remaining_logs[directory.path] = 0
        directory.fail(error)

    def _config_of(self, topic: str) -> LogConfig:
        config = self._configs.get(topic)
        if config is None:
            config = self._configs[topic] = self._topic_config(topic)
        return config

    def forget_configs(self) -> None:
        """Ask for the topics' configurations anew: some may have changed."""
        self._configs.clear()

    def _tasks(self, directory: DataDirectory, paths: list[str]) -> list[RecoveryTask]:
        checkpointed = self._checkpoints[directory.path].read()
        tasks, strays = [], []
        for path in paths:
            partition = names.parse_topic_partition_dir(path)
            config = self._config_of(partition.topic)
            if names.is_delete_dir(path):
                self._on_deleted(path, config)
                continue
            if names.is_stray_dir(path):
                strays.append(path.rpartition("/")[2])
                continue
            segments = record_files(self._runtime.files, path)
            recovery_point = None
            if checkpointed.recovery_points is not None:
                recovery_point = checkpointed.recovery_points.get(partition, 0)
            tasks.append(
                RecoveryTask(
                    path,
                    partition,
                    config,
                    self._context.producer_config,
                    checkpointed.log_start_offsets.get(partition, 0),
                    recovery_point,
                    checkpointed.high_watermarks.get(partition, 0),
                    unflushed_bytes(self._runtime.files, path, segments, recovery_point or 0),
                    len(segments),
                )
            )
        if strays:
            _tell_of_strays(directory.path, strays)
        return tasks

    async def _open_all(self, directory: DataDirectory, tasks: list[RecoveryTask]) -> None:
        for number, task in enumerate(tasks):
            self._open(directory, task)
            if number % _LOGS_A_SLICE == 0:
                await self._runtime.sleep_ms(0)

    async def _recover_all(self, directory: DataDirectory, tasks: list[RecoveryTask]) -> None:
        by_path = {task.directory: task for task in tasks}
        if sum(task.unflushed_bytes for task in tasks) < WORKER_BYTES_MIN:
            for task in tasks:
                self._open(directory, task, await self._recover_here(task))
            return

        async def follow_worker(share: list[RecoveryTask]) -> None:
            async with aclosing(self._runtime.work(recover_logs, self._runtime.files, share)) as reports:
                async for report in reports:
                    report.relay_lines()
                    self.remaining_segments[report.directory] = report.remaining_segments
                    if report.recovered is not None:
                        self._open(directory, by_path[report.directory], report.recovered)

        shares = share_out(tasks, self._recovery_threads)
        await _all([self._runtime.spawn(follow_worker(share)) for share in shares])

    async def _recover_here(self, task: RecoveryTask) -> RecoveredLog:
        steps = recovering(self._runtime, task)
        while True:
            try:
                self.remaining_segments[task.directory] = next(steps)
            except StopIteration as end:
                recovered: RecoveredLog = end.value
                return recovered
            await self._runtime.sleep_ms(0)

    def _open(self, directory: DataDirectory, task: RecoveryTask, recovered: RecoveredLog | None = None) -> None:
        started_ms = self._runtime.clock.monotonic_ms()
        log = load_log(
            self._context,
            task.directory,
            self._config_of(task.topic_partition.topic),  # it may have changed since the task was made
            topic_partition=task.topic_partition,
            log_start_offset=task.log_start_offset if recovered is None else recovered.log_start_offset,
            clean_shutdown=True,
        )
        log.update_high_watermark(task.high_watermark)
        self.remaining_segments.pop(task.directory, None)
        self.remaining_logs[directory.path] -= 1
        self._context.metrics.logs_loaded.value += 1
        logger.info(
            "Loaded log for partition %s with %d segments, log start offset %d and log end offset %d in %dms "
            "(%d remaining in %s)",
            log.topic_partition,
            len(log.segments),
            log.log_start_offset,
            log.log_end_offset,
            self._runtime.clock.monotonic_ms() - started_ms,
            self.remaining_logs[directory.path],
            directory.path,
        )
        self._on_loaded(log)


def _tell_of_strays(directory: str, strays: list[str]) -> None:
    """Once a start, however many there are: Ottla, like Apache Kafka, deletes none, so somebody else must."""
    shown = ", ".join(strays[:_STRAYS_SHOWN]) + (", …" if len(strays) > _STRAYS_SHOWN else "")
    logger.warning(
        "%s has %d stray director%s, of partitions that the metadata does not place here: %s. They are kept and not "
        "loaded; remove each %s/*-stray whose records nobody needs.",
        directory,
        len(strays),
        "y" if len(strays) == 1 else "ies",
        shown,
        directory,
    )


async def _all(running: Iterable[Awaitable[T]]) -> list[T]:
    """Wait for all of them, whatever becomes of one: nothing goes on behind an error. Raises the first one."""
    results: list[T] = []
    failure: OSError | KafkaError | None = None
    for one in running:
        try:
            results.append(await one)
        except (OSError, KafkaError) as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return results
