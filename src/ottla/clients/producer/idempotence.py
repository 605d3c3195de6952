"""The idempotent producer's state: its id and epoch, and the sequence numbers of each partition.

A broker takes a batch only if its sequence follows the last one it has, so nothing is written twice or out of order.
What Apache's TransactionManager does for producers without transactions; the transactional one builds upon it.
"""

from bisect import insort
from typing import Final, NamedTuple

from ottla.clients.errors import (
    ClusterAuthorizationError,
    InvalidPidMappingError,
    OutOfOrderSequenceError,
    ProducerFencedError,
    TransactionalIdAuthorizationError,
    UnknownProducerIdError,
    UnsupportedVersionError,
    error_for,
)
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

EPOCH_MAX: Final = (1 << 15) - 1
NO_OFFSET: Final = -1
_SEQUENCE_MASK: Final = (1 << 31) - 1
FATAL: Final = (
    ClusterAuthorizationError,
    TransactionalIdAuthorizationError,
    ProducerFencedError,
    UnsupportedVersionError,
    InvalidPidMappingError,
)


class ProducerIdAndEpoch(NamedTuple):
    """Who a producer is to brokers."""

    producer_id: int
    epoch: int

    @property
    def is_valid(self) -> bool:
        """Whether a broker has given it."""
        return self.producer_id != NO_PRODUCER_ID


