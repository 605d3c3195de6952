"""One broker in the test's loop that keeps no log, but does with each request of a producer what the test has set."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from ottla.clients.producer.producer import Producer
from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from ottla.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ottla.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.records.batch import RecordBatch
from ottla.records.record import decode_records
from tests.network.client_harness import Received, ScriptedBroker

SPOKEN: Final = {
    ApiKey.FIND_COORDINATOR: (0, 6),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 4),
    ApiKey.TXN_OFFSET_COMMIT: (0, 5),
    ApiKey.END_TXN: (0, 5),
}
QUICK: Final = {
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 10,
    "retry.backoff.ms": 1,
    "retry.backoff.max.ms": 8,
}
PRODUCER_ID: Final = 7


class ScriptedKafka:
    """``codes`` are the errors of the next requests of a kind, after which they succeed. A kind in ``held`` waits."""

    def __init__(self, *, is_v2: bool = True) -> None:
        self.broker = ScriptedBroker(node_id=1, answers_api_versions=False)
        self.broker.spoken |= SPOKEN
        self.broker.handle = self._handle
        self.is_v2 = is_v2
        self.topics: dict[str, int] = {}
        """How many partitions each has; others do not exist."""
        self.codes: dict[type[Message], deque[ErrorCode]] = defaultdict(deque)
        self.held: set[type[Message]] = set()
        self.waiting: list[Received] = []
        self.seen: list[Message] = []
        """All but Metadata and ApiVersions."""
        self.epoch = -1
        self.written: list[tuple[str, int, bytes | None]] = []
        self._came = asyncio.Event()

    async def came(self, kind: type[Message], count: int = 1) -> None:
        """Wait until so many requests of a kind have come."""
        while sum(isinstance(one, kind) for one in self.seen) < count:
            self._came.clear()
            await self._came.wait()

    def count(self, kind: type[Message]) -> int:
        """How many requests of a kind have come."""
        return sum(isinstance(one, kind) for one in self.seen)

    def release(self, kind: type[Message]) -> None:
        """Hold a kind no longer."""
        self.held.discard(kind)
        waiting, self.waiting = self.waiting, []
        for received in waiting:
            if isinstance(received.body, kind):
                received.answer(self._answer(received.body))
            else:
                self.waiting.append(received)

    def _handle(self, received: Received) -> None:
        body = received.body
        if not isinstance(body, MetadataRequest | ApiVersionsRequest):
            self.seen.append(body)
            self._came.set()
        if type(body) in self.held:
            self.waiting.append(received)
        else:
            received.answer(self._answer(body))

    def _answer(self, body: Message) -> Message:
        code = self.codes[type(body)].popleft() if self.codes[type(body)] else ErrorCode.NONE
        match body:
            case ApiVersionsRequest():
                return self._api_versions()
            case MetadataRequest():
                return self._metadata(body)
            case FindCoordinatorRequest():
                return self._coordinator(body, code)
            case InitProducerIdRequest():
                if not code:
                    self.epoch += 1
                return InitProducerIdResponse(error_code=code, producer_id=PRODUCER_ID, producer_epoch=self.epoch)
            case AddPartitionsToTxnRequest():
                return _partitions_added(body, code)
            case AddOffsetsToTxnRequest():
                return AddOffsetsToTxnResponse(error_code=code)
            case TxnOffsetCommitRequest():
                return _offsets_committed(body, code)
            case EndTxnRequest():
                return self._ended(code)
            case ProduceRequest():
                return self._produced(body, code)
        raise AssertionError(f"nobody expects {body}")

    def _api_versions(self) -> ApiVersionsResponse:
        keys = [ApiVersion(api_key=key, min_version=a, max_version=b) for key, (a, b) in self.broker.spoken.items()]
        level = 2 if self.is_v2 else 0
        feature = FinalizedFeatureKey(name="transaction.version", max_version_level=level, min_version_level=level)
        return ApiVersionsResponse(api_keys=keys, finalized_features_epoch=1, finalized_features=[feature])

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        node = self.broker.node
        names = sorted(self.topics) if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(
            cluster_id="scripted",
            controller_id=1,
            brokers=[MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port)],
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        count = self.topics.get(name)
        if count is None:
            return MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = [MetadataResponsePartition(partition_index=n, leader_id=1, leader_epoch=0) for n in range(count)]
        return MetadataResponseTopic(name=name, topic_id=_topic_id(name), partitions=partitions)

    def _coordinator(self, request: FindCoordinatorRequest, code: ErrorCode) -> FindCoordinatorResponse:
        node = self.broker.node
        key = request.coordinator_keys[0]
        found = Coordinator(key=key, node_id=node.id, host=node.host, port=node.port, error_code=code)
        return FindCoordinatorResponse(coordinators=[found])

    def _ended(self, code: ErrorCode) -> EndTxnResponse:
        if code or not self.is_v2:
            return EndTxnResponse(error_code=code)
        self.epoch += 1
        return EndTxnResponse(producer_id=PRODUCER_ID, producer_epoch=self.epoch)

    def _produced(self, request: ProduceRequest, code: ErrorCode) -> ProduceResponse:
        names = {_topic_id(name): name for name in self.topics}
        responses = []
        for topic in request.topic_data:
            name = topic.name or names[topic.topic_id]
            partitions = []
            for partition in topic.partition_data:
                base_offset = -1 if code else len(self.written)
                if not code:
                    assert isinstance(partition.records, bytes | bytearray | memoryview)
                    records = decode_records(RecordBatch(bytes(partition.records)))
                    self.written += [(name, partition.index, record.value) for record in records]
                partitions.append(
                    PartitionProduceResponse(index=partition.index, error_code=code, base_offset=base_offset)
                )
            responses.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partitions)
            )
        return ProduceResponse(responses=responses)


def _topic_id(name: str) -> Uuid:
    return Uuid(name.encode().ljust(16)[:16])


def _partitions_added(request: AddPartitionsToTxnRequest, code: ErrorCode) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=number, partition_error_code=code)
                    for number in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ]
    )


def _offsets_committed(request: TxnOffsetCommitRequest, code: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


@asynccontextmanager
async def scripted_kafka(*, is_v2: bool = True, **topics: int) -> AsyncIterator[ScriptedKafka]:
    """A running broker with these topics, of so many partitions."""
    kafka = ScriptedKafka(is_v2=is_v2)
    kafka.topics |= topics
    async with kafka.broker:
        yield kafka


@asynccontextmanager
async def scripted_producer(kafka: ScriptedKafka, **config: Any) -> AsyncIterator[Producer]:
    """A producer with short back-offs; closed without patience, for what was held back may never be answered."""
    node = kafka.broker.node
    producer = Producer(QUICK, bootstrap_servers=f"{node.host}:{node.port}", **config)
    try:
        await producer.start()
        yield producer
    finally:
        await producer.close(timeout_ms=0)
