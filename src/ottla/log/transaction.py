"""The transactions of one partition: begun, completed, and a table of them ordered by where they begin."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple

from ottla.log.log_offset_metadata import LogOffsetMetadata


class CompletedTxn(NamedTuple):
    """A transaction that its marker has ended; ``last_offset`` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class TxnMetadata(NamedTuple):
    """A transaction that has written to the partition; ``last_offset`` is its marker's, None while there is none."""

    producer_id: int
    first_offset: LogOffsetMetadata
    last_offset: int | None = None


class TxnsByFirstOffset:
    """Transactions in the order of their first offsets.

    Transactions nearly always begin at the end of the log, so adding one appends and the oldest is always at hand; the
    few that arrive out of order (from a snapshot, or completed in another order than begun) are put in their place.
    """

    __slots__ = ("_txns", "offsets")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        """Their first offsets, in order; a look at it is cheaper than a call."""
        self._txns: dict[int, TxnMetadata] = {}

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[TxnMetadata]:
        return map(self._txns.__getitem__, self.offsets)

    @property
    def first(self) -> TxnMetadata | None:
        """The transaction that began first."""
        return self._txns[self.offsets[0]] if self.offsets else None

    def put(self, txn: TxnMetadata) -> None:
        """Add a transaction; one with the same first offset is replaced."""
        offset = txn.first_offset.message_offset
        if offset not in self._txns:
            insort(self.offsets, offset)
        self._txns[offset] = txn

    def pop(self, first_offset: int) -> TxnMetadata | None:
        """Take out the transaction that begins at ``first_offset``, if there is one."""
        txn = self._txns.pop(first_offset, None)
        if txn is not None:
            del self.offsets[bisect_left(self.offsets, first_offset)]
        return txn

    def remove_completed_before(self, offset: int) -> None:
        """Drop those whose marker lies below ``offset``."""
        txns = self._txns
        self._txns = {first: txn for first, txn in txns.items() if txn.last_offset is None or txn.last_offset >= offset}
        if len(self._txns) < len(txns):
            self.offsets = sorted(self._txns)

    def clear(self) -> None:
        """Forget all."""
        self.offsets.clear()
        self._txns.clear()
