"""The partitions that coordinators live on: their appends and loads, on top of the replicas of this broker."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.ports import Acknowledge, Appended
from ottla.log.readable_log import FetchIsolation
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.append_origin import AppendOrigin
from ottla.replication.append_result import AppendResult
from ottla.replication.appender import ACKS_ALL
from ottla.replication.replica_manager import ReplicaManager

_COORDINATOR: Final = AppendOrigin.COORDINATOR


class CoordinatorPartitions:
    """A :class:`ottla.coordinator.ports.PartitionWriter` and ``PartitionReader``."""

    def __init__(self, replicas: ReplicaManager, commit_timeout_ms: int) -> None:
        """``commit_timeout_ms`` is how long an append may wait for its followers."""
        self._replicas = replicas
        self._commit_timeout_ms = commit_timeout_ms

    # -- writing ------------------------------------------------------------------------------------------------------

    def append(
        self,
        topic_partition: TopicPartition,
        batch: bytearray,
        acknowledge: Acknowledge,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = -1,
    ) -> Appended:
        """See the port."""
        appended = self._replicas.append_one(
            topic_partition, None, batch, ACKS_ALL, _COORDINATOR, verification_guard, transaction_version
        )
        if appended is None:
            raise self._replicas.partitions.missing(topic_partition)
        if isinstance(appended, AppendResult):
            error = _error(appended)
            if error is not None:
                raise error
            return tuple.__new__(Appended, (appended.base_offset, True))  # half a microsecond less than the class's own
        self._replicas.respond_when_acknowledged(
            appended, ACKS_ALL, self._commit_timeout_ms, lambda results: acknowledge(_error(results[0]))
        )
        return Appended(appended[1].base_offset, is_committed=False)

    def await_committed(self, topic_partition: TopicPartition, end_offset: int, acknowledge: Acknowledge) -> bool:
        """See the port."""
        partition = self._replicas.partitions.require(topic_partition)
        log = partition.leader_log()
        if log.high_watermark >= end_offset:
            return True
        awaited = AppendResult(0, last_offset=end_offset - 1)
        self._replicas.respond_when_acknowledged(
            (partition, awaited), ACKS_ALL, self._commit_timeout_ms, lambda results: acknowledge(_error(results[0]))
        )
        return False

    def max_batch_bytes(self, topic_partition: TopicPartition) -> int:
        """See the port."""
        return self._replicas.partitions.require(topic_partition).leader_log().config.max_message_bytes

    # -- reading ------------------------------------------------------------------------------------------------------

    def bounds(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """See the port."""
        log = self._replicas.partitions.require(topic_partition).leader_log()
        return log.log_start_offset, log.log_end_offset

    async def read(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        """See the port."""
        log = self._replicas.partitions.require(topic_partition).leader_log()
        data = log.read(offset, max_bytes, FetchIsolation.LOG_END)
        return await log.load(data, "loading a coordinator")


def _error(result: AppendResult) -> ApiError | None:
    return ApiError(ErrorCode(result.error_code), result.error_message or "") if result.error_code else None
