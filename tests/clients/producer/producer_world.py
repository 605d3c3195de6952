"""A producer's pure parts and a broker that forgets, refuses, loses answers and moves leaders; time is a number."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.producer.batch_completer import BatchCompleter, PartitionAnswer
from ottla.clients.producer.delivery import Delivery
from ottla.clients.producer.idempotence import IdempotentProducer, ProducerIdAndEpoch
from ottla.clients.producer.metrics import ProducerMetrics
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.record_accumulator import AccumulatorConfig, RecordAccumulator
from ottla.common.error_code import ErrorCode
from ottla.records.batch import RecordBatch
from ottla.records.record import decode_records

TOPIC = "orders"
KEPT_BATCHES = 5


@dataclass
class Log:
    """A partition at its leader: what was appended, and what it knows of the producer."""

    values: list[bytes] = field(default_factory=list)
    epoch: int = -1
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT_BATCHES))
    """The last ones of this epoch: first and last sequence, base offset."""

    def append(self, batch: RecordBatch) -> PartitionAnswer:
        """As Kafka's leaders do."""
        values = [record.value or b"" for record in decode_records(batch)]
        if batch.producer_id < 0:
            return self._write(values)
        first, last = batch.base_sequence, batch.base_sequence + len(values) - 1
        if batch.producer_epoch < self.epoch:
            return PartitionAnswer(ErrorCode.INVALID_PRODUCER_EPOCH)
        if batch.producer_epoch > self.epoch:
            if self.epoch >= 0 and first != 0:
                return PartitionAnswer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            self.batches.clear()
        for kept_first, kept_last, offset in self.batches:
            if (kept_first, kept_last) == (first, last):
                return PartitionAnswer(base_offset=offset)
        if self.batches and first != self.batches[-1][1] + 1:
            code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
            if first > self.batches[-1][1]:
                code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            return PartitionAnswer(code)
        self.epoch = batch.producer_epoch
        self.batches.append((first, last, len(self.values)))
        return self._write(values)

    def forget_producer(self) -> None:
        """As when all that the producer wrote has been deleted."""
        self.epoch = -1
        self.batches.clear()

    def _write(self, values: Sequence[bytes]) -> PartitionAnswer:
        answer = PartitionAnswer(base_offset=len(self.values))
        self.values += values
        return answer


