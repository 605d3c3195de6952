"""One broker's transactions without sockets: replicas, coordinators, verifier and marker sender in virtual time.

A world may die at any change of its files and be woken again on the same disk.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any, TypeVar

from ottla.common.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.config.sections import GroupCoordinatorConfig, TransactionConfig
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.loader import Loader
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.runtime import CoordinatorRuntime, NewShard
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.coordinator.shard import CoordinatorShard
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.group.coordinator import GroupCoordinator
from ottla.group.metrics import GroupMetrics
from ottla.group.records import RECORD_TYPES as GROUP_RECORD_TYPES
from ottla.group.shard import GroupCoordinatorShard
from ottla.log.readable_log import FetchIsolation
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.metadata.features import TRANSACTION_VERSION
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.records import FeatureLevelRecord
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import RequestHeader
from ottla.protocol.message import Message
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ottla.records.batch import NO_SEQUENCE, batches
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord, decode_records
from ottla.runtime.completion import Completion
from ottla.runtime.inline import run
from ottla.server.coordinator_partitions import CoordinatorPartitions
from ottla.server.transaction_markers import TransactionMarkerSender
from ottla.server.transaction_verifier import TransactionVerifier
from ottla.server.txn_marker_writer import TxnMarkerWriter
from ottla.server.txn_offset_verification import TxnOffsetVerification
from ottla.transaction.coordinator import TransactionCoordinator
from ottla.transaction.records import RECORD_TYPES as TRANSACTION_RECORD_TYPES
from tests.log.log_machine import A, Machine
from tests.raft.turns import TurnRuntime
from tests.replication.replica_machine import NODE, Answer, Broker, image_records
from tests.sim.crash_disk import CrashPolicy

T = TypeVar("T")
S = TypeVar("S", bound=CoordinatorShard)
RecordTypes = Mapping[int, tuple[type[Message], type[Message]]]

STATE = TopicPartition(TRANSACTION_STATE_TOPIC, 0)
OFFSETS = TopicPartition(GROUP_METADATA_TOPIC, 0)
GROUP = "group"
PARTITIONS = tuple(TopicPartition("topic", index) for index in range(3))


_NOBODY: Any = None
"""The peer of a request that nobody looks at."""


class TxnWorld:
    """Broker 1 with a topic of three partitions; ``version`` is the level of transaction.version."""

    def __init__(self, version: int = 2, before: "TxnWorld | None" = None) -> None:
        self.version = version
        if before is None:
            self.machine = Machine(A)
            object.__setattr__(self.machine.config, "transaction_partition_verification_enable", True)
            self.producer_ids = count(1000)
        else:
            self.machine = before.machine
            self.producer_ids = before.producer_ids
        self.runtime = TurnRuntime(self.machine.files, self.machine.clock)
        self.verifier: TransactionVerifier
        self.broker = Broker(machine=self.machine, txn_verifier=self)
        registry = self.broker.registry
        self.verifier = TransactionVerifier(
            self.runtime, NODE, lambda: self.broker.image, here=lambda: self.coordinator, remote=None, registry=registry
        )
        writer = TxnMarkerWriter(
            self.broker.replicas,
            self.machine.clock,
            pending_offsets=lambda: self.groups,
            request_timeout_ms=lambda: 1000,
        )
        self.sender = TransactionMarkerSender(
            self.runtime, NODE, lambda: self.broker.image, writer=writer, remote=None, registry=registry
        )
        self.coordinator = TransactionCoordinator(
            TransactionConfig(),
            generate_producer_id=lambda: Completion.done(next(self.producer_ids)),
            marker_sender=self.sender,
            offsets_partition=lambda _group_id: 0,
            registry=registry,
        )
        self.shards = self._runtime_of(self.coordinator.new_shard, TRANSACTION_RECORD_TYPES, "transaction")
        self.coordinator.run_on(self.shards)
        self.coordinator.startup(1)
        group_metrics = GroupMetrics(registry)
        self.group_shards = self._runtime_of(
            lambda _partition, _epoch, timers: GroupCoordinatorShard(
                config=GroupCoordinatorConfig(),
                timers=timers,
                rng=self.machine.rng,
                metrics=group_metrics,
                group_configs=lambda _group_id: ConsumerGroupConfig(),
            ),
            GROUP_RECORD_TYPES,
            "group",
        )
        self.groups = GroupCoordinator(
            self.group_shards, GroupCoordinatorConfig(), TxnOffsetVerification(self.broker.replicas)
        )
        self.groups.startup(1)
        self.broker.replay(FeatureLevelRecord(name=TRANSACTION_VERSION, feature_level=version))
        if before is None:
            self.broker.create(partitions=3)
            self.broker.create(TRANSACTION_STATE_TOPIC)
            self.broker.create(GROUP_METADATA_TOPIC)
        else:
            self.broker.replay(*image_records(before.broker.image))
        self._load()

    def _runtime_of(self, new_shard: NewShard[S], types: RecordTypes, name: str) -> CoordinatorRuntime[S]:
        async def no_pause() -> None:
            pass

        partitions = CoordinatorPartitions(self.broker.replicas, 5000)
        return CoordinatorRuntime(
            new_shard,
            Loader(partitions, RecordSerde(types), buffer_bytes=1 << 16, now_us=lambda: 0, pause=no_pause),
            writer=partitions,
            batches=BatchBuilder(base_sequence=0 if name == "group" else NO_SEQUENCE),
            clock=self.machine.clock,
            metrics=CoordinatorRuntimeMetrics(self.broker.registry, f"{name}-coordinator-metrics", lambda: 0),
            on_loading=lambda: None,
            on_earlier_deadline=lambda _deadline_ms: None,
        )

    def verify(self, *question: Any, **options: Any) -> None:
        """The broker's verifier is made after the broker."""
        self.verifier.verify(*question, **options)

    # -- life and death -----------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Take the coordinators' partitions over."""
        both: tuple[tuple[CoordinatorRuntime[Any], TopicPartition], ...] = (
            (self.shards, STATE),
            (self.group_shards, OFFSETS),
        )
        for shards, topic_partition in both:
            shards.on_metadata(MetadataDelta(self.broker.image), self.broker.image)
            shards.load(topic_partition, 0)
            run(shards.load_next())

    def die(self) -> "TxnWorld":
        """The process is killed and started again; what it has written is there."""
        self.runtime.drop()
        self.machine.files.crash(self.machine.rng, policy=CrashPolicy.KEEP_ALL)
        return TxnWorld(self.version, self)

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, for timers and retries."""
        for _ in range(duration_ms // 10):
            self.runtime.pass_ms(10)
            for shards in (self.shards, self.group_shards):
                shards.tick(self.machine.clock.monotonic_ms())

    # -- a producer's requests ----------------------------------------------------------------------------------------

    def init(self, transactional_id: str, producer_id: int = -1, producer_epoch: int = -1) -> InitProducerIdResponse:
        return self.now(
            self.coordinator.init_producer_id(
                InitProducerIdRequest(
                    transactional_id=transactional_id,
                    transaction_timeout_ms=60_000,
                    producer_id=producer_id,
                    producer_epoch=producer_epoch,
                ),
                5,
            )
        )

    def produce(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        topic_partition: TopicPartition,
        *values: str,
        sequence: int = 0,
    ) -> int:
        """The error code of records in a transaction."""
        records = build_batch(
            [SimpleRecord(self.machine.clock.now_ms(), None, value.encode()) for value in values],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        answer = Answer()
        self.broker.replicas.handle_produce_append(
            transactional_id,
            [(topic_partition, None, records)],
            -1,
            1000,
            answer,
            operation=TransactionSupportedOperation.of_produce(12 if self.version >= 2 else 11),
        )
        code: int = answer.one.error_code
        return code

    def add(self, transactional_id: str, producer: tuple[int, int], *partitions: TopicPartition) -> None:
        """Let partitions take part, as producers do before transactions v2."""
        self.now(self.coordinator.add_partitions(transactional_id, *producer, partitions, client_transaction_version=0))

    def add_offsets(self, transactional_id: str, producer: tuple[int, int]) -> int:
        """Let the group's offsets take part, as producers do before transactions v2; the error code."""
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id, producer_id=producer[0], producer_epoch=producer[1], group_id=GROUP
        )
        return self.now(self.coordinator.add_offsets_to_txn(request, 4)).error_code

    def commit_offset(self, transactional_id: str, producer: tuple[int, int], offset: int) -> int:
        """Commit an offset of the first partition with the transaction; the error code."""
        committed = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=GROUP,
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=[TxnOffsetCommitRequestTopic(name="topic", partitions=[committed])],
        )
        version = 5 if self.version >= 2 else 4
        context = RequestContext(RequestHeader(ApiKey.TXN_OFFSET_COMMIT, version, 0, None), _NOBODY)
        ((answer,),) = [
            topic.partitions for topic in self.now(self.groups.commit_transactional_offsets(context, request)).topics
        ]
        code: int = answer.error_code
        return code

    def end(self, transactional_id: str, producer: tuple[int, int], *, committed: bool) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id=transactional_id, producer_id=producer[0], producer_epoch=producer[1], committed=committed
        )
        return self.now(self.coordinator.end_txn(request, 5 if self.version >= 2 else 4))

    @staticmethod
    def now(completion: Completion[T]) -> T:
        """The answer, which is there."""
        return completion.result()

    # -- what is to be seen -------------------------------------------------------------------------------------------

    def committed(self, topic_partition: TopicPartition) -> list[str]:
        """The values that a reader of committed records gets."""
        log = self.broker.log(topic_partition)
        result = self.broker.read(topic_partition, log.log_start_offset, isolation=FetchIsolation.TXN_COMMITTED)
        if result.records is None:
            return []
        skipped: set[int] = set()
        values: list[str] = []
        starts = sorted((one.first_offset, one.producer_id) for one in result.aborted_transactions or ())
        for batch in batches(result.records.read()):
            while starts and starts[0][0] <= batch.last_offset:
                skipped.add(starts.pop(0)[1])
            if batch.is_control:
                skipped.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in skipped):
                values += [(record.value or b"").decode() for record in decode_records(batch)]
        return values

    def offset(self) -> tuple[int, int]:
        """The offset that the group has committed for good, or the error that it is not known yet."""
        wanted = OffsetFetchRequestGroup(
            group_id=GROUP, topics=[OffsetFetchRequestTopics(name="topic", partition_indexes=[0])]
        )
        context = RequestContext(RequestHeader(ApiKey.OFFSET_FETCH, 9, 0, None), _NOBODY)
        answer = self.now(self.groups.fetch_offsets(context, wanted, require_stable=True))
        ((found,),) = [topic.partitions for topic in answer.topics]
        return found.committed_offset, found.error_code

    def state(self, transactional_id: str) -> str:
        """The state that DescribeTransactions tells."""
        return self.now(self.coordinator.describe_transaction(transactional_id)).transaction_state

    def open_transactions(self) -> Mapping[TopicPartition, list[int]]:
        """By partition the producers whose transactions are undecided there."""
        return {
            one: open_here
            for one in PARTITIONS
            if (
                open_here := [
                    producer.producer_id
                    for producer in self.broker.partition(one).active_producers()
                    if producer.current_txn_start_offset >= 0
                ]
            )
        }
