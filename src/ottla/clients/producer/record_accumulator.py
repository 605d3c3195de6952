"""Where records wait for their batch, and batches for their leader; bounded by ``buffer.memory``."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.batch_builder import NO_MEMORY, BatchBuilder, record_size_upper_bound
from ottla.clients.producer.batch_splitter import split_batch
from ottla.clients.producer.buffer_pool import BufferPool
from ottla.clients.producer.compression_ratio import SAFETY_FACTOR
from ottla.clients.producer.idempotence import IdempotentProducer
from ottla.clients.producer.metrics import ProducerMetrics
from ottla.clients.producer.partition_queue import NO_LEADER, PartitionQueue
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.topic_queue import TopicQueue
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.exponential_backoff import ExponentialBackoff
from ottla.records.compression import Compression, compress
from ottla.records.record import Header

if TYPE_CHECKING:
    from random import Random

    from ottla.clients.cluster.metadata import ClusterMetadata

FOR_EVER: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class AccumulatorConfig:
    """The keys of a producer's configuration that this is about."""

    batch_size: int
    buffer_memory: int
    linger_ms: int
    delivery_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    compression: Compression = Compression.NONE
    compression_level: int | None = None
    adaptive_partitioning: bool = True
    availability_timeout_ms: int = 0
    keeps_order_by_muting: bool = False
    """One batch of a partition at a time, where sequences do not keep the order of more."""


class Ready(NamedTuple):
    """What there is to do: leaders that have something to be sent, topics without a leader, when to ask again."""

    nodes: Sequence[int]
    leaderless_topics: Sequence[str]
    next_check_ms: int