class World:
    """Two brokers, some partitions, one producer. ``run`` is one look of the sender; the rest is what may happen."""

    def __init__(
        self,
        *,
        partitions: int = 2,
        batch_size: int = 200,
        buffer_memory: int = 4000,
        max_in_flight: int = 5,
        idempotent: bool = True,
        message_max_bytes: int = 1 << 30,
        delivery_timeout_ms: int = 1_000_000,
        retries: int = 1 << 30,
    ) -> None:
        self.now_ms = 0
        self.max_in_flight = max_in_flight
        self.message_max_bytes = message_max_bytes
        self.state = IdempotentProducer() if idempotent else None
        if self.state is not None:
            self.state.initialized(ProducerIdAndEpoch(7, 0))
        config = AccumulatorConfig(
            batch_size=batch_size,
            buffer_memory=buffer_memory,
            linger_ms=5,
            delivery_timeout_ms=delivery_timeout_ms,
            retry_backoff_ms=10,
            retry_backoff_max_ms=40,
            keeps_order_by_muting=max_in_flight == 1,
        )
        self.metrics = ProducerMetrics()
        self.accumulator = RecordAccumulator(config, Random(1), self.state, self.metrics)
        self.completer = BatchCompleter(self.accumulator, self.state, retries, self.metrics)
        self.leaders = [(number % 2, 0) for number in range(partitions)]
        self.logs = [Log() for _ in range(partitions)]
        self.wire: dict[int, deque[tuple[list[ProducerBatch], list[bytes]]]] = {0: deque(), 1: deque()}
        self.sent: list[list[tuple[bytes, Delivery]]] = [[] for _ in range(partitions)]
        self.topic = self.accumulator.topic(TOPIC, self._metadata())

    def send(self, partition: int, size: int) -> bool:
        """Send a record if there is memory for it; its value says which it is."""
        value = f"{partition}:{len(self.sent[partition])}:".encode().ljust(size, b".")
        queue = self.topic.partitions[partition]
        index = self.accumulator.append(queue, self.now_ms, None, value, None)
        if index < 0:
            needed = self.accumulator.memory_for(None, value, ())
            if not self.accumulator.pool.try_take(needed):
                return False
            self.accumulator.open_batch(self.topic, queue, needed, self.now_ms)
            index = self.accumulator.append(queue, self.now_ms, None, value, None)
        assert queue.outcome is not None
        self.sent[partition].append((value, Delivery(queue.outcome, index, self.now_ms, -1, size)))
        return True

    def run(self) -> None:
        """What the sender does when it is woken."""
        if self.state is not None:
            self.state.resolve_sequences()
            self.state.bump_epoch_if_needed()
            if not self.state.producer.is_valid:
                self.state.initialized(ProducerIdAndEpoch(8, 0))
        self.completer.expire(self.now_ms)
        while True:
            sent_before = sum(map(len, self.wire.values()))
            for node in self.accumulator.ready(self.now_ms).nodes:
                if len(self.wire[node]) < self.max_in_flight:
                    batches = self.accumulator.drain(node, 1000, self.now_ms)
                    if batches:
                        self.wire[node].append((batches, [bytes(batch.records()) for batch in batches]))
            if sum(map(len, self.wire.values())) == sent_before:
                return

    def answer(self, node: int) -> None:
        """The broker takes and answers its oldest request."""
        if self.wire[node]:
            batches, answers = self._process(node)
            for batch, answer in zip(batches, answers, strict=True):
                self.completer.complete(batch, answer, self.now_ms)

    def disconnect(self, node: int, processed: int) -> None:
        """The connection is lost after so many requests were taken and none of them answered."""
        lost: list[ProducerBatch] = []
        while self.wire[node]:
            if processed > 0:
                lost += self._process(node)[0]
                processed -= 1
            else:
                lost += self.wire[node].popleft()[0]
        for batch in lost:
            self.completer.complete(batch, PartitionAnswer(ErrorCode.NETWORK_EXCEPTION), self.now_ms)

    def move_leader(self, partition: int, *, is_told: bool) -> None:
        """The other broker leads a partition now; the producer may hear of it later."""
        node, epoch = self.leaders[partition]
        self.leaders[partition] = (1 - node, epoch + 1)
        if is_told:
            self.refresh()

    def refresh(self) -> None:
        """The producer hears who leads."""
        self.accumulator.update_metadata(self._metadata())

    def settle(self) -> None:
        """Everything works from now on, until nothing is left to be done."""
        self.refresh()
        for _ in range(2_000):
            if not self.accumulator.incomplete and not any(self.wire.values()):
                return
            self.now_ms += 50
            self.run()
            for node in self.wire:
                self.answer(node)
            self.refresh()
        raise AssertionError("it never ends")

    def _process(self, node: int) -> tuple[list[ProducerBatch], list[PartitionAnswer]]:
        batches, records = self.wire[node].popleft()
        answers = []
        for batch, data in zip(batches, records, strict=True):
            partition = batch.topic_partition.partition
            if self.leaders[partition][0] != node:
                answers.append(PartitionAnswer(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            elif len(data) > self.message_max_bytes:
                answers.append(PartitionAnswer(ErrorCode.MESSAGE_TOO_LARGE))
            else:
                answers.append(self.logs[partition].append(RecordBatch(data)))
        return batches, answers

    def _metadata(self) -> ClusterMetadata:
        partitions = {
            number: PartitionMetadata(number, leader_id, epoch)
            for number, (leader_id, epoch) in enumerate(self.leaders)
        }
        return ClusterMetadata(topics={TOPIC: TopicMetadata(TOPIC, partitions=partitions)})
