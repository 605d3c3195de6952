"""The log manager: all logs of a broker, in all its data directories.

Life: ``start`` (lock and identify the directories, load and recover their logs) → serving, with :class:`Housekeeping`
at work → ``stop`` (flush and close every log, checkpoints, clean-shutdown markers). A data directory whose disk fails
goes offline with its logs; the rest goes on.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ottla.common.errors import InvalidConfigError, KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log import data_directory, names
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.data_directory import DataDirectory
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.log_startup import LogStartup
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)


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
    ) -> None:
        """``topic_overrides`` gives a topic's own configuration; ``on_directory_failure`` hears of each offline
        directory.
        """
        if len(set(config.log_dirs)) != len(config.log_dirs):
            raise InvalidConfigError(f"log.dirs names a directory twice: {', '.join(config.log_dirs)}")
        self.config = config
        self.logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.stray_logs: dict[TopicPartition, Log] = {}
        self.directories = {path: DataDirectory(runtime, path) for path in config.log_dirs}
        self.context = LogContext(
            runtime,
            producer_config=ProducerStateManagerConfig(
                producer_id_expiration_ms=config.producer_id_expiration_ms,
                max_transaction_timeout_ms=config.transaction_max_timeout_ms,
                transaction_verification_enabled=config.transaction_partition_verification_enable,
            ),
            strict_validation=config.ottla_produce_validation == "strict",
            on_disk_failure=self.handle_directory_failure,
        )
        self._runtime = runtime
        self._topic_overrides = topic_overrides
        self._topic_defaults = config.topic_defaults()
        self._identity = (cluster_id, node_id)
        self._on_directory_failure = on_directory_failure
        self._startup = LogStartup(
            self.context, self.topic_config, config.num_recovery_threads_per_data_dir, self._on_loaded
        )
        self.cleaner = LogCleaner(runtime, config, self.logs, config.log_dirs)

    # -- start and stop -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the data directories and load every log; KafkaStorageError if no directory can be used."""
        for directory in self.directories.values():
            directory.open(*self._identity)
        self._require_online_directory()
        await self._startup.load(list(self.directories.values()))
        for directory in self.directories.values():
            if not directory.is_online:
                self._take_offline(directory)
        self._require_online_directory()

    async def stop(self, broker_epoch: int = -1) -> None:
        """Flush and close everything; a directory in which all of that worked gets its clean-shutdown marker."""
        logger.info("Shutting down.")
        self.cleaner.shutdown()
        await self.flush(self._all_logs())
        for directory in self._online_directories():
            logs = self._logs_in(directory)
            try:
                for log in logs:
                    log.close()
                directory.recovery_points.write(data_directory.recovery_points(self._current_in(directory)))
                directory.log_start_offsets.write(data_directory.log_start_offsets(self._current_in(directory)))
                directory.high_watermarks.write(data_directory.high_watermarks(self._current_in(directory)))
                directory.clean_shutdown.write(broker_epoch)
            except (OSError, KafkaStorageError) as error:
                logger.error("No clean shutdown of %s: %s", directory.path, error)
            directory.close()
        logger.info("Shutdown complete.")

    @property
    def remaining_logs(self) -> Mapping[str, int]:
        """By data directory, how many logs are still to be loaded."""
        return self._startup.remaining_logs

    def _on_loaded(self, log: Log) -> None:
        name = log.directory.rpartition("/")[2]
        if names.is_delete_dir(name):
            self._schedule_deletion(log)
            return
        if names.is_stray_dir(name):
            logger.warning("Loaded stray log: %s", log.directory)
            self.stray_logs[log.topic_partition] = log
            return
        logs = self.future_logs if names.is_future_dir(name) else self.logs
        other = logs.get(log.topic_partition)
        if other is not None:
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
        data, so that is refused with KafkaStorageError.
        """
        logs = self.future_logs if is_future else self.logs
        log = logs.get(topic_partition)
        if log is None:
            offline = [path for path, known in self.directories.items() if not known.is_online]
            if not is_new and offline:
                raise KafkaStorageError(
                    f"Can not create log for {topic_partition} because log directories {', '.join(offline)} are offline"
                )
            parent = self._online(directory) if directory is not None else self._emptiest_directory()
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
                self.handle_directory_failure(parent.path, error)
                raise KafkaStorageError(f"Error while creating log for {topic_partition} in {parent.path}") from error
            logs[topic_partition] = log
            logger.info("Created log for partition %s in %s", topic_partition, log.directory)
        if topic_id is not None:
            log.assign_topic_id(topic_id)
        return log

    def update_topic_config(self, topic: str) -> None:
        """Give the logs of a topic its configuration anew."""
        config = self.topic_config(topic)
        for log in self._all_logs():
            if log.topic_partition.topic == topic:
                log.update_config(config)

    async def delete_log(self, topic_partition: TopicPartition, *, is_future: bool = False) -> Log | None:
        """Take a log out of use; its directory is renamed at once and deleted after the delay."""
        return await self._remove(topic_partition, is_future=is_future, is_stray=False)

    async def mark_stray(self, topic_partition: TopicPartition) -> Log | None:
        """Put aside the log of a partition that this broker should not have, for somebody to look at."""
        return await self._remove(topic_partition, is_future=False, is_stray=True)

    async def _remove(self, topic_partition: TopicPartition, *, is_future: bool, is_stray: bool) -> Log | None:
        logs = self.future_logs if is_future else self.logs
        log = logs.get(topic_partition)
        if log is None:
            return None
        if not is_future:
            await self.cleaner.abort_cleaning(topic_partition)
        del logs[topic_partition]
        await self.cleaner.update_checkpoint(log.data_directory, topic_partition, None)
        if is_stray:
            log.rename_directory(names.stray_dir_name(topic_partition, self._runtime.rng))
            self.stray_logs[topic_partition] = log
        else:
            log.rename_directory(names.delete_dir_name(topic_partition, self._runtime.rng))
            self._schedule_deletion(log)
        logger.info("Log for partition %s is renamed to %s", topic_partition, log.directory)
        directory = self._online(log.data_directory)
        await self._checkpoint((directory,))
        return log

    def _schedule_deletion(self, log: Log) -> None:
        due_ms = self._runtime.clock.now_ms() + log.config.file_delete_delay_ms
        self.context.deletions.schedule(due_ms, log.directory, log.delete)

    async def replace_current_with_future(self, topic_partition: TopicPartition) -> None:
        """Let the copy in another data directory, which has caught up, take the place of a log."""
        current, future = self.logs[topic_partition], self.future_logs[topic_partition]
        await self.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            future.rename_directory(names.log_dir_name(topic_partition))
            future.update_high_watermark(current.high_watermark)
            del self.future_logs[topic_partition]
            self.logs[topic_partition] = future
            await self.cleaner.alter_checkpoint_dir(topic_partition, current.data_directory, future.data_directory)
            current.rename_directory(names.delete_dir_name(topic_partition, self._runtime.rng))
            self._schedule_deletion(current)
        finally:
            self.cleaner.resume_cleaning((topic_partition,))
        await self._checkpoint((self._online(current.data_directory), self._online(future.data_directory)))

    # -- truncation ---------------------------------------------------------------------------------------------------

    async def truncate_to(self, topic_partition: TopicPartition, offset: int, *, is_future: bool = False) -> bool:
        """Truncate a log so that a crash at any moment leaves it sound; returns whether anything went."""
        log = (self.future_logs if is_future else self.logs)[topic_partition]
        stop_cleaner = offset < log.segments.active.base_offset and not is_future
        if stop_cleaner:
            await self.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            self._lower_recovery_point(log, offset)
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
        await self.cleaner.abort_and_pause_cleaning(topic_partition)
        try:
            self._lower_recovery_point(log, 0)
            log.truncate_fully_and_start_at(offset, log_start_offset)
            await self._truncate_cleaner_checkpoint(log)
        finally:
            self.cleaner.resume_cleaning((topic_partition,))

    def _lower_recovery_point(self, log: Log, offset: int) -> None:
        """Note on the disk, before the truncation, that what lies behind ``offset`` must be recovered from now on.

        Otherwise a crash would find a recovery point that speaks of bytes which have been replaced.
        """
        directory = self._online(log.data_directory)
        points = dict(data_directory.recovery_points(self._current_in(directory)))
        if points.get(log.topic_partition, 0) > offset:
            points[log.topic_partition] = offset
            try:
                directory.recovery_points.write(points)
            except OSError as error:
                self.handle_directory_failure(directory.path, error)
                raise KafkaStorageError(f"Error while writing recovery points in {directory.path}") from error

    async def _truncate_cleaner_checkpoint(self, log: Log) -> None:
        await self.cleaner.maybe_truncate_checkpoint(
            log.data_directory, log.topic_partition, log.segments.active.base_offset
        )

    # -- durability and retention -------------------------------------------------------------------------------------

    async def flush(self, logs: Iterable[Log]) -> None:
        """Bring these logs to the disk; several are flushed at the same time."""
        flushes = [log.flush() for log in logs]
        for flush in flushes:
            try:
                await flush
            except KafkaStorageError as error:
                logger.error("Error while flushing: %s", error)

    async def flush_dirty_logs(self) -> None:
        """Flush the logs whose topics ask for it by time (``flush.ms``)."""
        now_ms = self._runtime.clock.now_ms()
        await self.flush(
            [
                log
                for log in self._all_logs()
                if log.recovery_point < log.log_end_offset and now_ms - log.local.last_flush_ms >= log.config.flush_ms
            ]
        )

    async def checkpoint_recovery_points(self) -> None:
        """Write ``recovery-point-offset-checkpoint`` (and the high watermarks) of every directory."""
        await self._checkpoint(self._online_directories())

    async def _checkpoint(self, directories: Iterable[DataDirectory]) -> None:
        for directory in directories:
            logs = self._current_in(directory)
            points, watermarks = data_directory.recovery_points(logs), data_directory.high_watermarks(logs)
            await self._write_checkpoint(directory, partial(directory.recovery_points.write, points))
            await self._write_checkpoint(directory, partial(directory.high_watermarks.write, watermarks))

    async def checkpoint_log_start_offsets(self) -> None:
        """Write ``log-start-offset-checkpoint`` of every directory."""
        for directory in self._online_directories():
            offsets = data_directory.log_start_offsets(self._current_in(directory))
            await self._write_checkpoint(directory, partial(directory.log_start_offsets.write, offsets))

    async def _write_checkpoint(self, directory: DataDirectory, write: Callable[[], None]) -> None:
        try:
            await self._runtime.blocking(write)
        except OSError as error:
            logger.error("Disk error while writing checkpoints in directory %s: %s", directory.path, error)
            self.handle_directory_failure(directory.path, error)

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
        directory = self.directories.get(path)
        if directory is not None and directory.is_online:
            directory.fail(error)
            self._take_offline(directory)

    def _take_offline(self, directory: DataDirectory) -> None:
        assert directory.failure is not None
        logger.warning("Stopping serving logs in dir %s", directory.path)
        self.cleaner.handle_log_dir_failure(directory.path)
        for logs in (self.logs, self.future_logs, self.stray_logs):
            for topic_partition, log in list(logs.items()):
                if log.data_directory == directory.path:
                    del logs[topic_partition]
                    log.mark_offline(directory.failure)
        self._on_directory_failure(directory.path)

    def _require_online_directory(self) -> None:
        if not any(directory.is_online for directory in self.directories.values()):
            reasons = "; ".join(f"{path}: {directory.failure}" for path, directory in self.directories.items())
            raise KafkaStorageError(f"None of the log directories can be used: {reasons}")

    def _online_directories(self) -> list[DataDirectory]:
        return [directory for directory in self.directories.values() if directory.is_online]

    def _online(self, path: str) -> DataDirectory:
        directory = self.directories.get(path)
        if directory is None or not directory.is_online:
            raise KafkaStorageError(f"Log directory {path} is offline or not one of this broker's")
        return directory

    def _emptiest_directory(self) -> DataDirectory:
        self._require_online_directory()
        return min(self._online_directories(), key=lambda directory: len(self._logs_in(directory)))

    def _all_logs(self) -> list[Log]:
        return [*self.logs.values(), *self.future_logs.values()]

    def _logs_in(self, directory: DataDirectory) -> list[Log]:
        return [log for log in self._all_logs() if log.data_directory == directory.path]

    def _current_in(self, directory: DataDirectory) -> list[Log]:
        return [log for log in self.logs.values() if log.data_directory == directory.path]