class RecordAccumulator:
    """Nothing here waits: who finds no memory asks ``pool`` for it, and comes back with it.

    A batch is begun by ``open_batch``, leaves by ``drain``, comes back by ``retry`` or ``split``, and ends by
    ``finish``. Until then it is ``incomplete`` and holds its memory.
    """

    def __init__(
        self,
        config: AccumulatorConfig,
        rng: "Random",
        idempotence: IdempotentProducer | None,
        metrics: ProducerMetrics,
    ) -> None:
        self.topics: dict[str, TopicQueue] = {}
        self.pool = BufferPool(config.buffer_memory)
        self.incomplete: dict[ProducerBatch, None] = {}
        """All that are not done, by the time of their creation."""
        self.flushes_in_progress = 0
        self.is_closed = False
        self._config = config
        self._rng = rng
        self._back_off = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._idempotence = idempotence
        self._metrics = metrics
        self._active: dict[PartitionQueue, None] = {}
        """Those that have batches waiting; whoever was drained goes to the end, so that all get their turn."""
        self._in_flight: dict[PartitionQueue, None] = {}
        self._nodes_ready_ms: dict[int, int] = {}
        self._nodes_drained_ms: dict[int, int] = {}

    # Metadata

    def update_metadata(self, metadata: "ClusterMetadata") -> None:
        """New leaders, new partitions; topics that are not used any more are forgotten."""
        for name, topic in list(self.topics.items()):
            if name not in metadata.topics and topic.is_idle:
                del self.topics[name]
            else:
                topic.update(metadata.partitions_for(name))

    def topic(self, name: str, metadata: "ClusterMetadata") -> TopicQueue:
        """The topic's queues, made from the metadata if need be."""
        topic = self.topics.get(name)
        if topic is None:
            config = self._config
            topic = TopicQueue(name, config.batch_size, self._rng, is_adaptive=config.adaptive_partitioning)
            topic.update(metadata.partitions_for(name))
            self.topics[name] = topic
        return topic

    # Appending

    def memory_for(self, key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
        """How much memory a new batch that begins with this record takes."""
        return max(self._config.batch_size, record_size_upper_bound(key, value, headers))

    def append(
        self,
        queue: PartitionQueue,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] | None,
    ) -> int:
        """The record's place in the open batch, which is the last of the queue; negative if it needs a new one."""
        builder = queue.builder
        if builder is None:
            return -1
        index = builder.append(timestamp_ms, key, value, headers)
        if index == NO_MEMORY and self.pool.try_take(self._config.batch_size):
            queue.batches[-1].memory_bytes += self._config.batch_size
            builder.memory_bytes += self._config.batch_size
            index = builder.append(timestamp_ms, key, value, headers)
        if index < 0:
            queue.close_builder()
        return index

    def open_batch(self, topic: TopicQueue, queue: PartitionQueue, memory_bytes: int, now_ms: int) -> ProducerBatch:
        """Begin a batch with memory that was taken for it; the first record always fits."""
        codec = self._config.compression
        ratio = topic.ratio.ratio * SAFETY_FACTOR if codec else 0.0
        builder = BatchBuilder(self._config.batch_size, memory_bytes, ratio)
        batch = ProducerBatch(queue.topic_partition, builder, now_ms, memory_bytes, codec)
        queue.open(batch)
        self.add(queue, batch)
        return batch

    def add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Count a batch that has just been put at the end of a queue, open or encoded elsewhere."""
        self.incomplete[batch] = None
        self._active[queue] = None

    def add_encoded(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Queue a batch that was encoded elsewhere, with memory that was taken for it."""
        queue.append_closed(batch)
        self.add(queue, batch)
        self._closed(batch)

    @property
    def codec(self) -> Compression:
        """How batches are compressed."""
        return self._config.compression

    def compress(self, payload: bytes) -> bytes:
        """Records as they go into a batch; in any thread."""
        codec = self._config.compression
        return compress(codec, payload, self._config.compression_level) if codec else payload

    # Draining

    @property
    def has_undrained(self) -> bool:
        """Whether batches wait to be sent."""
        return bool(self._active)

    def ready(self, now_ms: int) -> Ready:
        """Which leaders can be sent to. A batch is ready when it is full, has lingered, or somebody waits for it."""
        linger_ms = self._linger_ms()
        nodes: dict[int, None] = {}
        leaderless: dict[str, None] = {}
        next_check_ms = FOR_EVER
        for queue in self._active:
            leader_id = queue.leader_id
            if leader_id == NO_LEADER:
                leaderless[queue.topic_partition.topic] = None
                continue
            if queue.is_muted or leader_id in nodes:
                continue
            batch = queue.batches[0]
            batch.update_leader_epoch(queue.leader_epoch)
            if batch.is_backing_off(now_ms):
                next_check_ms = min(next_check_ms, batch.retry_at_ms)
                continue
            if _is_due(queue, batch, now_ms - linger_ms):
                nodes[leader_id] = None
            else:
                next_check_ms = min(next_check_ms, batch.created_ms + linger_ms)
        return Ready(list(nodes), list(leaderless), next_check_ms)

    def drain(self, node_id: int, max_bytes: int, now_ms: int, *, takes_all: bool = True) -> list[ProducerBatch]:
        """Take at most one batch of each partition that a node leads, until a request is full; they are closed.

        With ``takes_all`` those that still linger go along, as Apache has it; without, only if they are half full: a
        node that is busy anyway had better let them fill.
        """
        half_bytes = self._config.batch_size // 2
        drained: list[ProducerBatch] = []
        created_before_ms = now_ms - self._linger_ms()
        size_bytes = 0
        for queue in list(self._active):
            if queue.leader_id != node_id or queue.is_muted:
                continue
            batch = queue.batches[0]
            if batch.is_backing_off(now_ms) or not (self._idempotence is None or self._idempotence.may_drain(batch)):
                continue
            if not takes_all and batch.size_bytes < half_bytes and not _is_due(queue, batch, created_before_ms):
                continue
            if drained and size_bytes + batch.size_bytes > max_bytes:
                break
            self._take(queue, batch, now_ms)
            size_bytes += batch.size_bytes
            drained.append(batch)
        return drained

    def _linger_ms(self) -> int:
        """How long a batch waits for more records; not at all when somebody waits for it."""
        if (
            self.is_closed
            or self.flushes_in_progress > 0
            or self.pool.waiting_count > 0
            or (self._idempotence is not None and self._idempotence.is_completing)
        ):
            return 0
        return self._config.linger_ms

    def _take(self, queue: PartitionQueue, batch: ProducerBatch, now_ms: int) -> None:
        config = self._config
        queue.pop()
        del self._active[queue]
        if queue.batches:
            self._active[queue] = None
        if batch.builder is not None:
            batch.close(config.compression_level)
            self._closed(batch)
        if self._idempotence is not None and not batch.has_sequence:
            self._idempotence.assign(batch)
        batch.drained_ms = now_ms
        batch.is_in_flight = True
        queue.in_flight.append(batch)
        queue.is_muted = config.keeps_order_by_muting
        self._in_flight[queue] = None

    def _closed(self, batch: ProducerBatch) -> None:
        """A batch has been compressed: learn from it, and give back what it does not need any more."""
        if self._config.compression and batch.raw_bytes:
            observed = len(batch.payload) / batch.raw_bytes
            self.topics[batch.topic_partition.topic].ratio.update(observed)
            self._metrics.compression_rate.record(observed)
        surplus = batch.memory_bytes - max(self._config.batch_size, batch.size_bytes)
        if surplus > 0:
            batch.memory_bytes -= surplus
            self.pool.release(surplus)

    # Availability of leaders, for the partitioner

    def note_node(self, node_id: int, now_ms: int, *, can_send: bool) -> None:
        """There is something for a node, and it can be sent to or not."""
        self._nodes_ready_ms[node_id] = now_ms
        if can_send or node_id not in self._nodes_drained_ms:
            self._nodes_drained_ms[node_id] = now_ms

    def is_available(self, node_id: int) -> bool:
        """Whether a node has not been out of reach for too long."""
        timeout_ms = self._config.availability_timeout_ms
        if timeout_ms <= 0 or node_id not in self._nodes_ready_ms:
            return True
        return self._nodes_ready_ms[node_id] - self._nodes_drained_ms[node_id] <= timeout_ms

    # What becomes of batches

    def queue_of(self, topic_partition: TopicPartition) -> PartitionQueue:
        """The queue of a batch."""
        return self.topics[topic_partition.topic].partitions[topic_partition.partition]

    def landed(self, batch: ProducerBatch) -> None:
        """An attempt has ended: answered, or failed. One that was given up meanwhile lets go of its memory now."""
        queue = self.queue_of(batch.topic_partition)
        batch.is_in_flight = False
        if batch.is_done:
            self._release(batch)
        queue.is_muted = False
        if batch in queue.in_flight:
            queue.in_flight.remove(batch)
            if not queue.in_flight:
                self._in_flight.pop(queue, None)

    def retry(self, batch: ProducerBatch, now_ms: int) -> None:
        """Put a batch that has landed back where it was, to be sent after the back-off."""
        batch.retry(now_ms + self._back_off.backoff_ms(batch.attempts, self._rng))
        queue = self.queue_of(batch.topic_partition)
        queue.push_front(batch)
        self._active[queue] = None

    def split(self, batch: ProducerBatch) -> None:
        """Put a batch back in smaller ones: the broker finds it too large. They share its memory and its sequences."""
        config = self._config
        queue = self.queue_of(batch.topic_partition)
        if batch.raw_bytes:
            self.topics[batch.topic_partition.topic].ratio.reset(batch.size_bytes / batch.raw_bytes)
        if self._idempotence is not None:
            self._idempotence.forget(batch)
        parts = split_batch(batch, config.batch_size, config.compression_level)
        del self.incomplete[batch]
        self.incomplete |= dict.fromkeys(parts)
        self.incomplete = dict.fromkeys(sorted(self.incomplete, key=attrgetter("created_ms")))
        for part in reversed(parts):
            if part.has_sequence:
                assert self._idempotence is not None
                self._idempotence.track(part)
            queue.push_front(part)
        self._active[queue] = None
        batch.forget_bytes()

    def finish(self, batch: ProducerBatch) -> None:
        """A batch is done: let go of it wherever it is, and of its memory unless a connection still has its bytes."""
        queue = self.queue_of(batch.topic_partition)
        if not batch.is_in_flight:
            queue.remove(batch)
            if not queue.batches:
                self._active.pop(queue, None)
        self.incomplete.pop(batch, None)
        batch.forget_bytes()
        if not batch.is_in_flight:
            self._release(batch)

    def _release(self, batch: ProducerBatch) -> None:
        memory_bytes, batch.memory_bytes = batch.memory_bytes, 0
        if memory_bytes:
            self.pool.release(memory_bytes)

    def expired(self, now_ms: int) -> list[ProducerBatch]:
        """The batches that took longer than ``delivery.timeout.ms``, waiting or in flight."""
        # Of a partition, not in the order of their age: a retried one may be behind one that was sent after it.
        return [
            batch
            for queue in {**self._in_flight, **self._active}
            for batch in (*queue.in_flight, *queue.batches)
            if self.has_timed_out(batch, now_ms) and not batch.is_done
        ]

    def next_expiry_ms(self) -> int:
        """When the next one will have."""
        oldest = next(iter(self.incomplete), None)
        return FOR_EVER if oldest is None else oldest.created_ms + self._config.delivery_timeout_ms

    def has_timed_out(self, batch: ProducerBatch, now_ms: int) -> bool:
        """Whether a batch has no time left for another attempt."""
        return now_ms >= batch.created_ms + self._config.delivery_timeout_ms

    def expiry_error(self, batch: ProducerBatch, now_ms: int) -> KafkaError:
        """Why an expired batch fails."""
        count = batch.records_count if batch.builder is None else batch.builder.records_count
        return KafkaTimeoutError(
            f"Expiring {count} record(s) for {batch.topic_partition}: {now_ms - batch.created_ms} ms has passed since "
            "batch creation. The request has not been sent, or no server response has been received yet."
        )


def _is_due(queue: PartitionQueue, batch: ProducerBatch, created_before_ms: int) -> bool:
    """Whether the first batch of a queue waits no longer for more records."""
    return len(queue.batches) > 1 or batch.attempts > 0 or batch.created_ms <= created_before_ms or batch.is_full
