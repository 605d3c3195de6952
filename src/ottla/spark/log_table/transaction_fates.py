"""Which records of transactions a consumer with ``isolation.level=read_committed`` sees. Pure.

A producer's transactional batches belong to the marker of the same producer that follows them in the partition: they
are seen if that is a commit. Without one the transaction is open, and they are not seen.
"""

from bisect import bisect_left
from collections.abc import Iterable

from ottla.common.errors import KafkaError
from ottla.records.batch import RecordBatch
from ottla.records.control_type import ControlRecordType
from ottla.records.record import decode_records


class TransactionFates:
    """Shown the batches of a piece, then those behind it until ``is_decided``; then it tells which are seen."""

    __slots__ = ("_ends", "_open")

    def __init__(self) -> None:
        self._ends: dict[int, tuple[list[int], list[bool]]] = {}
        """By producer id: the offsets of its markers, and whether each is a commit."""
        self._open: set[int] = set()

    @property
    def is_decided(self) -> bool:
        """Whether all transactions of batches that were shown have ended."""
        return not self._open

    def show(self, batches: Iterable[RecordBatch]) -> None:
        """The batches of the piece, in order."""
        for batch in batches:
            if not batch.is_transactional:
                continue
            if batch.is_control:
                self._end(batch)
            else:
                self._open.add(batch.producer_id)

    def show_following(self, batches: Iterable[RecordBatch]) -> None:
        """Batches behind the piece, in order; as many are taken as are needed."""
        if self.is_decided:
            return
        for batch in batches:
            if batch.is_control and batch.is_transactional and batch.producer_id in self._open:
                self._end(batch)
                if self.is_decided:
                    return

    def is_seen(self, batch: RecordBatch) -> bool:
        """Whether consumers get the batch's records."""
        if batch.is_control:
            return False
        if not batch.is_transactional:
            return True
        offsets, commits = self._ends.get(batch.producer_id, ([], []))
        at = bisect_left(offsets, batch.base_offset)
        return at < len(offsets) and commits[at]

    def _end(self, batch: RecordBatch) -> None:
        kind = marker_type(batch)
        if kind not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
            return
        offsets, commits = self._ends.setdefault(batch.producer_id, ([], []))
        offsets.append(batch.base_offset)
        commits.append(kind is ControlRecordType.COMMIT)
        self._open.discard(batch.producer_id)


def marker_type(batch: RecordBatch) -> ControlRecordType:
    """What kind the batch's first control record is; UNKNOWN if that cannot be read."""
    try:
        first = next(decode_records(batch), None)
        return ControlRecordType.UNKNOWN if first is None else ControlRecordType.parse(first.key)
    except KafkaError:
        return ControlRecordType.UNKNOWN
