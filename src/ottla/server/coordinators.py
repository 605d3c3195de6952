"""The coordinators of a broker, put together: their partitions, runtimes, timers, and how they follow the metadata."""

import asyncio
import time
from collections.abc import Collection, Sequence
from typing import Any, Final, TypeVar

from ottla.common.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.config.dynamic_config import DynamicConfig
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.loader import Loader
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.runtime import CoordinatorRuntime, NewShard
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.coordinator.shard import CoordinatorShard
from ottla.group.coordinator import GroupCoordinator
from ottla.group.metrics import GroupMetrics, register_gauges
from ottla.group.record_encoding import encode_group_record
from ottla.group.records import RECORD_TYPES as GROUP_RECORD_TYPES
from ottla.group.shard import GroupCoordinatorShard
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metrics.registry import Registry
from ottla.network.request import RequestContext
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.port import Runtime
from ottla.server.authorizer import AclOperation, Authorizer, ResourceType
from ottla.server.background import Background
from ottla.server.coordinator_driver import CoordinatorDriver
from ottla.server.coordinator_partitions import CoordinatorPartitions
from ottla.server.group_configs import MetadataGroupConfigs
from ottla.server.producer_ids import ProducerIds
from ottla.server.transaction_markers import TransactionMarkerSender
from ottla.server.txn_marker_writer import TxnMarkerWriter
from ottla.server.txn_offset_verification import TxnOffsetVerification
from ottla.transaction.coordinator import TransactionCoordinator
from ottla.transaction.records import RECORD_TYPES as TRANSACTION_RECORD_TYPES
from ottla.transaction.shard import TransactionCoordinatorShard

S = TypeVar("S", bound=CoordinatorShard)

_GROUP_BASE_SEQUENCE: Final = 0
"""What Apache's group coordinator writes into its batches where a producer would have its sequence."""


