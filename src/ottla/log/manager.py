"""The log manager: all logs of a broker, in all its data directories.

Life: ``open`` (lock and identify the directories) → ``load`` (load and recover their logs) → serving, with
:class:`Housekeeping` at work → ``stop`` (flush and close every log, checkpoints, clean-shutdown markers). A data
directory whose disk fails goes offline with its logs; the rest goes on.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.data_directories import DataDirectories
from ottla.log.data_directory import DataDirectory
from ottla.log.directory_checkpoints import DirectoryCheckpoints
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.log_metrics import LogMetrics
from ottla.log.log_removal import LogRemoval, Swap
from ottla.log.log_startup import LogStartup
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.runtime.open_files import RAISE_THE_LIMIT, OpenFiles
from ottla.runtime.port import Runtime
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)

FLUSHES_AT_A_TIME: Final = 16


class LogManager:
    """See the module. Every method is called on the reactor; the ``async`` ones wait for the disk or the cleaner."""

    def __init__(
        self,
        runtime: Runtime,
        config: BrokerLogConfig,
        *,
        topic_overrides: Callable[[str], Mapping[str, object]] = lambda _topic: {},
        cluster_id: str | None = None,
        node_id: int | None = None,
        on_directory_failure: Callable[[str], None] = lambda _path: None,
        metrics: LogMetrics | None = None,
        open_files: OpenFiles | None = None,
    ) -> None:
        """``topic_overrides`` gives a topic's own configuration; ``on_directory_failure`` hears of each offline
        directory.
        """
        self.config = config
        self.logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.directories = DataDirectories(runtime, config.log_dirs)
        self.context = LogContext(
            runtime,
            producer_config=ProducerStateManagerConfig(
                producer_id_expiration_ms=config.producer_id_expiration_ms,
                max_transaction_timeout_ms=config.transaction_max_timeout_ms,
                transaction_verification_enabled=config.transaction_partition_verification_enable,
            ),
            strict_validation=config.ottla_produce_validation == "strict",
            metrics=metrics or LogMetrics(),
            on_disk_failure=self.handle_directory_failure,
        )
        self._runtime = runtime
        self._open_files = open_files or OpenFiles(runtime.clock)
        self._topic_overrides = topic_overrides
        self._topic_defaults = config.topic_defaults()
        self._identity = (cluster_id, node_id)
        self._on_directory_failure = on_directory_failure
        self._checkpoints = {path: self._checkpoints_of(path) for path in config.log_dirs}
        self.cleaner = LogCleaner(
            runtime,
            config,
            self.logs,
            config.log_dirs,
            before_swaps=lambda path: self._checkpoints[path].write_recovery_points(),
        )
        self._removal = LogRemoval(self.context, self.cleaner, self._checkpoints)
        self._startup = LogStartup(
            self.context,
            self.topic_config,
            config.num_recovery_threads_per_data_dir,
            self._checkpoints,
            self._open_files,
            on_loaded=self._on_loaded,
            on_deleted=self._removal.schedule_directory,
        )

    def _checkpoints_of(self, path: str) -> DirectoryCheckpoints:
        return DirectoryCheckpoints(
            self._runtime,
            path,
            lambda: self._logs_in(path),
            self.handle_directory_failure,
            self.context.shortages.report,
        )

    # -- start and stop -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """``open`` and ``load``. A start that fails leaves nothing open and nothing locked."""
        self.open()
        await self.load()

    def open(self) -> None:
        """Lock the data directories and see whose they are; KafkaStorageError if none can be used."""
        try:
            self.directories.open(*self._identity)
            self.directories.require_online()
        except OSError as error:
            self.directories.close()
            message = f"The log directories could not be opened: {in_words(error)}. {RAISE_THE_LIMIT}."
            raise ResourceShortageError(message) from error
        except BaseException:
            self.directories.close()
            raise

    async def load(self) -> None:
        """Load and recover every log, each with its topic's configuration; KafkaStorageError if no directory is left.

        ResourceShortageError if the limit of open files is too low for them. Unlocks the directories if it fails.
        """
        try:
            await self._startup.load(self.directories.online)
            for directory in self.directories:
                if not directory.is_online:
                    self._take_offline(directory)
            self.directories.require_online()
        except BaseException:
            for log in self._all_logs():
                log.close_handlers()
            self.directories.close()
            raise
        # What was recovered need not be again; and no log made from now on inherits what a deleted one left.
        await self.checkpoint_recovery_points()
        await self.checkpoint_log_start_offsets()

    async def stop(self, broker_epoch: int = -1) -> None:
        """Flush and close everything; a directory in which all of that worked gets its clean-shutdown marker.

        Whoever runs :class:`Housekeeping` ends it first, since a cleaner may be at work in it.
        """
        logger.info("Shutting down.")
        self.cleaner.shutdown()
        await self.flush(self._all_logs())
        for directory in self.directories.online:
            checkpoints = self._checkpoints[directory.path]
            try:
                for log in self._logs_in(directory.path):
                    log.close()
                if directory.is_loaded:
                    await checkpoints.write_recovery_points()
                    await checkpoints.write_log_start_offsets()
                    directory.clean_shutdown.write(broker_epoch)
            except (OSError, KafkaStorageError) as error:
                logger.error("No clean shutdown of %s: %s", directory.path, in_words(error))
            directory.close()
        logger.info("Shutdown complete.")

    @property
    def remaining_logs(self) -> Mapping[str, int]:
        """By data directory, how many logs are still to be loaded."""
        return self._startup.remaining_logs

    @property
    def remaining_segments(self) -> Mapping[str, int]:
        """By the directory of each log that is being recovered, how many segments are still to be scanned."""
        return self._startup.remaining_segments

    def _on_loaded(self, log: Log) -> None:
        name = log.directory.rpartition("/")[2]
        logs = self.future_logs if names.is_future_dir(name) else self.logs
        other = logs.get(log.topic_partition)
        if other is not None:
            log.close_handlers()
            raise KafkaStorageError(
                f"Duplicate log directories for {log.topic_partition}: {other.directory} and {log.directory}. "
                "A disk failed while the replica moved between them; remove the one on the disk that failed."
            )
        logs[log.topic_partition] = log

    # -- logs ---------------------------------------------------------------------------------------------------------

    def topic_config(self, topic: str) -> LogConfig:
        """A topic's configuration: the broker's defaults with the topic's own values over them."""
        return self._topic_defaults.override(self._topic_overrides(topic))

    def get_or_create_log(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid | None = None,
        *,
        is_new: bool = True,
        is_future: bool = False,
        directory: str | None = None,
    ) -> Log:
        """A partition's log, made in ``directory`` or the one with the fewest logs.

        A partition that is not new may lie in a directory that is offline: making it again elsewhere would hide its
        data, so that is refused with KafkaStorageError. A future log is always made in a given directory, another one
        than the current log's.
        """
        logs = self.future_logs if is_future else self.logs
        log = logs.get(topic_partition)
        if log is None:
            if not is_new:
                self.directories.require_none_offline(f"Can not create log for {topic_partition}")
            parent = self.directories.online_at(directory) if directory is not None else self._emptiest_directory()
            if is_future:
                assert directory is not None, f"nobody said where the future log of {topic_partition} goes"
                assert parent.path != self.logs[topic_partition].data_directory, f"{topic_partition} is in {directory}"
            name = (
                names.future_dir_name(topic_partition, self._runtime.rng)
                if is_future
                else names.log_dir_name(topic_partition)
            )
            config = self.topic_config(topic_partition.topic)
            try:
                log = load_log(
                    self.context, f"{parent.path}/{name}", config, topic_partition=topic_partition, clean_shutdown=True
                )
            except OSError as error:
                message = f"Error while creating log for {topic_partition} in {parent.path}"
                if is_shortage(error):
                    self.context.shortages.report(f"{message}: {in_words(error)}")
                    raise ResourceShortageError(f"{message}: {in_words(error)}") from error
                self.handle_directory_failure(parent.path, error)
                raise KafkaStorageError(message) from error
            self._open_files.opened_partition()
            logs[topic_partition] = log
            logger.info("Created log for partition %s in %s", topic_partition, log.directory)
        if topic_id is not None:
            log.assign_topic_id(topic_id)
        return log

    async def update_config(self, config: BrokerLogConfig) -> None:
        """Take over a changed broker configuration: the topics' defaults, and what is read where it is used."""
        self.config = config
        self._topic_defaults = config.topic_defaults()
        self._startup.forget_configs()
        for topic in dict.fromkeys(log.topic_partition.topic for log in self._all_logs()):
            await self.update_topic_config(topic)

    async def update_topic_config(self, topic: str) -> None:
        """Give the logs of a topic its configuration anew; a log that is no longer compacted is not cleaned on."""
        self._startup.forget_configs()
        config = self.topic_config(topic)
        for log in self._all_logs():
            if log.topic_partition.topic == topic:
                was_compacted = log.config.compact
                log.update_config(config)
                if was_compacted and not config.compact and self.logs.get(log.topic_partition) is log:
                    await self.cleaner.abort_cleaning(log.topic_partition)

    async def delete_log(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Take a log out of use; its directory is renamed at once and deleted after the delay.

        None if there is none; KafkaStorageError if it may lie in a directory that is offline.
        """
        logs = self.future_logs if is_future else self.logs
        log = self._leaving(logs, topic_partition)
        if log is not None:
            await self._removal.delete(logs, log, is_current=not is_future)
        return log

    async def mark_stray(self, topic_partition: TopicPartition) -> Log | None:
        """Put aside the log of a partition that this broker should not have: whole, and never loaded again."""
        log = self._leaving(self.logs, topic_partition)
        if log is not None:
            await self._removal.put_aside(self.logs, log)
        return log

    def _leaving(self, logs: Mapping[TopicPartition, Log], topic_partition: TopicPartition) -> Log | None:
        log = logs.get(topic_partition)
        if log is None:
            self.directories.require_none_offline(f"Can not delete log for {topic_partition}")
        return log

    async def replace_current_with_future(self, topic_partition: TopicPartition, swap: Swap | None = None) -> bool:
        """Let the copy in another data directory, which has caught up, take the place of a log; returns whether."""
        return await self._removal.replace(self.logs, self.future_logs, topic_partition, swap or Swap())

    # -- truncation ---------------------------------------------------------------------------------------------------

    async def truncate_to(self, topic_partition: TopicPartition, offset: int, *, is_future: bool = False) -> bool:
        """Truncate a log so that a crash at any moment leaves it sound; returns whether anything went."""
        log = (self.future_logs if is_future else self.logs)[topic_partition]
        stop_cleaner = offset < log.segments.active.base_offset and not is_future
        if stop_cleaner:
            await self.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            checkpoints = self._checkpoints[log.data_directory]
            async with checkpoints.truncating(log, recovery_point=offset, log_start_offset=offset):
                truncated = log.truncate_to(offset)
            if stop_cleaner:
                await self._truncate_cleaner_checkpoint(log)
        finally:
            if stop_cleaner:
                self.cleaner.resume_cleaning((topic_partition,))
        return truncated

    async def truncate_fully_and_start_at(
        self,
        topic_partition: TopicPartition,
        offset: int,
        *,
        is_future: bool = False,
        log_start_offset: int | None = None,
    ) -> None:
        """Drop a log's contents and begin anew at ``offset``."""
        log = (self.future_logs if is_future else self.logs)[topic_partition]
        start_offset = offset if log_start_offset is None else log_start_offset
        if not is_future:
            await self.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            checkpoints = self._checkpoints[log.data_directory]
            async with checkpoints.truncating(log, recovery_point=0, log_start_offset=start_offset):
                log.truncate_fully_and_start_at(offset, log_start_offset)
            if not is_future:
                await self._truncate_cleaner_checkpoint(log)
        finally:
            if not is_future:
                self.cleaner.resume_cleaning((topic_partition,))

    async def _truncate_cleaner_checkpoint(self, log: Log) -> None:
        await self.cleaner.maybe_truncate_checkpoint(
            log.data_directory, log.topic_partition, log.segments.active.base_offset
        )

    # -- durability and retention -------------------------------------------------------------------------------------

    async def flush(self, logs: Iterable[Log]) -> None:
        """Bring these logs to the disk, some at the same time; a disk that fails takes its directory offline."""
        flushes: deque[Awaitable[None]] = deque()
        for log in logs:
            try:
                flushes.append(log.flush())
            except KafkaStorageError as error:  # another log of its directory has just found out
                logger.error("Error while flushing: %s", error)
            if len(flushes) >= FLUSHES_AT_A_TIME:  # each has index files open meanwhile
                await _settled(flushes.popleft())
        while flushes:
            await _settled(flushes.popleft())

    async def flush_dirty_logs(self) -> None:
        """Flush the logs whose topics ask for it by time (``flush.ms``)."""
        now_ms = self._runtime.clock.monotonic_ms()
        await self.flush(
            [
                log
                for log in self._all_logs()
                if log.recovery_point < log.log_end_offset and now_ms - log.local.last_flush_ms >= log.config.flush_ms
            ]
        )

    async def checkpoint_recovery_points(self) -> None:
        """Write ``recovery-point-offset-checkpoint`` (and the high watermarks) of every directory."""
        await self._checkpoint(lambda checkpoints: checkpoints.write_recovery_points())

    async def checkpoint_high_watermarks(self) -> None:
        """Write ``replication-offset-checkpoint`` of every directory."""
        await self._checkpoint(lambda checkpoints: checkpoints.write_high_watermarks())

    async def checkpoint_log_start_offsets(self) -> None:
        """Write ``log-start-offset-checkpoint`` of every directory."""
        await self._checkpoint(lambda checkpoints: checkpoints.write_log_start_offsets())

    async def _checkpoint(self, write: Callable[[DirectoryCheckpoints], Awaitable[None]]) -> None:
        for directory in self.directories.online:
            try:
                await write(self._checkpoints[directory.path])
            except KafkaStorageError:
                continue  # logged, and the directory is offline

    def clean_up_logs(self) -> int:
        """Delete the segments that no topic's retention keeps any more; returns how many."""
        deleted = 0
        paused = self.cleaner.pause_cleaning_for_non_compacted_partitions()
        compacted = self.cleaner.deletable_logs()
        try:
            for log in [*paused, *compacted, *self.future_logs.values()]:
                try:
                    deleted += log.delete_old_segments()
                except KafkaStorageError as error:
                    logger.error("Retention of %s failed: %s", log.topic_partition, error)
        finally:
            self.cleaner.resume_cleaning([log.topic_partition for log in paused])
            self.cleaner.done_deleting([log.topic_partition for log in compacted])
        return deleted

    def expire_producers(self) -> None:
        """Forget producers that have been silent for ``producer.id.expiration.ms``."""
        now_ms = self._runtime.clock.now_ms()
        for log in self._all_logs():
            log.producer_state.remove_expired_producers(now_ms)

    # -- directories --------------------------------------------------------------------------------------------------

    def handle_directory_failure(self, path: str, error: Exception) -> None:
        """Take a data directory and its logs offline, alone."""
        directory = self.directories[path]
        if directory.is_online:
            directory.fail(error)
            self._take_offline(directory)

    def _take_offline(self, directory: DataDirectory) -> None:
        assert directory.failure is not None
        logger.warning("Stopping serving logs in dir %s", directory.path)
        self.cleaner.handle_log_dir_failure(directory.path)
        for logs in (self.logs, self.future_logs):
            for topic_partition, log in list(logs.items()):
                if log.data_directory == directory.path:
                    del logs[topic_partition]
                    log.mark_offline(directory.failure)
        self._on_directory_failure(directory.path)

    def _emptiest_directory(self) -> DataDirectory:
        self.directories.require_online()
        return min(self.directories.online, key=lambda directory: len(self._logs_in(directory.path)))

    def _all_logs(self) -> list[Log]:
        return [*self.logs.values(), *self.future_logs.values()]

    def _logs_in(self, path: str) -> list[Log]:
        return [log for log in self._all_logs() if log.data_directory == path]


async def _settled(flush: Awaitable[None]) -> None:
    try:
        await flush
    except KafkaStorageError as error:
        logger.error("Error while flushing: %s", error)
