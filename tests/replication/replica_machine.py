"""A broker's replica manager on a machine in memory, fed with metadata records."""

from collections.abc import Iterable, Sequence
from typing import Any

from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.log.readable_log import FetchIsolation
from ottla.metadata.directory_id import UNASSIGNED
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.records import (
    ConfigRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from ottla.metrics.registry import Registry
from ottla.purgatory.timer import Timer
from ottla.replication.append_result import AppendResult
from ottla.replication.partition import Partition
from ottla.replication.ports import DirectoryAssignments, TxnVerifier
from ottla.replication.purgatories import Purgatories
from ottla.replication.read_result import FetchParams, FetchPartition, ReadResult
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.inline import run
from tests.log.log_machine import A, Machine, batch

NODE = 1
TOPIC = "topic"
T0 = TopicPartition(TOPIC, 0)


class Answer:
    """A ``respond`` that remembers; None until it is called, and it is called once."""

    def __init__(self) -> None:
        self.results: list[Any] | None = None

    def __call__(self, results: Sequence[Any]) -> None:
        assert self.results is None, "answered twice"
        self.results = list(results)

    @property
    def one(self) -> Any:
        assert self.results is not None, "not answered"
        (result,) = self.results
        return result


class Broker:
    """Broker 1. ``create`` makes topics; ``machine`` has the clock and the disks."""

    def __init__(
        self,
        *directories: str,
        machine: Machine | None = None,
        txn_verifier: TxnVerifier | None = None,
        directory_assignments: DirectoryAssignments | None = None,
        **config: object,
    ) -> None:
        self.machine = machine or Machine(*(directories or (A,)), **config)
        self.registry = Registry()
        self.image = MetadataImage()
        self.manager: ReplicaManager | None = None
        self.log_manager: LogManager = LogManager(
            self.machine.runtime,
            self.machine.config,
            topic_overrides=lambda topic: self.replicas.topic_overrides(topic) if self.manager else {},
            cluster_id="cluster",
            node_id=NODE,
            on_directory_failure=self._on_directory_failure,
        )
        clock = self.machine.clock
        self.purgatories = Purgatories.create(lambda: Timer(clock.monotonic_ms))
        run(self.log_manager.start())
        self.manager = ReplicaManager(
            self.machine.runtime,
            self.log_manager,
            NODE,
            registry=self.registry,
            purgatories=self.purgatories,
            txn_verifier=txn_verifier,
            directory_assignments=directory_assignments,
        )

    def _on_directory_failure(self, path: str) -> None:
        self.replicas.handle_log_dir_failure(path)

    @property
    def replicas(self) -> ReplicaManager:
        assert self.manager is not None
        return self.manager

    # -- metadata -----------------------------------------------------------------------------------------------------

    def replay(self, *records: MetadataRecord) -> None:
        """Apply records as one delta."""
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(MetadataProvenance())
        run(self.replicas.apply_delta(delta.topics_delta, self.image))

    def create(
        self,
        topic: str = TOPIC,
        partitions: int = 1,
        *,
        replicas: Sequence[int] = (NODE,),
        isr: Sequence[int] | None = None,
        leader: int = NODE,
        leader_epoch: int = 0,
        configs: dict[str, str] | None = None,
        topic_id: Uuid | None = None,
    ) -> Uuid:
        """A topic with these partitions."""
        topic_id = topic_id or Uuid.random(self.machine.rng)
        self.replay(
            TopicRecord(name=topic, topic_id=topic_id),
            *(
                ConfigRecord(resource_type=ConfigResourceType.TOPIC, resource_name=topic, name=name, value=value)
                for name, value in (configs or {}).items()
            ),
            *(
                PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=tuple(replicas),
                    isr=tuple(replicas if isr is None else isr),
                    leader=leader,
                    leader_epoch=leader_epoch,
                    partition_epoch=0,
                    directories=(UNASSIGNED,) * len(replicas),
                )
                for index in range(partitions)
            ),
        )
        return topic_id

    def change(self, topic_id: Uuid, index: int = 0, **changes: object) -> None:
        """A PartitionChangeRecord."""
        self.replay(PartitionChangeRecord(topic_id=topic_id, partition_id=index, **changes))  # type: ignore[arg-type]

    def delete(self, topic_id: Uuid) -> None:
        """A RemoveTopicRecord."""
        self.replay(RemoveTopicRecord(topic_id=topic_id))

    def register(self, *broker_ids: int, fenced: bool = False) -> None:
        """Other brokers; the epoch of broker n is 100 + n."""
        self.replay(
            *(
                RegisterBrokerRecord(
                    broker_id=broker_id, broker_epoch=100 + broker_id, incarnation_id=Uuid(bytes(16)), fenced=fenced
                )
                for broker_id in broker_ids
            )
        )

    def partition(self, topic_partition: TopicPartition = T0) -> Partition:
        return self.replicas.partitions.online[topic_partition]

    def log(self, topic_partition: TopicPartition = T0) -> Log:
        log = self.partition(topic_partition).log
        assert log is not None
        return log

    # -- requests -----------------------------------------------------------------------------------------------------

    def produce(
        self,
        topic_partition: TopicPartition = T0,
        records: bytes | bytearray | None = None,
        *,
        count: int = 1,
        acks: int = -1,
        timeout_ms: int = 1000,
        topic_id: Uuid | None = None,
    ) -> Answer:
        """Produce to one partition."""
        answer = Answer()
        data = batch(count) if records is None else records
        self.replicas.append_records([(topic_partition, topic_id, data)], acks, timeout_ms, answer)
        return answer

    def append(self, topic_partition: TopicPartition = T0, **options: object) -> AppendResult:
        """Produce and expect the answer at once."""
        result = self.produce(topic_partition, **options).one  # type: ignore[arg-type]
        assert isinstance(result, AppendResult)
        return result

    def fetch(self, *fetches: FetchPartition, **params: object) -> Answer:
        """Fetch, without waiting unless ``max_wait_ms`` says so."""
        answer = Answer()
        self.replicas.fetch(FetchParams(**params), fetches, answer)  # type: ignore[arg-type]
        return answer

    def read(self, topic_partition: TopicPartition = T0, offset: int = 0, **params: object) -> ReadResult:
        """Fetch one partition and expect the answer at once."""
        result = self.fetch(FetchPartition(topic_partition, offset, 1 << 20), **params).one
        assert isinstance(result, ReadResult)
        return result

    def follower_fetch(
        self,
        replica_id: int,
        offset: int,
        topic_partition: TopicPartition = T0,
        *,
        start: int = 0,
        current_leader_epoch: int = -1,
    ) -> Answer:
        """A follower asks for what follows ``offset``; it has everything below."""
        fetch = FetchPartition(topic_partition, offset, 1 << 20, log_start_offset=start)
        fetch.current_leader_epoch = current_leader_epoch
        return self.fetch(
            fetch, replica_id=replica_id, replica_epoch=100 + replica_id, isolation=FetchIsolation.LOG_END
        )

    def advance_ms(self, duration_ms: int) -> None:
        """Let time pass, for the purgatories too."""
        self.machine.clock.advance_ms(duration_ms)
        now_ms = self.machine.clock.monotonic_ms()
        for purgatory in (self.purgatories.produce, self.purgatories.fetch, self.purgatories.delete_records):
            purgatory.advance(now_ms)

    def restart(self, *, clean: bool = True) -> "Broker":
        """Stop (or crash), start again on the same disk, and replay the same metadata."""
        if clean:
            run(self.log_manager.stop())
        else:
            self.machine.crash()
        again = Broker(machine=self.machine)
        again.replay(*image_records(self.image))
        return again


def image_records(image: MetadataImage) -> Iterable[MetadataRecord]:
    """What makes the topics of an image."""
    for topic in image.topics.by_id.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, one in topic.partitions.items():
            yield PartitionRecord(
                partition_id=index,
                topic_id=topic.id,
                replicas=one.replicas,
                isr=one.isr,
                leader=one.leader,
                leader_epoch=one.leader_epoch,
                partition_epoch=one.partition_epoch,
                directories=one.directories,
            )