NO_PRODUCER: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class PartitionSequences:
    """Of one partition: whose sequences they are, the next, the last acknowledged, and what is not acknowledged."""

    __slots__ = ("in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "producer", "unresolved")

    def __init__(self) -> None:
        self.producer = NO_PRODUCER
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.last_acked_offset = NO_OFFSET
        self.in_flight: list[ProducerBatch] = []
        """Sequenced and not done, whether sent or waiting for a retry; in order."""
        self.unresolved: int = NO_SEQUENCE
        """What follows a batch that was given up although the broker may have it."""

    def start_at_beginning(self, producer: ProducerIdAndEpoch) -> None:
        """Sequences from 0 on, also for what is in flight; a broker knows nothing of ``producer`` here."""
        sequence = 0
        for batch in self.in_flight:
            batch.reset_producer_state(*producer, sequence)
            sequence = sequence + batch.records_count & _SEQUENCE_MASK
        self.producer = producer
        self.next_sequence = sequence
        self.last_acked_sequence = NO_SEQUENCE

    def acknowledge(self, batch: ProducerBatch, base_offset: int) -> None:
        """A batch is in the log."""
        last = self.last_acked_sequence
        if last == NO_SEQUENCE or (batch.last_sequence - last & _SEQUENCE_MASK) < 1 << 30:
            self.last_acked_sequence = batch.last_sequence
        if base_offset != NO_OFFSET:
            self.last_acked_offset = max(self.last_acked_offset, base_offset + batch.records_count - 1)

    def is_next(self, sequence: int) -> bool:
        """Whether a sequence follows the last acknowledged one."""
        return self.last_acked_sequence + 1 & _SEQUENCE_MASK == sequence

    def close_gap(self, failed: ProducerBatch) -> None:
        """The broker refused a batch for good: those after it take over its sequences."""
        self.next_sequence = self.next_sequence - failed.records_count & _SEQUENCE_MASK
        for batch in self.in_flight:
            if (batch.base_sequence - failed.base_sequence & _SEQUENCE_MASK) < 1 << 30:
                sequence = batch.base_sequence - failed.records_count & _SEQUENCE_MASK
                batch.reset_producer_state(batch.producer_id, batch.producer_epoch, sequence)


class IdempotentProducer:
    """Without an id → with one, by ``initialized``; without one again when its epochs are used up.

    A partition's sequences are in question after ``mark_unresolved``; nothing new is sent there until
    ``resolve_sequences`` finds that all is acknowledged, or asks for the next epoch. ``bump_epoch_if_needed`` then
    gives the partitions that asked a new start, with the batches that they still have. A ``fatal_error`` is for good.

    The methods that a producer with transactions decides otherwise are marked as such.
    """

    def __init__(self) -> None:
        self.producer = NO_PRODUCER
        self.fatal_error: KafkaError | None = None
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._to_restart: dict[TopicPartition, None] = {}
        self._unresolved: dict[TopicPartition, None] = {}

    @property
    def is_transactional(self) -> bool:
        """Transactions: whether batches belong to one."""
        return False

    @property
    def transactional_id(self) -> str | None:
        """Transactions: what to name in requests."""
        return None

    @property
    def produce_version_max(self) -> int | None:
        """Transactions: the newest version of Produce to use."""
        return None

    @property
    def is_completing(self) -> bool:
        """Transactions: whether one is about to end, so that no batch lingers."""
        return False

    @property
    def wants_producer_id(self) -> bool:
        """Whether to ask for an id. Transactions: they ask for it themselves."""
        return not self.producer.is_valid and self.fatal_error is None

    def is_send_allowed(self, topic_partition: TopicPartition) -> bool:  # noqa: ARG002
        """Transactions: whether a partition has been added to the one under way."""
        return True

    def add_partition(self, topic_partition: TopicPartition) -> None:
        """Transactions: a record was appended there; raises if there is none under way, or it has failed."""

    def note_error(self, error: KafkaError) -> None:
        """A batch failed with this. Transactions: this one can only be aborted."""
        if isinstance(error, FATAL):
            self.fatal_error = error

    def initialized(self, producer: ProducerIdAndEpoch) -> None:
        """A broker gave us an id; what lost its own when the epochs were used up takes it over."""
        self.producer = producer
        for sequences in self._partitions.values():
            if sequences.in_flight and not sequences.producer.is_valid:
                sequences.start_at_beginning(producer)

    def sequences(self, topic_partition: TopicPartition) -> PartitionSequences:
        """Those of a partition."""
        found = self._partitions.get(topic_partition)
        if found is None:
            found = self._partitions[topic_partition] = PartitionSequences()
        return found

    def reset_sequences(self) -> None:
        """Begin anew in every partition: there is a new epoch, and nothing is in flight under the old one."""
        self._partitions.clear()
        self._unresolved.clear()

    def may_drain(self, batch: ProducerBatch) -> bool:
        """Whether the first batch of a queue may be sent now."""
        if not self.producer.is_valid or not self.is_send_allowed(batch.topic_partition):
            return False
        sequences = self.sequences(batch.topic_partition)
        if batch.has_sequence:  # a retry: one at a time, in order
            return not sequences.in_flight or sequences.in_flight[0].base_sequence == batch.base_sequence
        if sequences.in_flight and (
            sequences.producer != self.producer  # the new epoch would overtake what is in flight with the old one
            # A broker that does not know us yet takes any sequence for the first. Were the first batch refused for a
            # while, or on its way to a former leader, the second would be taken in its place, and the first for a
            # duplicate. Apache's producer runs that risk.
            or sequences.last_acked_sequence == NO_SEQUENCE
        ):
            return False
        return sequences.unresolved == NO_SEQUENCE

    def assign(self, batch: ProducerBatch) -> None:
        """Give a batch that is sent for the first time its sequence."""
        assert not batch.has_sequence
        sequences = self.sequences(batch.topic_partition)
        if sequences.producer != self.producer and not sequences.in_flight:
            sequences.start_at_beginning(self.producer)
        batch.set_producer_state(*self.producer, sequences.next_sequence, transactional=self.is_transactional)
        sequences.next_sequence = sequences.next_sequence + batch.records_count & _SEQUENCE_MASK
        sequences.in_flight.append(batch)

    def track(self, batch: ProducerBatch) -> None:
        """Note a batch that got its sequence from another one that it was split off from."""
        insort(self.sequences(batch.topic_partition).in_flight, batch, key=_order)

    def forget(self, batch: ProducerBatch) -> None:
        """A batch is done, or was split."""
        in_flight = self.sequences(batch.topic_partition).in_flight
        if batch in in_flight:
            in_flight.remove(batch)

    def completed(self, batch: ProducerBatch, base_offset: int) -> None:
        """A batch is in the log; one that was given up under an epoch that is over says nothing of the one now."""
        sequences = self.sequences(batch.topic_partition)
        if sequences.producer == (batch.producer_id, batch.producer_epoch):
            sequences.acknowledge(batch, base_offset)
        self.forget(batch)

    def failed(self, batch: ProducerBatch, error: KafkaError, *, adjust_sequences: bool) -> None:
        """A batch has failed for good; ``adjust_sequences`` if the broker certainly does not have it."""
        self.note_error(error)
        self.forget(batch)
        topic_partition = batch.topic_partition
        if self.fatal_error is not None:
            return
        if isinstance(error, OutOfOrderSequenceError) and not self.is_transactional:
            self.request_epoch_bump(topic_partition)
        elif isinstance(error, UnknownProducerIdError):
            self._partitions.pop(topic_partition, None)
            self._unresolved.pop(topic_partition, None)
        elif adjust_sequences and batch.has_sequence:
            if self.is_transactional:
                self.sequences(topic_partition).close_gap(batch)
            else:
                self.request_epoch_bump(topic_partition)

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """A batch was given up that the broker may have, or yet get."""
        sequences = self.sequences(batch.topic_partition)
        following = batch.last_sequence + 1 & _SEQUENCE_MASK
        if sequences.unresolved == NO_SEQUENCE or (following - sequences.unresolved & _SEQUENCE_MASK) < 1 << 30:
            sequences.unresolved = following
        self._unresolved[batch.topic_partition] = None

    def resolve_sequences(self) -> None:
        """See which partitions in question have nothing in flight any more, and what that means."""
        for topic_partition in list(self._unresolved):
            sequences = self.sequences(topic_partition)
            if not sequences.in_flight:
                if not sequences.is_next(sequences.next_sequence):
                    self.on_lost_sequences(topic_partition)
                sequences.unresolved = NO_SEQUENCE
                del self._unresolved[topic_partition]

    def on_lost_sequences(self, topic_partition: TopicPartition) -> None:
        """Nobody knows what the broker has. Transactions: this one can only be aborted."""
        self.request_epoch_bump(topic_partition)

    def request_epoch_bump(self, topic_partition: TopicPartition) -> None:
        """Let the partition begin anew under the next epoch."""
        self._to_restart[topic_partition] = None

    def bump_epoch_if_needed(self) -> None:
        """The next epoch, if a partition asked for it; a new id when there is none left."""
        if not self._to_restart or not self.producer.is_valid:
            return
        producer_id, epoch = self.producer
        self.producer = NO_PRODUCER if epoch == EPOCH_MAX else ProducerIdAndEpoch(producer_id, epoch + 1)
        for topic_partition in self._to_restart:
            sequences = self.sequences(topic_partition)
            sequences.start_at_beginning(self.producer)
            sequences.unresolved = NO_SEQUENCE
            self._unresolved.pop(topic_partition, None)
        self._to_restart.clear()

    def can_retry(self, batch: ProducerBatch, error_code: int, log_start_offset: int) -> bool:
        """Whether a batch that was refused with this error may be sent again, perhaps under the next epoch."""
        if error_code == ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._can_retry_unknown_producer(batch, log_start_offset)
        if error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            sequences = self.sequences(batch.topic_partition)
            resolved = sequences.unresolved == NO_SEQUENCE
            if resolved and (batch.sequence_was_reset or not sequences.is_next(batch.base_sequence)):
                return True  # it came before its turn
            if not self.is_transactional:
                if resolved or sequences.unresolved == batch.base_sequence:  # there is a gap in the log
                    self.request_epoch_bump(batch.topic_partition)
                return True
        return error_for(error_code).retriable

    def _can_retry_unknown_producer(self, batch: ProducerBatch, log_start_offset: int) -> bool:
        """The broker has forgotten us, as it may when all that we wrote was deleted."""
        if log_start_offset == NO_OFFSET or batch.sequence_was_reset:
            return True
        sequences = self.sequences(batch.topic_partition)
        if not self.is_transactional:
            self.request_epoch_bump(batch.topic_partition)
            return True
        if sequences.last_acked_offset < log_start_offset:
            sequences.start_at_beginning(self.producer)
            return True
        return False


def _order(batch: ProducerBatch) -> tuple[int, int, int]:
    return batch.producer_id, batch.producer_epoch, batch.base_sequence
