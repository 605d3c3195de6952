"""A batch on its way from the first record to the answer of its leader."""

from typing import Final

from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.batch_outcome import BatchOutcome
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import HEADER_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from ottla.records.builder import attributes_of, seal_batch
from ottla.records.compression import Compression

NO_LEADER_EPOCH: Final = -1
_SEQUENCE_MASK: Final = (1 << 31) - 1


class ProducerBatch:
    """Open (its builder takes records) → closed (``payload`` is there) → sent, and again after a retry → done.

    The producer's id, epoch and sequence stand in the header alone, so they may change between two attempts without
    touching the records. ``memory_bytes`` is what it holds of the buffer pool.
    """

    __slots__ = (
        "_attempts_when_leader_changed",
        "_codec",
        "_leader_epoch",
        "_sealed",
        "attempts",
        "base_sequence",
        "base_timestamp_ms",
        "builder",
        "created_ms",
        "drained_ms",
        "is_in_flight",
        "is_split",
        "is_transactional",
        "max_timestamp_ms",
        "memory_bytes",
        "outcome",
        "payload",
        "producer_epoch",
        "producer_id",
        "raw_bytes",
        "records_count",
        "retry_at_ms",
        "sequence_was_reset",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        builder: BatchBuilder | None,
        created_ms: int,
        memory_bytes: int,
        codec: Compression = Compression.NONE,
    ) -> None:
        self.topic_partition = topic_partition
        self.builder = builder
        self.outcome = BatchOutcome(topic_partition)
        self.created_ms = created_ms
        self.drained_ms = created_ms
        self.memory_bytes = memory_bytes
        self.attempts = 0
        self.retry_at_ms = 0
        self.is_in_flight = False
        self.is_split = False
        """Made by splitting another: those are not counted against the retries of the first."""
        self.payload = b""
        self.records_count = 0
        self.raw_bytes = 0
        self.base_timestamp_ms = 0
        self.max_timestamp_ms = 0
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.is_transactional = False
        self.sequence_was_reset = False
        self._codec = codec
        self._sealed: bytearray | None = None
        self._leader_epoch = NO_LEADER_EPOCH
        self._attempts_when_leader_changed = 0

    @classmethod
    def encoded(
        cls,
        topic_partition: TopicPartition,
        payload: bytes,
        *,
        records_count: int,
        timestamps_ms: tuple[int, int],
        raw_bytes: int,
        created_ms: int,
        memory_bytes: int,
        codec: Compression,
    ) -> "ProducerBatch":
        """A batch of records that are encoded and compressed; ``timestamps_ms`` are the first's and the latest."""
        batch = cls(topic_partition, None, created_ms, memory_bytes, codec)
        batch.payload = payload
        batch.records_count = records_count
        batch.base_timestamp_ms, batch.max_timestamp_ms = timestamps_ms
        batch.raw_bytes = raw_bytes
        return batch

    @property
    def is_done(self) -> bool:
        """Whether its outcome is known."""
        return self.outcome.is_done

    @property
    def is_full(self) -> bool:
        """Whether it takes no further record."""
        return self.builder is None or self.builder.is_full

    @property
    def size_bytes(self) -> int:
        """What it takes in a request; an estimate while it is open."""
        if self.builder is not None:
            return self.builder.size_bytes
        return HEADER_BYTES + len(self.payload) if self._sealed is None else len(self._sealed)

    @property
    def has_sequence(self) -> bool:
        """Whether it has been given one: then it may have reached the broker."""
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """That of its last record."""
        return self.base_sequence + self.records_count - 1 & _SEQUENCE_MASK

    @property
    def in_retry(self) -> bool:
        """Whether an attempt has failed."""
        return self.attempts > 0

    @property
    def codec(self) -> Compression:
        """How its records are compressed."""
        return self._codec

    def close(self, level: int | None) -> None:
        """End the builder, if there still is one, and compress what it has."""
        builder = self.builder
        if builder is None:
            return
        self.records_count = builder.records_count
        self.raw_bytes = builder.raw_bytes
        self.base_timestamp_ms = builder.base_timestamp_ms
        self.max_timestamp_ms = builder.max_timestamp_ms
        self.payload = builder.build(self._codec, level)
        self.builder = None

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, *, transactional: bool
    ) -> None:
        """Who sends it, and the sequence of its first record."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = transactional
        if self._sealed is not None:
            self.payload = bytes(memoryview(self._sealed)[HEADER_BYTES:])
            self._sealed = None

    def reset_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Another sequence for a batch that has one: it was sent, and the broker does not want it like that."""
        self.set_producer_state(producer_id, producer_epoch, base_sequence, transactional=self.is_transactional)
        self.sequence_was_reset = True

    def records(self) -> bytearray:
        """The batch as it goes over the wire; it must be closed. From then on the payload is kept in there only."""
        assert self.builder is None
        sealed = self._sealed
        if sealed is None:
            sealed = self._sealed = seal_batch(
                self.payload,
                records_count=self.records_count,
                base_offset=0,
                last_offset_delta=self.records_count - 1,
                leader_epoch=-1,
                attributes=attributes_of(self._codec, transactional=self.is_transactional),
                base_timestamp=self.base_timestamp_ms,
                max_timestamp=self.max_timestamp_ms,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                base_sequence=self.base_sequence,
            )
            self.payload = b""
        return sealed

    def update_leader_epoch(self, leader_epoch: int) -> None:
        """The partition's leader is of this epoch now."""
        if leader_epoch > self._leader_epoch:
            self._leader_epoch = leader_epoch
            self._attempts_when_leader_changed = self.attempts

    @property
    def has_new_leader(self) -> bool:
        """Whether the leader has changed since the last attempt: then there is no use in backing off."""
        return self.attempts > 0 and self.attempts == self._attempts_when_leader_changed

    def retry(self, retry_at_ms: int) -> None:
        """An attempt has failed; the next one not before then."""
        self.attempts += 1
        self.retry_at_ms = retry_at_ms

    def is_backing_off(self, now_ms: int) -> bool:
        """Whether it has to wait for its next attempt."""
        return self.attempts > 0 and now_ms < self.retry_at_ms and not self.has_new_leader

    def forget_bytes(self) -> None:
        """Let go of what takes memory, once it is done or split."""
        self.builder = None
        self.payload = b""
        self._sealed = None
