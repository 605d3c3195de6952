"""Logs that leave: deleted, put aside as stray, or replaced by their copy in another data directory.

A directory is renamed at once, so that a log of the same name can be made, and goes after ``file.delete.delay.ms``.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.cleaner.manager import LogCleanerManager
from ottla.log.directory_checkpoints import DirectoryCheckpoints
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.runtime.shortage import SHORTAGE_TRIES, SHORTAGE_WAIT_MS

logger = logging.getLogger(__name__)


class Swap(NamedTuple):
    """Whether a future log is still to take the place of a current one, and whom to tell."""

    is_due: Callable[[], bool] = lambda: True
    done: Callable[[Log], None] = lambda _log: None


class LogRemoval:
    """Works on the log manager's own maps of logs."""

    def __init__(
        self, context: LogContext, cleaner: LogCleanerManager, checkpoints: Mapping[str, DirectoryCheckpoints]
    ) -> None:
        self._context = context
        self._runtime = context.runtime
        self._cleaner = cleaner
        self._checkpoints = checkpoints

    async def delete(self, logs: dict[TopicPartition, Log], log: Log, *, is_current: bool) -> None:
        """Take a log out of ``logs`` and have it deleted."""
        await self._take_out(logs, log, is_current=is_current)
        await self._rename(log, names.delete_dir_name(log.topic_partition, self._runtime.rng))
        logger.info(
            "Log for partition %s is renamed to %s and is scheduled for deletion", log.topic_partition, log.directory
        )
        self._schedule(log)
        await self._forget(log.data_directory)

    async def put_aside(self, logs: dict[TopicPartition, Log], log: Log) -> None:
        """Take a current log out of ``logs``, close it and mark its directory as stray."""
        await self._take_out(logs, log, is_current=True)
        # Durably: a start that follows a crash recovers no stray.
        await self._despite_shortage(log, "closing", log.close)
        await self._rename(log, names.stray_dir_name(log.topic_partition, self._runtime.rng))
        logger.warning("Log for partition %s is marked as stray and renamed to %s", log.topic_partition, log.directory)
        await self._forget(log.data_directory)

    async def replace(
        self,
        logs: dict[TopicPartition, Log],
        future_logs: dict[TopicPartition, Log],
        topic_partition: TopicPartition,
        swap: Swap,
    ) -> bool:
        """Let the future log of a partition take the place of the current one; returns whether it did.

        ``swap.is_due`` is asked once nothing else can happen before ``swap.done`` is told: an append in between would
        be lost.
        """
        current, future = logs.get(topic_partition), future_logs.get(topic_partition)
        if current is None or future is None:
            raise KafkaStorageError(f"The current or the future log of {topic_partition} is offline")
        await self._cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            if not swap.is_due():
                return False
            future.rename_directory(names.log_dir_name(topic_partition))
            future.update_high_watermark(current.high_watermark)
            future_logs.pop(topic_partition, None)
            logs[topic_partition] = future
            swap.done(future)
            await self._cleaner.alter_checkpoint_dir(topic_partition, current.data_directory, future.data_directory)
            await self._rename(current, names.delete_dir_name(topic_partition, self._runtime.rng))
            self._schedule(current)
        finally:
            self._cleaner.resume_cleaning((topic_partition,))
        await self._forget(current.data_directory)
        return True

    def schedule_directory(self, path: str, config: LogConfig) -> None:
        """Have a directory deleted that a start has found renamed already."""
        files = self._runtime.files
        self._context.deletions.schedule(config.file_delete_delay_ms, path, lambda: files.remove_tree(path))

    async def _rename(self, log: Log, name: str) -> None:
        """Give the directory of a log that has left another name: by its own it would be taken for the next log of the
        partition.
        """
        await self._despite_shortage(log, "renaming the directory", partial(log.rename_directory, name))

    async def _despite_shortage(self, log: Log, what: str, action: Callable[[], None]) -> None:
        """Do what must be done to a log that has left; wait a while for open files, and without any fail its disk."""
        for tries_left in reversed(range(SHORTAGE_TRIES)):
            try:
                action()
            except ResourceShortageError as error:
                if not tries_left:
                    raise log.disk.failed(what, OSError(str(error)), may_be_refused=False) from error
                await self._runtime.sleep_ms(SHORTAGE_WAIT_MS)
            else:
                return

    def _schedule(self, log: Log) -> None:
        self._context.deletions.schedule(log.config.file_delete_delay_ms, log.directory, log.delete)

    async def _take_out(self, logs: dict[TopicPartition, Log], log: Log, *, is_current: bool) -> None:
        if is_current:
            await self._cleaner.abort_cleaning(log.topic_partition)
        logs.pop(log.topic_partition, None)
        if is_current:
            await self._cleaner.update_checkpoint(log.data_directory, log.topic_partition, None)

    async def _forget(self, data_directory: str) -> None:
        """Take a log that has left out of the checkpoints: another of its name must not begin where that one did."""
        await self._checkpoints[data_directory].write_recovery_points()
        await self._checkpoints[data_directory].write_log_start_offsets()
