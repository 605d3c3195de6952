"""Which batches a consumer with ``isolation.level=read_committed`` leaves out."""

from collections.abc import Iterable
from typing import NamedTuple

from ottla.records.batch import RecordBatch
from ottla.records.control_type import ControlRecordType
from ottla.records.record import decode_records


class AbortedTransaction(NamedTuple):
    """A transaction that was aborted: whose, and where its first record lies in this partition."""

    first_offset: int
    producer_id: int


class AbortedTransactions:
    """The aborted transactions that reach into one fetch; batches are shown to it in their order, each once.

    A producer's batches are aborted from a transaction's first offset on, up to the marker that ends it.
    """

    __slots__ = ("_active", "_coming")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, reverse=True)
        self._active: set[int] = set()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left out from here on."""
        return not self._coming and not self._active

    def leaves_out(self, batch: RecordBatch) -> bool:
        """Whether no record of the batch may be seen. Control batches are not its business: they answer False."""
        if batch.producer_id < 0:
            return False
        last_offset = batch.last_offset
        while self._coming and self._coming[-1].first_offset <= last_offset:
            self._active.add(self._coming.pop().producer_id)
        if batch.is_control:
            if batch.producer_id in self._active and _is_abort_marker(batch):
                self._active.discard(batch.producer_id)
            return False
        return batch.is_transactional and batch.producer_id in self._active


def _is_abort_marker(batch: RecordBatch) -> bool:
    first = next(decode_records(batch), None)
    return first is not None and ControlRecordType.parse(first.key) is ControlRecordType.ABORT
