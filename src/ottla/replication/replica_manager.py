"""The replica manager: everything that the requests of clients and followers ask of this broker's partitions.

It lives on the reactor. What can be answered at once calls ``respond`` before the method returns; what must wait goes
to a purgatory. Results come in the order of what was asked.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.common.topic_partition import TopicPartition
from ottla.log.manager import LogManager
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.topics_delta import TopicsDelta
from ottla.metrics.registry import Registry
from ottla.replication.appender import Appender, Entry, Respond
from ottla.replication.delayed_delete_records import DelayedDeleteRecords, DeleteRecordsResult
from ottla.replication.delayed_fetch import DelayedFetch
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.log_dirs import LogDirs
from ottla.replication.log_reader import LogReader
from ottla.replication.partition import Partition
from ottla.replication.partition_changes import PartitionChanges
from ottla.replication.ports import AllowAllTransactions, DirectoryAssignments, TxnVerifier
from ottla.replication.purgatories import Purgatories
from ottla.replication.read_result import (
    NO_PREFERRED_READ_REPLICA,
    UNCHANGED,
    EpochEndOffset,
    FetchParams,
    FetchPartition,
    ReadResult,
)
from ottla.replication.replica_metrics import BrokerTopicStats, ReplicaMetrics
from ottla.replication.replica_mover import ReplicaMover
from ottla.replication.transaction_verification import TransactionVerification
from ottla.replication.transactional_produce import TransactionalProduce
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)


class ReplicaManager:
    """See the module. ``append_records``, ``append_one`` and ``stats`` are attributes for the sake of the hot path."""

    def __init__(
        self,
        runtime: Runtime,
        log_manager: LogManager,
        node_id: int,
        *,
        registry: Registry,
        purgatories: Purgatories,
        replica_lag_time_max_ms: int = 30_000,
        txn_verifier: TxnVerifier | None = None,
        txn_retry_backoff_ms: int = 20,
        txn_retry_timeout_ms: int = 100,
        directory_assignments: DirectoryAssignments | None = None,
    ) -> None:
        self.node_id = node_id
        self.log_manager = log_manager
        self.image = MetadataImage()
        self.purgatories = purgatories
        self.partitions = HostedPartitions(self._is_known)
        self.stats = BrokerTopicStats(registry)
        self.metrics = ReplicaMetrics(registry, self.partitions, purgatories, runtime.clock)
        self._clock = runtime.clock
        self._reader = LogReader(self.partitions, runtime.clock, self.stats.all_topics)
        expired = self.metrics.produce_expired
        appender = Appender(runtime, self.partitions, purgatories, self.stats.all_topics, expired)
        self._appender = appender
        self.append_records = appender.append_records
        self.append_one = appender.append_one
        self.respond_when_acknowledged = appender.respond_when_acknowledged
        verification = TransactionVerification(
            runtime,
            self.partitions,
            txn_verifier or AllowAllTransactions(),
            retry_backoff_ms=txn_retry_backoff_ms,
            retry_timeout_ms=txn_retry_timeout_ms,
        )
        self.verify_transaction = verification.verify
        self._transactional = TransactionalProduce(appender, verification)
        mover = ReplicaMover(runtime, log_manager, purgatories, directory_assignments)
        self.log_dirs = LogDirs(log_manager, self.partitions, mover)
        self._changes = PartitionChanges(
            runtime,
            log_manager,
            node_id,
            self.partitions,
            purgatories,
            brokers=self,
            stats=self.stats,
            metrics=self.metrics,
            replica_lag_time_max_ms=replica_lag_time_max_ms,
            on_stopped=mover.stop,
            assignments=directory_assignments,
        )

    def stop(self) -> None:
        """The logs are about to be closed."""
        self._appender.stop()
        self._changes.stop()

    # -- metadata -----------------------------------------------------------------------------------------------------

    async def apply_delta(self, delta: TopicsDelta | None, image: MetadataImage) -> None:
        """Follow the metadata to ``image``; ``delta`` is None where no topic has changed. One call after the other."""
        if image.offset >= self.image.offset:  # a later one may have been shown already
            self.image = image
        if delta is not None:
            await self._changes.apply(delta.local_changes(self.node_id))
            self.log_dirs.resume()

    async def put_aside_strays(self) -> list[TopicPartition]:
        """After the first image: mark the logs stray that do not belong here; returns which."""
        return await self._changes.put_aside_strays(self.image.topics)

    def handle_log_dir_failure(self, path: str) -> list[TopicPartition]:
        """A data directory has gone offline (the log manager's ``on_directory_failure``); returns what was in it."""
        return [partition.topic_partition for partition in self._changes.handle_log_dir_failure(path)]

    def topic_overrides(self, topic: str) -> Mapping[str, str]:
        """A topic's own configuration, for the log manager."""
        return self.image.configs.properties(ConfigResourceType.TOPIC, topic)

    def alive_epoch(self, broker_id: int) -> int | None:
        """See :class:`ottla.replication.ports.Brokers`."""
        broker = self.image.cluster.broker(broker_id)
        return None if broker is None or broker.fenced else broker.epoch

    def is_shutting_down(self, broker_id: int) -> bool:
        """See :class:`ottla.replication.ports.Brokers`."""
        broker = self.image.cluster.broker(broker_id)
        return broker is not None and broker.in_controlled_shutdown

    def _is_known(self, topic_partition: TopicPartition) -> bool:
        return self.image.topics.partition(*topic_partition) is not None

    # -- producing ----------------------------------------------------------------------------------------------------

    def handle_produce_append(
        self,
        transactional_id: str | None,
        entries: Sequence[Entry],
        required_acks: int,
        timeout_ms: int,
        respond: Respond,
        *,
        internal_topics_allowed: bool = False,
        operation: TransactionSupportedOperation = TransactionSupportedOperation.DEFAULT_ERROR,
    ) -> bool:
        """Append a client's records; those of a transaction after the coordinator has been asked.

        Returns whether the entries are no longer needed, as :meth:`Appender.append_records` does.
        INVALID_PRODUCER_ID_MAPPING is raised for a transaction with records of two producers.
        """
        if transactional_id is None:
            return self.append_records(
                entries, required_acks, timeout_ms, respond, internal_topics_allowed=internal_topics_allowed
            )
        self._transactional.produce(
            transactional_id,
            entries,
            required_acks,
            timeout_ms,
            respond,
            internal_topics_allowed=internal_topics_allowed,
            operation=operation,
        )
        return False

    def has_ongoing_transaction(self, topic_partition: TopicPartition, producer_id: int, producer_epoch: int) -> bool:
        """Whether a producer has written to a partition in its open transaction: then its coordinator knows of it."""
        partition = self.partitions.online.get(topic_partition)
        log = None if partition is None else partition.log
        return log is not None and log.producer_state.has_ongoing_transaction(producer_id, producer_epoch)

    # -- fetching -----------------------------------------------------------------------------------------------------

    def fetch(
        self, params: FetchParams, fetches: Sequence[FetchPartition], respond: Callable[[list[ReadResult]], None]
    ) -> None:
        """Read each partition; with too few bytes wait for more, unless there is an error to tell or no time."""
        results = self._reader.read(params, fetches)
        if params.replica_id >= 0:
            self._follower_progressed(fetches)
        if params.max_wait_ms <= 0 or not fetches or self._is_answer(params, results):
            respond(results)
            return
        operation = DelayedFetch(
            params,
            fetches,
            results,
            partitions=self.partitions,
            reader=self._reader,
            respond=respond,
            on_expired=self.metrics.fetch_expired,
        )
        self.purgatories.fetch.try_complete_else_watch(operation, [fetch.topic_partition for fetch in fetches])

    @staticmethod
    def _is_answer(params: FetchParams, results: list[ReadResult]) -> bool:
        readable_bytes = 0
        for result in results:
            if result is UNCHANGED:
                continue
            if (
                result.error_code
                or result.diverging_epoch is not None
                or result.preferred_read_replica != NO_PREFERRED_READ_REPLICA
            ):
                return True
            if result.records is not None:
                readable_bytes += result.records.size
        return readable_bytes >= params.min_bytes

    def _follower_progressed(self, fetches: Sequence[FetchPartition]) -> None:
        """What a follower has may be committed, or gone from everywhere, by its fetch."""
        now_ms = self._clock.monotonic_ms()
        for fetch in fetches:
            partition = fetch.hosted
            if partition is None or not partition.is_leader:
                continue
            if partition.maybe_increment_leader_high_watermark(now_ms):
                self.purgatories.check_all(partition.topic_partition)
            else:
                self.purgatories.delete_records.check_and_complete(partition.topic_partition)

    def is_adding_replica(self, topic_partition: TopicPartition, replica_id: int) -> bool:
        """Whether a replica is being added by a reassignment."""
        partition = self.partitions.get(topic_partition)
        return partition is not None and replica_id in partition.adding_replicas

    # -- deleting and looking up --------------------------------------------------------------------------------------

    def delete_records(
        self,
        timeout_ms: int,
        offsets: Sequence[tuple[TopicPartition, int]],
        respond: Callable[[list[DeleteRecordsResult]], None],
        *,
        allow_internal_topics: bool = False,
    ) -> None:
        """Give up the records below the offsets (-1: below the high watermark), on all replicas."""
        results: list[DeleteRecordsResult] = []
        awaited: list[tuple[Partition, DeleteRecordsResult]] = []
        for topic_partition, offset in offsets:
            try:
                if topic_partition.topic in INTERNAL_TOPICS and not allow_internal_topics:
                    raise ApiError(
                        ErrorCode.INVALID_TOPIC_EXCEPTION,
                        f"Cannot delete records of internal topic {topic_partition.topic}",
                    )
                partition = self.partitions.require(topic_partition)
                deleted = partition.delete_records_on_leader(offset)
            except KafkaError as error:
                logger.debug("Error processing delete records operation on partition %s: %s", topic_partition, error)
                results.append(DeleteRecordsResult(error.code))
                continue
            result = DeleteRecordsResult(0, deleted.low_watermark, deleted.requested_offset)
            results.append(result)
            if deleted.low_watermark < deleted.requested_offset:
                awaited.append((partition, result))
        if not awaited:
            respond(results)
            return
        operation = DelayedDeleteRecords(
            timeout_ms,
            results,
            awaited,
            respond=respond,
            why_gone=self.partitions.missing,
            on_expired=self.metrics.delete_records_expired,
        )
        self.purgatories.delete_records.try_complete_else_watch(
            operation, [partition.topic_partition for partition, _ in awaited]
        )

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, current_leader_epoch: int, leader_epoch: int
    ) -> EpochEndOffset:
        """For OffsetForLeaderEpoch; errors are results."""
        try:
            partition = self.partitions.require(topic_partition)
        except KafkaError as error:
            return EpochEndOffset(error.code)
        return partition.last_offset_for_leader_epoch(current_leader_epoch, leader_epoch, from_leader=True)

    # -- high watermarks ----------------------------------------------------------------------------------------------

    async def checkpoint_high_watermarks(self) -> None:
        """Write ``replication-offset-checkpoint``, every ``replica.high.watermark.checkpoint.interval.ms``."""
        await self.log_manager.checkpoint_high_watermarks()
