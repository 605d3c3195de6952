"""Batches of the metadata log into deltas, one or more batches a delta, with transactions taking effect as one."""

import logging
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Final, Protocol

from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.manifest import LogDeltaManifest
from ottla.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    MetadataRecord,
)

logger = logging.getLogger(__name__)

SLICE_RECORDS: Final = 32
"""How many records are replayed before the caller may let others run: about a tenth of a millisecond."""

FaultHandler = Callable[[str, Exception], None]
Publish = Callable[[MetadataDelta, MetadataImage, LogDeltaManifest], None]


class LogBatch(Protocol):
    """A committed batch, as raft hands it over; a control batch has no records."""

    @property
    def base_offset(self) -> int:
        """The offset of its first record."""

    @property
    def epoch(self) -> int:
        """The leader epoch that wrote it."""

    @property
    def append_time_ms(self) -> int:
        """When the leader wrote it."""

    @property
    def records(self) -> Sequence[MetadataRecord]:
        """Its records."""

    @property
    def last_offset(self) -> int:
        """The offset of its last record."""

    @property
    def size_bytes(self) -> int:
        """Its size in the log."""


class TransactionState(Enum):
    """NONE → STARTED → CONTINUED → ENDED or ABORTED → NONE with the next record, or STARTED with the next begin."""

    NONE = auto()
    STARTED = auto()
    CONTINUED = auto()
    ENDED = auto()
    ABORTED = auto()


_IN_TRANSACTION: Final = (TransactionState.STARTED, TransactionState.CONTINUED)
_AFTER_RECORD: Final = {
    TransactionState.STARTED: TransactionState.CONTINUED,
    TransactionState.ENDED: TransactionState.NONE,
    TransactionState.ABORTED: TransactionState.NONE,
}
_AT_END: Final[dict[type[MetadataRecord], TransactionState]] = {
    EndTransactionRecord: TransactionState.ENDED,
    AbortTransactionRecord: TransactionState.ABORTED,
}


class MetadataBatchLoader:
    """Replays batches and gives ``publish`` each new image.

    ``leader`` is the quorum's leader id and epoch, for the manifest; whoever learns of a change sets it.
    """

    def __init__(
        self,
        publish: Publish,
        on_fault: FaultHandler,
        is_supported_config: Callable[[int, str], bool] | None = None,
    ) -> None:
        self._publish = publish
        self._on_fault = on_fault
        self._is_supported_config = is_supported_config
        self.leader = (-1, 0)
        self.reset(MetadataImage())

    def reset(self, image: MetadataImage) -> None:
        """Go on from ``image``; what was not published is forgotten."""
        self.image = image
        self.has_seen_record = not image.is_empty
        self._delta = self._new_delta()
        self._state = TransactionState.NONE
        self._last_offset, self._last_epoch, self._last_log_time_ms, _ = image.provenance
        self._num_batches = self._num_bytes = 0

    def load(self, batch: LogBatch) -> Iterator[None]:
        """Replay a batch, with a pause for others after every few records.

        The beginning of a transaction publishes what came before it. The rest waits for ``flush``.
        """
        for index, record in enumerate(batch.records):
            offset = batch.base_offset + index
            try:
                self._replay(record)
            except ValueError as error:
                self._on_fault(f"Error loading metadata log record from offset {offset}", error)
            if self._state is TransactionState.STARTED and (index > 0 or self._num_batches > 0):
                self._apply(is_offset_batch_aligned=index == 0)
                self._state = TransactionState.STARTED
            self._contain(offset, batch)
            if index % SLICE_RECORDS == SLICE_RECORDS - 1:
                yield
        self._contain(batch.last_offset, batch)
        self._num_bytes += batch.size_bytes
        self._num_batches += 1

    def flush(self) -> None:
        """Publish what was loaded, unless a transaction is open; an aborted one publishes an empty delta."""
        if self._state in _IN_TRANSACTION:
            logger.debug(
                "handleCommit: not publishing since a transaction starting at %d is still in progress. "
                "%d batch(es) processed so far.",
                self.image.offset,
                self._num_batches,
            )
            return
        self._apply(is_offset_batch_aligned=True)

    def _contain(self, offset: int, batch: LogBatch) -> None:
        self._last_offset, self._last_epoch, self._last_log_time_ms = offset, batch.epoch, batch.append_time_ms

    def _new_delta(self) -> MetadataDelta:
        return MetadataDelta(self.image, self._is_supported_config)

    def _replay(self, record: MetadataRecord) -> None:
        kind = type(record)
        if kind is BeginTransactionRecord:
            if self._state in _IN_TRANSACTION:
                raise ValueError("Encountered BeginTransactionRecord while already in a transaction")
            self._state = TransactionState.STARTED
        elif kind in _AT_END:
            if self._state not in _IN_TRANSACTION:
                raise ValueError(f"Encountered {kind.__name__} without having seen a BeginTransactionRecord")
            self._state = _AT_END[kind]
            if self._state is TransactionState.ABORTED:
                self._delta = self._new_delta()  # what came before the transaction was published when it began
        else:
            self._state = _AFTER_RECORD.get(self._state, self._state)
            self.has_seen_record = True
            self._delta.replay(record)

    def _apply(self, *, is_offset_batch_aligned: bool) -> None:
        provenance = MetadataProvenance(
            self._last_offset, self._last_epoch, self._last_log_time_ms, is_offset_batch_aligned
        )
        manifest = LogDeltaManifest(provenance, *self.leader, self._num_batches, self._num_bytes)
        image = self._delta.apply(provenance)
        self._publish(self._delta, image, manifest)
        self.reset(image)
