"""The controller's state as a value: an image and what the log says beside it. Replaying gives the next one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ottla.metadata.image import EMPTY_IMAGE, MetadataDelta, MetadataImage, MetadataProvenance
from ottla.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)


class Transaction(NamedTuple):
    """An open transaction: where it began, and what to go back to if it is aborted."""

    start_offset: int
    image: MetadataImage
    registration_offsets: Mapping[int, int]


class ControllerState(NamedTuple):
    """Immutable, so that losing leadership is going back to the last value that was committed.

    ``registration_offsets`` says where each broker's RegisterBrokerRecord stands: who has read that far has caught up.
    """

    image: MetadataImage = EMPTY_IMAGE
    registration_offsets: Mapping[int, int] = {}
    transaction: Transaction | None = None

    def replay(
        self, records: Sequence[MetadataRecord], base_offset: int, epoch: int, append_time_ms: int
    ) -> "ControllerState":
        """The state after a batch; ValueError for records that do not fit, a sign of a damaged log or of a bug."""
        image, transaction = self.image, self.transaction
        offsets = dict(self.registration_offsets)
        delta = MetadataDelta(image)
        for index, record in enumerate(records):
            offset = base_offset + index
            if isinstance(record, BeginTransactionRecord):
                if transaction is not None:
                    raise ValueError(f"{record} at {offset}: the transaction at {transaction.start_offset} is open")
                image = delta.apply(MetadataProvenance(offset - 1, epoch, append_time_ms))
                transaction = Transaction(offset, image, dict(offsets))
                delta = MetadataDelta(image)
            elif isinstance(record, AbortTransactionRecord | EndTransactionRecord):
                if transaction is None:
                    raise ValueError(f"{record} at {offset}: no transaction is open")
                if isinstance(record, AbortTransactionRecord):
                    delta = MetadataDelta(transaction.image)
                    offsets = dict(transaction.registration_offsets)
                transaction = None
            else:
                delta.replay(record)
                if isinstance(record, RegisterBrokerRecord):
                    offsets[record.broker_id] = offset
                elif isinstance(record, UnregisterBrokerRecord):
                    offsets.pop(record.broker_id, None)
        last_offset = base_offset + len(records) - 1
        provenance = MetadataProvenance(last_offset, epoch, append_time_ms, is_offset_batch_aligned=True)
        return ControllerState(delta.apply(provenance), offsets, transaction)


class SnapshotReplay:
    """A state made of a snapshot, some records at a time."""

    def __init__(self) -> None:
        self._delta = MetadataDelta(EMPTY_IMAGE)

    def replay(self, records: Sequence[MetadataRecord]) -> None:
        """Some more records."""
        for record in records:
            self._delta.replay(record)

    def finish(self, provenance: MetadataProvenance) -> ControllerState:
        """All records were replayed: brokers that are in the snapshot registered before its end."""
        image = self._delta.apply(provenance)
        return ControllerState(image, dict.fromkeys(image.cluster.brokers, provenance.last_contained_offset))