class Coordinators:
    """The group and the transaction coordinator of one broker.

    They answer from the first ``on_metadata`` on, which is called with every image after the replicas have followed it.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: DynamicConfig,
        replicas: ReplicaManager,
        *,
        producer_ids: ProducerIds,
        authorizer: Authorizer,
        background: Background,
        registry: Registry,
    ) -> None:
        self._runtime = runtime
        self._replicas = replicas
        self._authorizer = authorizer
        self._background = background
        self._registry = registry
        self._drivers: list[CoordinatorDriver] = []
        self._runtimes: list[CoordinatorRuntime[Any]] = []
        self._is_started = False
        self._config = static = config.static
        self._node_id = static.kraft.node_id
        self.txn_markers = TxnMarkerWriter(
            replicas,
            runtime.clock,
            pending_offsets=lambda: self.group,
            request_timeout_ms=lambda: config.current.network.request_timeout_ms,
        )
        self._marker_sender = TransactionMarkerSender(
            runtime, self._node_id, lambda: replicas.image, writer=self.txn_markers, remote=None, registry=registry
        )
        self.group = self._new_group_coordinator()
        self.transaction = self._new_transaction_coordinator(producer_ids)

    # -- making -------------------------------------------------------------------------------------------------------

    def _new_group_coordinator(self) -> GroupCoordinator:
        config = self._config.group
        metrics = GroupMetrics(self._registry)
        group_configs = MetadataGroupConfigs(lambda: self._replicas.image)
        runtime: CoordinatorRuntime[GroupCoordinatorShard] = self._new_runtime(
            lambda _topic_partition, _leader_epoch, timers: GroupCoordinatorShard(
                config=config,
                timers=timers,
                rng=self._runtime.rng,
                metrics=metrics,
                group_configs=group_configs,
                describable_topics=self._describable_topics,
            ),
            "group-coordinator",
            RecordSerde(GROUP_RECORD_TYPES),
            BatchBuilder(
                base_sequence=_GROUP_BASE_SEQUENCE,
                compression=config.offsets_topic_compression_codec,
                encode=encode_group_record,
            ),
            load_buffer_bytes=config.offsets_load_buffer_size,
            commit_timeout_ms=config.offsets_commit_timeout_ms,
        )
        register_gauges(self._registry, lambda: runtime.active_shards)
        return GroupCoordinator(runtime, config, TxnOffsetVerification(self._replicas))

    def _new_transaction_coordinator(self, producer_ids: ProducerIds) -> TransactionCoordinator:
        config = self._config.transaction
        coordinator = TransactionCoordinator(
            config,
            generate_producer_id=producer_ids.generate,
            marker_sender=self._marker_sender,
            offsets_partition=self.group.partition_for,
            registry=self._registry,
        )
        runtime: CoordinatorRuntime[TransactionCoordinatorShard] = self._new_runtime(
            coordinator.new_shard,
            "transaction-coordinator",
            RecordSerde(TRANSACTION_RECORD_TYPES),
            BatchBuilder(),
            load_buffer_bytes=config.transaction_state_log_load_buffer_size,
            commit_timeout_ms=self._config.network.request_timeout_ms,
        )
        coordinator.run_on(runtime)
        return coordinator

    def _new_runtime(
        self,
        new_shard: NewShard[S],
        name: str,
        serde: RecordSerde,
        batches: BatchBuilder,
        *,
        load_buffer_bytes: int,
        commit_timeout_ms: int,
    ) -> CoordinatorRuntime[S]:
        partitions = CoordinatorPartitions(self._replicas, commit_timeout_ms)
        driver = CoordinatorDriver(asyncio.get_running_loop(), self._runtime.clock, self._background, name)
        runtime = CoordinatorRuntime(
            new_shard,
            Loader(
                partitions,
                serde,
                buffer_bytes=load_buffer_bytes,
                now_us=_cpu_us,
                pause=lambda: self._runtime.sleep_ms(0),
            ),
            writer=partitions,
            batches=batches,
            clock=self._runtime.clock,
            metrics=CoordinatorRuntimeMetrics(self._registry, f"{name}-metrics", time.perf_counter_ns),
            on_loading=driver.on_loading,
            on_earlier_deadline=driver.on_earlier_deadline,
        )
        driver.drive(runtime)
        self._drivers.append(driver)
        self._runtimes.append(runtime)
        return runtime

    def _describable_topics(self, context: RequestContext, topics: Sequence[str]) -> Collection[str]:
        authorize = self._authorizer.authorize
        return [name for name in topics if authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name)]

    # -- following the metadata ---------------------------------------------------------------------------------------

    def _start(self, image: MetadataImage) -> None:
        """How many partitions a topic has decides who coordinates what; before it exists, the configuration does.

        As in Apache Kafka, partitions that are added later count from the next start on.
        """
        self._is_started = True
        offsets, transactions = (image.topics.topic(name) for name in (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))
        self.group.startup(
            len(offsets.partitions) if offsets is not None else self._config.group.offsets_topic_num_partitions
        )
        self.transaction.startup(
            len(transactions.partitions)
            if transactions is not None
            else self._config.transaction.transaction_state_log_num_partitions
        )

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Load and unload shards as the leaders of their partitions change, and tell them of the new image."""
        if not self._is_started:
            self._start(image)
        if delta.topics_delta is not None:
            changes = delta.topics_delta.local_changes(self._node_id)
            for topic_partition in changes.deletes:
                self._on_resignation(topic_partition, None)
            for topic_partition, info in changes.elected_leaders.items():
                self._on_election(topic_partition, info.partition.leader_epoch)
            for topic_partition, info in changes.followers.items():
                self._on_resignation(topic_partition, info.partition.leader_epoch)
        self.group.on_metadata(delta, image)
        self.transaction.on_metadata(delta, image)

    async def loaded(self) -> None:
        """Return when all shards that were elected are loaded."""
        for driver in self._drivers:
            await driver.loaded()

    def on_offline(self, topic_partition: TopicPartition) -> None:
        """The disk of a partition has failed."""
        self._on_resignation(topic_partition, None)

    def _on_election(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        if topic_partition.topic == GROUP_METADATA_TOPIC:
            self.group.on_election(topic_partition.partition, leader_epoch)
        elif topic_partition.topic == TRANSACTION_STATE_TOPIC:
            self.transaction.on_election(topic_partition.partition, leader_epoch)

    def _on_resignation(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        if topic_partition.topic == GROUP_METADATA_TOPIC:
            self.group.on_resignation(topic_partition.partition, leader_epoch)
        elif topic_partition.topic == TRANSACTION_STATE_TOPIC:
            self.transaction.on_resignation(topic_partition.partition, leader_epoch)

    # -- stop ---------------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Answer everything that waits; nothing is written any more."""
        for driver in self._drivers:
            driver.stop()
        self.group.shutdown()
        self.transaction.shutdown()
        for runtime in self._runtimes:
            runtime.close()
        self._marker_sender.close()


def _cpu_us() -> int:
    """The reactor's own time: a slice is not longer because somebody else had the processor meanwhile."""
    return time.thread_time_ns() // 1_000
