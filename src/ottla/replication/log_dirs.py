"""The data directories of a broker as administrators see them: what lies where, and moving it."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.error_words import in_words
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.log.names import FUTURE_DIR_SUFFIX, NAME_LENGTH_MAX, log_dir_name
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.partition import Partition
from ottla.replication.replica_mover import ReplicaMover

logger = logging.getLogger(__name__)

INVALID_OFFSET_LAG: Final = -1
UNKNOWN_BYTES: Final = -1
_FUTURE_NAME_EXTRA: Final = len(".") + 32 + len(FUTURE_DIR_SUFFIX)

DiskSpace = Callable[[str], tuple[int, int]]
"""The total and the usable bytes of the disk under a path; may raise OSError."""


class ReplicaDescription(NamedTuple):
    """One log in a directory."""

    topic_partition: TopicPartition
    size_bytes: int
    offset_lag: int
    """How far a future log lies behind the current one, or a current one behind the high watermark; -1 if unknown."""
    is_future: bool


class LogDirDescription(NamedTuple):
    """One data directory; nothing but the error is known of one that is offline."""

    path: str
    error_code: int = 0
    replicas: Sequence[ReplicaDescription] = ()
    total_bytes: int = UNKNOWN_BYTES
    usable_bytes: int = UNKNOWN_BYTES


class LogDirs:
    """See the module."""

    def __init__(self, log_manager: LogManager, partitions: HostedPartitions, mover: ReplicaMover) -> None:
        self._log_manager = log_manager
        self._partitions = partitions
        self._mover = mover

    # -- describing ---------------------------------------------------------------------------------------------------

    def describe(
        self, wanted: Collection[TopicPartition] | None, disk_space: DiskSpace | None = None
    ) -> list[LogDirDescription]:
        """Every directory with its logs of the ``wanted`` partitions (None: of all)."""
        by_directory: dict[str, list[ReplicaDescription]] = {}
        for logs, is_future in ((self._log_manager.logs, False), (self._log_manager.future_logs, True)):
            for topic_partition, log in logs.items():
                if wanted is None or topic_partition in wanted:
                    by_directory.setdefault(log.data_directory, []).append(
                        ReplicaDescription(
                            topic_partition,
                            log.size_in_bytes,
                            self._offset_lag(topic_partition, log.log_end_offset, is_future),
                            is_future,
                        )
                    )
        descriptions = []
        for directory in self._log_manager.directories:
            total_bytes = usable_bytes = UNKNOWN_BYTES
            error_code = ErrorCode.NONE if directory.is_online else ErrorCode.KAFKA_STORAGE_ERROR
            if directory.is_online and disk_space is not None:
                try:
                    total_bytes, usable_bytes = disk_space(directory.path)
                except OSError as error:
                    logger.warning("The disk under %s does not tell its size: %s", directory.path, in_words(error))
            replicas = by_directory.get(directory.path, []) if directory.is_online else []
            descriptions.append(LogDirDescription(directory.path, error_code, replicas, total_bytes, usable_bytes))
        return descriptions

    def _offset_lag(self, topic_partition: TopicPartition, log_end_offset: int, is_future: bool) -> int:
        partition = self._partitions.get(topic_partition)
        log = None if partition is None else partition.log
        if log is None:
            return INVALID_OFFSET_LAG
        return log.log_end_offset - log_end_offset if is_future else max(log.high_watermark - log_end_offset, 0)

    # -- moving -------------------------------------------------------------------------------------------------------

    async def alter_replica_log_dirs(self, wanted: Sequence[tuple[TopicPartition, str]]) -> list[int]:
        """Begin to move replicas to directories; the error code of each.

        A replica that lies where it is wanted stays; one on its way elsewhere changes its way.
        """
        return [await self._alter(topic_partition, path) for topic_partition, path in wanted]

    async def _alter(self, topic_partition: TopicPartition, path: str) -> int:
        try:
            await self._move(topic_partition, path)
        except KafkaError as error:
            logger.warning("Unable to alter log dirs for %s: %s", topic_partition, error)
            not_here = error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            return ErrorCode.REPLICA_NOT_AVAILABLE if not_here else error.code
        return ErrorCode.NONE

    async def _move(self, topic_partition: TopicPartition, path: str) -> None:
        if len(log_dir_name(topic_partition)) + _FUTURE_NAME_EXTRA > NAME_LENGTH_MAX:
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        self._log_manager.directories.online_at(path)
        partition = self._partitions.require(topic_partition)
        if partition.future_log is not None and partition.future_log.data_directory != path:
            self._mover.stop(partition)
            await self._log_manager.delete_log(topic_partition, is_future=True)
        log = partition.local_log(-1, False)
        if log.data_directory == path:
            logger.info("Current log directory %s is same as requested log dir %s.", log.data_directory, path)
            return
        if partition.future_log is None:
            self._mover.start(partition, self._create_future(partition, path))

    def _create_future(self, partition: Partition, path: str) -> Log:
        return self._log_manager.get_or_create_log(
            partition.topic_partition, partition.topic_id, is_new=False, is_future=True, directory=path
        )

    def resume(self) -> None:
        """Go on with the moves that a restart has interrupted, as their partitions come back."""
        for topic_partition, future in list(self._log_manager.future_logs.items()):
            partition = self._partitions.get(topic_partition)
            if partition is not None and partition.log is not None and topic_partition not in self._mover:
                self._mover.start(partition, future)
