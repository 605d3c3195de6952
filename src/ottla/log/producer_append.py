"""The checks a producer's batches must pass before they are written, and the changes they will make.

A :class:`ProducerAppendInfo` begins with what the partition knows of a producer and takes that producer's batches of
one append in order. It changes nothing but itself: the state takes the changes over, by ``update``, once the batches
are in the log, so that a refused or failed append leaves no trace.
"""

import logging
from typing import Final

from ottla.common.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from ottla.common.topic_partition import TopicPartition
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.transaction import CompletedTxn, TxnMetadata
from ottla.log.verification import VerificationStateEntry
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, RecordBatch
from ottla.records.control import ControlRecordType, EndTransactionMarker
from ottla.records.record import decode_records

logger = logging.getLogger(__name__)

TV_UNKNOWN: Final = -1
"""The transaction version of what does not say: data, and markers that come by replication."""

TV_2: Final = 2
"""From this version on the coordinator bumps the epoch with every marker."""

_LAST_EPOCH: Final = (1 << 15) - 1
_LAST_SEQUENCE: Final = (1 << 31) - 1


class ProducerAppendInfo:
    """One producer's part of one append."""

    __slots__ = (
        "_current",
        "_origin",
        "_partition",
        "_verification",
        "producer_id",
        "started_transactions",
        "updated",
    )

    def __init__(
        self,
        partition: TopicPartition,
        producer_id: int,
        current: ProducerEntry,
        origin: AppendOrigin,
        verification: VerificationStateEntry | None = None,
    ) -> None:
        self._partition = partition
        self.producer_id = producer_id
        self._current = current
        self._origin = origin
        self._verification = verification
        self.updated = current.without_batches()
        """The entry as it will be, with only the batches of this append."""
        self.started_transactions: list[TxnMetadata] = []

    def append(
        self,
        batch: RecordBatch,
        first_offset: LogOffsetMetadata | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> CompletedTxn | None:
        """Check a batch that has its offsets and collect its changes; a marker gives the transaction it completes.

        ``first_offset`` tells where a transactional batch will lie, to find the last stable offset without an index.
        ``transaction_version`` must be known for a marker unless it came by replication, where the leader has checked.
        """
        if batch.is_control:
            record = next(iter(decode_records(batch)), None)
            if record is None:
                return None  # compaction has removed the transaction and emptied its marker
            return self.append_end_txn_marker(
                EndTransactionMarker.decode(record),
                batch.producer_epoch,
                batch.base_offset,
                record.timestamp,
                transaction_version,
            )
        self._append_data_batch(batch, first_offset or LogOffsetMetadata(batch.base_offset))
        return None

    def _append_data_batch(self, batch: RecordBatch, first_offset: LogOffsetMetadata) -> None:
        epoch, base_offset = batch.producer_epoch, batch.base_offset
        self._check_producer_epoch(epoch, base_offset, TV_UNKNOWN)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(epoch, batch.base_sequence, base_offset)
        updated = self.updated
        if updated.current_txn_first_offset is not None and not batch.is_transactional:
            raise InvalidTxnStateError(f"Expected transactional write from {self._at(base_offset)}")
        updated.add_batch(
            epoch, BatchMetadata(batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp)
        )
        if updated.current_txn_first_offset is None and batch.is_transactional:
            updated.current_txn_first_offset = base_offset
            self.started_transactions.append(TxnMetadata(self.producer_id, first_offset))

    def append_end_txn_marker(
        self,
        marker: EndTransactionMarker,
        producer_epoch: int,
        offset: int,
        timestamp: int,
        transaction_version: int,
    ) -> CompletedTxn | None:
        """Check and collect a marker; None if the transaction wrote nothing here, which no index needs to know."""
        assert transaction_version != TV_UNKNOWN or self._origin is AppendOrigin.REPLICATION, (
            f"a marker from {self._origin.name} must say its transaction version"
        )
        self._check_producer_epoch(producer_epoch, offset, max(transaction_version, 0))
        self._check_coordinator_epoch(marker, offset)
        first_offset = self.updated.current_txn_first_offset
        self.updated.end_transaction(producer_epoch, marker.coordinator_epoch, timestamp)
        if first_offset is None:
            return None
        return CompletedTxn(self.producer_id, first_offset, offset, marker.type is ControlRecordType.ABORT)

    def _check_producer_epoch(self, producer_epoch: int, offset: int, transaction_version: int) -> None:
        """Refuse an older epoch; from transactions v2 on a marker's epoch must even be newer than its data's."""
        current = self.updated.producer_epoch
        bumps = transaction_version >= TV_2
        if producer_epoch > current or (producer_epoch == current and not bumps):
            return
        if producer_epoch == current and (
            self.updated.current_txn_first_offset is None
            # Epochs cannot go on from here, so a transaction that began with the last one must be able to end with it.
            or producer_epoch == _LAST_EPOCH
        ):
            logger.info(
                "Idempotent transaction marker retry detected for producer %d epoch %d. "
                "Transaction already completed, allowing duplicate marker write.",
                self.producer_id,
                producer_epoch,
            )
            return
        message = (
            f"Epoch of producer {self.producer_id} at offset {offset} in {self._partition} is {producer_epoch}, "
            f"which is {'<=' if bumps else '<'} the last seen epoch {current} (TV{transaction_version})"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise InvalidProducerEpochError(message)
        logger.warning(message)

    def _check_sequence(self, producer_epoch: int, first_sequence: int, offset: int) -> None:
        verification, current, updated = self._verification, self._current, self.updated
        if verification is not None:
            if verification.supports_epoch_bump and first_sequence != 0 and not current.batches:
                raise OutOfOrderSequenceError(
                    f"Invalid sequence number for {self._at(offset)}: {first_sequence} (incoming seq. number). "
                    "Expected sequence 0 for transactions v2 idempotent producer with no existing state."
                )
            if first_sequence > verification.lowest_sequence:
                raise OutOfOrderSequenceError(
                    f"Out of order sequence number for {self._at(offset)}: {first_sequence} (incoming seq. number), "
                    f"{verification.lowest_sequence} (earliest seen sequence)"
                )
        if producer_epoch != updated.producer_epoch:
            if first_sequence != 0 and updated.producer_epoch != NO_PRODUCER_EPOCH:
                raise OutOfOrderSequenceError(
                    f"Invalid sequence number for new epoch of {self._at(offset)}: {producer_epoch} (request epoch), "
                    f"{first_sequence} (seq. number), {updated.producer_epoch} (current producer epoch)"
                )
            return
        if current.producer_epoch == NO_PRODUCER_EPOCH:
            return  # nothing is known of it, perhaps since retention has deleted all it wrote: any sequence will do
        if updated.batches:
            last_sequence = updated.last_sequence
        else:
            last_sequence = current.last_sequence if producer_epoch == current.producer_epoch else NO_SEQUENCE
        if not _in_sequence(last_sequence, first_sequence):
            raise OutOfOrderSequenceError(
                f"Out of order sequence number for {self._at(offset)}: {first_sequence} (incoming seq. number), "
                f"{last_sequence} (current end sequence number)"
            )

    def _at(self, offset: int) -> str:
        return f"producer {self.producer_id} at offset {offset} in partition {self._partition}"

    def _check_coordinator_epoch(self, marker: EndTransactionMarker, offset: int) -> None:
        known = self.updated.coordinator_epoch
        if known <= marker.coordinator_epoch:
            return
        if self._origin is not AppendOrigin.REPLICATION:
            raise TransactionCoordinatorFencedError(
                f"Invalid coordinator epoch for producerId {self.producer_id} at offset {offset} in partition "
                f"{self._partition}: {marker.coordinator_epoch} (zombie), {known} (current)"
            )
        logger.info(
            "Detected invalid coordinator epoch for producerId %d at offset %d in partition %s: "
            "%d is older than previously known coordinator epoch %d",
            self.producer_id,
            offset,
            self._partition,
            marker.coordinator_epoch,
            known,
        )


def _in_sequence(last_sequence: int, next_sequence: int) -> bool:
    return next_sequence == last_sequence + 1 or (next_sequence == 0 and last_sequence == _LAST_SEQUENCE)
