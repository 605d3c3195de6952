"""Reading for a fetch: several partitions within the limits of one response."""

import logging
from collections.abc import Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InconsistentTopicIdError, KafkaError
from ottla.log.readable_log import FetchIsolation
from ottla.replication.broker_topic_metrics import BrokerTopicMetrics
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.read_result import UNCHANGED, FetchParams, FetchPartition, ReadResult
from ottla.runtime.port import Clock

logger = logging.getLogger(__name__)

_LOG_END: Final = FetchIsolation.LOG_END
_EXPECTED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""What a client or a failing disk brings about; everything else counts as a failed fetch."""


class LogReader:
    """Reads from the partitions that are hosted here."""

    __slots__ = ("_all_topics", "_clock", "_partitions")

    def __init__(self, partitions: HostedPartitions, clock: Clock, all_topics: BrokerTopicMetrics) -> None:
        self._partitions = partitions
        self._clock = clock
        self._all_topics = all_topics

    def read(
        self, params: FetchParams, fetches: Sequence[FetchPartition], *, update_fetch_state: bool = True
    ) -> list[ReadResult]:
        """One result for each, in order; errors are results. The second read of a fetch updates no state and no count.

        Together they stay within ``params.max_bytes``, but the first partition that has anything gives at least one
        batch, however large: otherwise no client could ever pass it. A partition of a session in which nothing has
        changed since the last answer costs a comparison and is UNCHANGED.
        """
        results: list[ReadResult] = []
        append = results.append
        limit_bytes = params.max_bytes
        min_one_message = True
        if update_fetch_state:
            self._all_topics.total_fetch_requests.value += len(fetches)
        is_consumer = params.replica_id < 0 and params.isolation is not _LOG_END
        for fetch in fetches:
            partition = fetch.hosted
            if is_consumer and partition is not None and partition.is_leader:
                log = partition.log
                epoch = fetch.current_leader_epoch
                if (
                    log is not None
                    and fetch.fetch_offset == log.high_watermark == fetch.high_watermark
                    and fetch.local_log_start_offset == log.log_start_offset
                    and epoch in (-1, partition.leader_epoch)
                    and fetch.last_fetched_epoch == -1
                    and log.disk.failure is None
                ):
                    if update_fetch_state:
                        partition.metrics.total_fetch_requests.value += 1
                    append(UNCHANGED)
                    continue
            result = self._read_one(params, fetch, limit_bytes, min_one_message, update_fetch_state)
            if result.records is not None:
                min_one_message = False
                limit_bytes = max(0, limit_bytes - result.records.size)
            append(result)
        return results

    def _read_one(
        self,
        params: FetchParams,
        fetch: FetchPartition,
        limit_bytes: int,
        min_one_message: bool,
        update_fetch_state: bool,
    ) -> ReadResult:
        topic_partition = fetch.topic_partition
        if topic_partition is None:
            return ReadResult(ErrorCode.UNKNOWN_TOPIC_ID)
        try:
            partition = self._partitions.require(topic_partition)
            topic_id = fetch.topic_id
            if topic_id is not None and topic_id is not partition.topic_id and topic_id != partition.topic_id:
                raise InconsistentTopicIdError("Topic ID in the fetch session did not match the topic ID in the log.")
            fetch.hosted = partition
            if update_fetch_state:
                partition.metrics.total_fetch_requests.value += 1
            return partition.fetch_records(
                fetch,
                params,
                min(fetch.max_bytes, limit_bytes),
                min_one_message=min_one_message,
                update_fetch_state=update_fetch_state,
                now_ms=self._clock.monotonic_ms() if params.replica_id >= 0 else 0,
            )
        except KafkaError as error:
            fetch.hosted = None
            if error.code not in _EXPECTED:
                self._all_topics.failed_fetch_requests.value += 1
                hosted = self._partitions.get(topic_partition)
                if hosted is not None:
                    hosted.metrics.failed_fetch_requests.value += 1
                logger.error(
                    "Error processing fetch with max size %d from replica %d on partition %s: %s: %s",
                    min(fetch.max_bytes, limit_bytes),
                    params.replica_id,
                    topic_partition,
                    fetch,
                    error,
                )
            return ReadResult(error.code)
