"""Transactions as a cleaning run passes them: which data was aborted, and which markers have nothing left to mark.

An abort marker stays, with its entry in the transaction index, until a cleaning passes it without seeing a batch of its
transaction; a commit marker likewise. Whether a marker that may go is gone is then a matter of its delete horizon.
"""

import heapq
from collections.abc import Callable, Iterable

from ottla.log.txn_index import AbortedTxn
from ottla.records.batch import RecordBatch
from ottla.records.control import ControlRecordType, control_type
from ottla.records.record import decode_records


def _drop(_: AbortedTxn) -> None:
    """Keep no index: what building the offset map needs."""


class CleanedTransactionMetadata:
    """The transactions under way at the point of the log that the cleaner has reached.

    ``retain`` receives each aborted transaction whose marker stays, for the index of the cleaned segment; set it anew
    for each segment. Batches must come in the order of the log.
    """

    def __init__(self) -> None:
        self.retain: Callable[[AbortedTxn], None] = _drop
        self._ongoing_committed: set[int] = set()
        self._ongoing_aborted: dict[int, AbortedTxn] = {}
        self._observed: set[int] = set()
        self._ahead: list[tuple[int, AbortedTxn]] = []

    def add_aborted_transactions(self, aborted: Iterable[AbortedTxn]) -> None:
        """Learn of aborted transactions ahead; one known already does no harm."""
        for txn in aborted:
            heapq.heappush(self._ahead, (txn.first_offset, txn))

    def on_control_batch_read(self, batch: RecordBatch) -> bool:
        """Pass a control batch; True if it may be discarded."""
        self._reach(batch.last_offset)
        record = next(iter(decode_records(batch)), None) if batch.records_count else None
        if record is None:
            return True  # cleaned before: it marks nothing any more
        producer_id = batch.producer_id
        kind = control_type(record)
        if kind is ControlRecordType.ABORT:
            txn = self._ongoing_aborted.pop(producer_id, None)
            if txn is not None and producer_id in self._observed:
                self._observed.remove(producer_id)
                self.retain(txn)
                return False
            return True
        if kind is ControlRecordType.COMMIT:
            if producer_id in self._ongoing_committed:
                self._ongoing_committed.remove(producer_id)
                return False
            return True
        return False

    def on_batch_read(self, batch: RecordBatch) -> bool:
        """Pass a data batch; True if its transaction was aborted, so that it may be discarded."""
        self._reach(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._ongoing_aborted:
            self._observed.add(batch.producer_id)
            return True
        self._ongoing_committed.add(batch.producer_id)
        return False

    def _reach(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[0][0] <= offset:
            txn = heapq.heappop(ahead)[1]
            self._ongoing_aborted.setdefault(txn.producer_id, txn)
