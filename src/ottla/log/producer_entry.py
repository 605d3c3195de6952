"""What a partition remembers of one producer: its epoch, its last five batches and its open transaction."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.records.batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RecordBatch,
    decrement_sequence,
)

NUM_BATCHES_TO_RETAIN: Final = 5
"""A producer has at most five requests in flight, so a retry repeats one of the last five batches."""

_HALF_OF_SEQUENCES: Final = 1 << 30

NO_OFFSET: Final = -1
NO_COORDINATOR_EPOCH: Final = -1


class BatchMetadata(NamedTuple):
    """A batch in the log, as far as recognizing its duplicate takes."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """The sequence of its first record."""
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """The state of one producer id; ``batches`` runs from the oldest to the newest, all of ``producer_epoch``.

    An entry that comes from a snapshot ``is_partial``: the log may have more batches of its epoch, before those.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "is_partial",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches: list[BatchMetadata] = []
        self.is_partial = False

    @property
    def first_sequence(self) -> int:
        """The first sequence of the oldest batch; -1 without one."""
        return self.batches[0].first_sequence if self.batches else NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """The last sequence of the newest batch; -1 without one."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def first_data_offset(self) -> int:
        """The first offset of the oldest batch; -1 without one."""
        return self.batches[0].first_offset if self.batches else NO_OFFSET

    @property
    def last_data_offset(self) -> int:
        """The last offset of the newest batch; -1 without one."""
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        """The offset delta of the newest batch; 0 without one."""
        return self.batches[-1].offset_delta if self.batches else 0

    def without_batches(self) -> "ProducerEntry":
        """A copy that has yet to see a batch: where an append begins to collect its changes."""
        return ProducerEntry(
            self.producer_id,
            self.producer_epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.current_txn_first_offset,
        )

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        """Remember a data batch; a new epoch forgets the batches of the old."""
        self._enter_epoch(producer_epoch)
        self.retain(batch)
        self.last_timestamp = batch.timestamp

    def end_transaction(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> None:
        """Take the effect of a transaction marker."""
        self._enter_epoch(producer_epoch)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = timestamp
        self.current_txn_first_offset = None

    def update(self, changes: "ProducerEntry") -> None:
        """Take over what an append has collected in a copy made by :meth:`without_batches`."""
        self._enter_epoch(changes.producer_epoch)
        for batch in changes.batches:
            self.retain(batch)
        self.coordinator_epoch = changes.coordinator_epoch
        self.last_timestamp = changes.last_timestamp
        self.current_txn_first_offset = changes.current_txn_first_offset

    def retain(self, batch: BatchMetadata) -> None:
        """Add a batch of the current epoch, and let go of the sixth last."""
        batches = self.batches
        batches.append(batch)
        if len(batches) > NUM_BATCHES_TO_RETAIN:
            del batches[0]

    def find_duplicate(self, batch: RecordBatch) -> BatchMetadata | None:
        """The remembered batch that has this one's epoch and exact range of sequences."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        first_sequence, last_sequence = batch.base_sequence, batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last_sequence and known.first_sequence == first_sequence:
                return known
        return None

    def may_have_forgotten(self, batch: RecordBatch) -> bool:
        """Whether a batch can be a retry of one that only the log knows: it comes before those that are remembered.

        Half of all sequences count as before, the other half as after: they wrap around.
        """
        return (
            self.is_partial
            and 0 < len(self.batches) < NUM_BATCHES_TO_RETAIN
            and batch.producer_epoch == self.producer_epoch
            and 0 < decrement_sequence(self.first_sequence, batch.last_sequence) < _HALF_OF_SEQUENCES
        )

    def recall(self, earlier: Sequence[BatchMetadata]) -> None:
        """Take over batches from before those that are remembered; none means that there are no more."""
        self.batches[:0] = earlier
        self.is_partial = bool(earlier)

    def _enter_epoch(self, producer_epoch: int) -> None:
        if self.producer_epoch != producer_epoch:
            self.batches.clear()
            self.is_partial = False
            self.producer_epoch = producer_epoch

    def __repr__(self) -> str:
        return (
            f"ProducerEntry(producer_id={self.producer_id}, producer_epoch={self.producer_epoch}, "
            f"current_txn_first_offset={self.current_txn_first_offset}, coordinator_epoch={self.coordinator_epoch}, "
            f"last_timestamp={self.last_timestamp}, batches={self.batches})"
        )
