"""The group coordinator on a real runtime, over logs in memory and a clock that the test moves."""

import itertools
from random import Random
from types import SimpleNamespace
from typing import Any

from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.kafka_principal import ANONYMOUS
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.loader import Loader
from ottla.coordinator.ports import Acknowledge, Appended
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.group.coordinator import GroupCoordinator
from ottla.group.metrics import GroupMetrics, register_gauges
from ottla.group.records import RECORD_TYPES
from ottla.group.shard import GroupCoordinatorShard
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from ottla.metrics.registry import Registry
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import RequestHeader
from ottla.runtime.completion import Completion
from tests.coordinator.coordinator_world import Partition, run

TOPIC_ID = Uuid(bytes(range(16)))
TOPIC = "t"


class Partitions:
    """Writer and reader of all partitions of __consumer_offsets."""

    def __init__(self, count: int, *, autocommit: bool) -> None:
        self.all = [Partition(autocommit=autocommit) for _ in range(count)]
        self.guards: list[VerificationGuard] = []

    def append(
        self,
        topic_partition: TopicPartition,
        batch: bytearray,
        acknowledge: Acknowledge,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = -1,
    ) -> Appended:
        assert topic_partition.topic == GROUP_METADATA_TOPIC
        self.guards.append(verification_guard)
        return self.all[topic_partition.partition].append(
            topic_partition, batch, acknowledge, transaction_version=transaction_version
        )

    def await_committed(self, topic_partition: TopicPartition, end_offset: int, acknowledge: Acknowledge) -> bool:
        return self.all[topic_partition.partition].await_committed(topic_partition, end_offset, acknowledge)

    def max_batch_bytes(self, topic_partition: TopicPartition) -> int:
        return self.all[topic_partition.partition].max_batch_bytes(topic_partition)

    def bounds(self, topic_partition: TopicPartition) -> tuple[int, int]:
        return self.all[topic_partition.partition].bounds(topic_partition)

    async def read(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        return await self.all[topic_partition.partition].read(topic_partition, offset, max_bytes)


class Verifier:
    """Remembers what it is asked; the test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answers: list[Completion[VerificationGuard]] = []

    def start_verification(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        api_version: int,
    ) -> Completion[VerificationGuard]:
        self.asked.append((topic_partition, transactional_id, producer_id, producer_epoch, api_version))
        self.answers.append(Completion())
        return self.answers[-1]


def context(api_version: int, client_id: str = "client") -> RequestContext:
    """Who asks, in which version."""
    header = RequestHeader(ApiKey.HEARTBEAT, api_version, 0, client_id)
    peer: Any = SimpleNamespace(client_address="127.0.0.1", principal=ANONYMOUS)
    return RequestContext(header, peer)


class ServiceWorld:
    """A coordinator with all its partitions loaded, and a topic with two partitions."""

    def __init__(self, *, partitions: int = 3, autocommit: bool = True, loaded: bool = True, **settings: Any) -> None:
        self.config = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0, **settings)
        self.partitions = Partitions(partitions, autocommit=autocommit)
        self.verifier = Verifier()
        self.registry = Registry()
        self.metrics = GroupMetrics(self.registry)
        self.shards: dict[TopicPartition, GroupCoordinatorShard] = {}
        self.time_ms = 1_000_000
        microseconds = itertools.count(0, 10)
        self.runtime: CoordinatorRuntime[GroupCoordinatorShard] = CoordinatorRuntime(
            self._new_shard,
            Loader(
                self.partitions,
                RecordSerde(RECORD_TYPES),
                buffer_bytes=1 << 20,
                now_us=lambda: next(microseconds),
                pause=self._pause,
            ),
            writer=self.partitions,
            batches=BatchBuilder(base_sequence=0),
            clock=self,
            metrics=CoordinatorRuntimeMetrics(
                self.registry, "group-coordinator-metrics", lambda: 1_000 * next(microseconds)
            ),
            on_loading=lambda: None,
            on_earlier_deadline=lambda _deadline_ms: None,
        )
        register_gauges(self.registry, lambda: self.runtime.active_shards)
        self.coordinator = GroupCoordinator(self.runtime, self.config, self.verifier)
        self.coordinator.startup(partitions)
        self.image = MetadataImage()
        self.change_metadata(
            TopicRecord(name=TOPIC, topic_id=TOPIC_ID),
            *(PartitionRecord(topic_id=TOPIC_ID, partition_id=index, replicas=[1], isr=[1]) for index in range(2)),
        )
        for index in range(partitions):
            self.coordinator.on_election(index, 1)
        if loaded:
            self.load()

    def _new_shard(self, topic_partition: TopicPartition, _leader_epoch: int, timers: Any) -> GroupCoordinatorShard:
        shard = self.shards[topic_partition] = GroupCoordinatorShard(
            config=self.config,
            timers=timers,
            rng=Random(1),
            metrics=self.metrics,
            group_configs=lambda _group_id: ConsumerGroupConfig(),
        )
        return shard

    async def _pause(self) -> None:
        """Nobody else wants to have a turn."""

    def load(self) -> None:
        """Load what waits to be."""
        while self.runtime.is_loading:
            run(self.runtime.load_next())

    def change_metadata(self, *records: Any) -> None:
        """New metadata is published."""
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.provenance)
        self.coordinator.on_metadata(delta, self.image)

    def delete_topic(self) -> None:
        """The one topic is gone."""
        self.change_metadata(RemoveTopicRecord(topic_id=TOPIC_ID))

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_ms(self) -> int:
        return self.time_ms

    def advance(self, duration_ms: int) -> None:
        """Time passes, and timers run."""
        self.time_ms += duration_ms
        self.runtime.tick(self.time_ms)
