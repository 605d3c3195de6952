"""The batches that wait for one partition, and the one that takes records now."""

from collections import deque
from typing import Final

from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.batch_outcome import BatchOutcome
from ottla.clients.producer.producer_batch import NO_LEADER_EPOCH, ProducerBatch
from ottla.common.topic_partition import TopicPartition

NO_LEADER: Final = -1


class PartitionQueue:
    """Batches leave at the front. Only the last may be open; ``builder`` is its builder then.

    Retried batches return to the front, in the order of their sequences where they have one.
    """

    __slots__ = (
        "_closed_bytes",
        "batches",
        "builder",
        "in_flight",
        "is_muted",
        "leader_epoch",
        "leader_id",
        "outcome",
        "topic_partition",
    )

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.batches: deque[ProducerBatch] = deque()
        self.builder: BatchBuilder | None = None
        self.outcome: BatchOutcome | None = None
        """That of the open batch."""
        self.in_flight: list[ProducerBatch] = []
        """Sent and not answered, oldest first."""
        self.is_muted = False
        """Nothing is sent while something is in flight, where the order must be kept without sequences."""
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_LEADER_EPOCH
        self._closed_bytes = 0

    @property
    def appended_bytes(self) -> int:
        """All that was ever appended, by the estimate of what it takes in requests."""
        return self._closed_bytes + (0 if self.builder is None else self.builder.size_bytes)

    def update_leader(self, leader_id: int, leader_epoch: int) -> None:
        """Who leads the partition now; -1 if nobody does."""
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        if self.batches and leader_epoch != NO_LEADER_EPOCH:
            self.batches[0].update_leader_epoch(leader_epoch)

    def open(self, batch: ProducerBatch) -> None:
        """A batch that takes records; the one before it takes none any more."""
        self.close_builder()
        self.batches.append(batch)
        self.builder = batch.builder
        self.outcome = batch.outcome

    def append_closed(self, batch: ProducerBatch) -> None:
        """A batch that was encoded elsewhere, after all that was appended before."""
        self.close_builder()
        self.batches.append(batch)
        self._closed_bytes += batch.size_bytes

    def close_builder(self) -> None:
        """The open batch, if there is one, takes no further record."""
        builder = self.builder
        if builder is not None:
            self._closed_bytes += builder.size_bytes
            builder.close_for_appends()
            self.builder = self.outcome = None

    def pop(self) -> ProducerBatch:
        """Take the first batch out; if it is open, it takes no further record."""
        batch = self.batches.popleft()
        if not self.batches:
            self.close_builder()
        return batch

    def remove(self, batch: ProducerBatch) -> None:
        """Take any batch out, waiting or in flight."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)
        elif batch in self.batches:
            if batch is self.batches[-1]:
                self.close_builder()
            self.batches.remove(batch)

    def push_front(self, batch: ProducerBatch) -> None:
        """Put a batch back that is to be sent again; before all that have a later sequence, or none yet."""
        earlier: list[ProducerBatch] = []
        batches = self.batches
        if batch.has_sequence:
            while batches and batches[0].has_sequence and _precedes(batches[0], batch):
                earlier.append(batches.popleft())
        batches.appendleft(batch)
        batches.extendleft(reversed(earlier))


def _precedes(one: ProducerBatch, other: ProducerBatch) -> bool:
    """Whether one was sequenced before the other; sequences start again at 0 after 2**31 - 1."""
    return (other.base_sequence - one.base_sequence & 0x7FFFFFFF) < 1 << 30 and one is not other
