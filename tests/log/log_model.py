"""A partition as a plain list: what the log must be equal to, whatever happened to it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from ottla.log.log import FetchIsolation, Log
from ottla.records.batch import RecordBatch, batches
from ottla.records.control import ControlRecordType, control_type
from ottla.records.record import decode_records

ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT


class ModelRecord(NamedTuple):
    """A record, or a marker (whose key and value are its own business)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class ModelBatch:
    """A batch as it was appended; compaction takes records out of it."""

    base_offset: int
    last_offset: int
    epoch: int
    size: int
    records: tuple[ModelRecord, ...]
    producer_id: int = -1
    last_sequence: int = -1
    transactional: bool = False
    marker: ControlRecordType | None = None


class Transaction(NamedTuple):
    """From its first record to its marker; neither outcome nor last offset while it is open."""

    producer_id: int
    first_offset: int
    last_offset: int | None = None
    aborted: bool = False


@dataclass
class LogModel:
    """Batches in order, those below the log start offset included as long as their segment is there."""

    batches: list[ModelBatch] = field(default_factory=list)
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0
    forgotten: dict[int, int] = field(default_factory=dict)
    """Producer → offset: its batches below are gone, and a start has forgotten that they began a transaction."""

    def append(self, batch: ModelBatch) -> None:
        self.batches.append(batch)
        self.log_end_offset = batch.last_offset + 1

    def truncate_to(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.last_offset < offset]
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)

    @property
    def end_of_batches(self) -> int:
        """The offset after the last record; a truncation in the middle of a batch leaves the log's end behind it."""
        return self.batches[-1].last_offset + 1 if self.batches else 0

    # -- what readers see ---------------------------------------------------------------------------------------------

    def records(self) -> list[ModelRecord]:
        """Everything from the log start offset on, markers included."""
        return list(self._records(self.log_start_offset, self.log_end_offset))

    def _records(self, start: int, end: int) -> Iterator[ModelRecord]:
        for batch in self.batches:
            for record in batch.records:
                if start <= record.offset < end:
                    yield record

    def committed(self) -> list[ModelRecord]:
        """What a READ_COMMITTED consumer is shown: below the last stable offset, nothing aborted, no markers."""
        aborted = [txn for txn in self.transactions() if txn.aborted]
        shown = []
        for batch in self.batches:
            if batch.marker is None and not any(_belongs(batch, txn) for txn in aborted):
                shown += [r for r in batch.records if self.log_start_offset <= r.offset < self.last_stable_offset]
        return shown

    def first_at_timestamp(self, timestamp: int) -> ModelRecord | None:
        """The first record at or after a timestamp, by offset."""
        return next((record for record in self.records() if record.timestamp >= timestamp), None)

    # -- producers and transactions -----------------------------------------------------------------------------------

    def transactions(self) -> list[Transaction]:
        """All of them, open ones last."""
        done: list[Transaction] = []
        open_txns: dict[int, Transaction] = {}
        for batch in self.batches:
            if batch.marker is not None:
                txn = open_txns.pop(batch.producer_id, None)
                if txn is not None:
                    done.append(txn._replace(last_offset=batch.last_offset, aborted=batch.marker is ABORT))
            elif (
                batch.transactional
                and batch.producer_id not in open_txns
                and batch.last_offset >= self.forgotten.get(batch.producer_id, 0)
            ):
                open_txns[batch.producer_id] = Transaction(batch.producer_id, batch.base_offset)
        return done + list(open_txns.values())

    def open_transactions(self) -> dict[int, Transaction]:
        return {txn.producer_id: txn for txn in self.transactions() if txn.last_offset is None}

    @property
    def last_stable_offset(self) -> int:
        unstable = [
            max(txn.first_offset, self.log_start_offset)
            for txn in self.transactions()
            if txn.last_offset is None or txn.last_offset >= self.high_watermark
        ]
        return min([self.high_watermark, *unstable])

    def batches_of(self, producer_id: int) -> list[ModelBatch]:
        """A producer's data batches."""
        return [batch for batch in self.batches if batch.producer_id == producer_id and batch.marker is None]

    # -- compaction ---------------------------------------------------------------------------------------------------

    def compacted(self, end_offset: int) -> "LogModel":
        """The model once everything below ``end_offset`` is cleaned: aborted data gone, of each key the last record."""
        aborted = [txn for txn in self.transactions() if txn.aborted]
        latest: dict[bytes | None, int] = {}
        for batch in self.batches:
            if batch.marker is None and not any(_belongs(batch, txn) for txn in aborted):
                dirty = (r for r in batch.records if self.log_start_offset <= r.offset < end_offset)
                latest.update((record.key, record.offset) for record in dirty)
        cleaned = []
        for batch in self.batches:
            if batch.marker is None and batch.base_offset < end_offset:
                gone = any(_belongs(batch, txn) for txn in aborted)
                kept = tuple(r for r in batch.records if not gone and r.offset >= latest.get(r.key, 0))
                cleaned.append(replace(batch, records=kept))
            else:
                cleaned.append(batch)
        return replace(self, batches=cleaned)


def _belongs(batch: ModelBatch, txn: Transaction) -> bool:
    return (
        batch.transactional
        and batch.producer_id == txn.producer_id
        and txn.first_offset <= batch.base_offset
        and (txn.last_offset is None or batch.base_offset < txn.last_offset)
    )


# -- the same from a real log -----------------------------------------------------------------------------------------


def decoded(batch: RecordBatch) -> list[ModelRecord]:
    """The records of one batch."""
    return [ModelRecord(record.offset, record.timestamp, record.key, record.value) for record in decode_records(batch)]


def fetch_all(log: Log, max_bytes: int) -> list[ModelRecord]:
    """Fetch after fetch, from the start to the end."""
    found: list[ModelRecord] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        fetched = list(batches(log.read(offset, max_bytes).read()))
        if not fetched:
            break
        for batch in fetched:
            found += [record for record in decoded(batch) if record.offset >= log.log_start_offset]
            offset = batch.next_offset
    return found


def fetch_committed(log: Log, max_bytes: int) -> list[ModelRecord]:
    """What a READ_COMMITTED consumer makes of its fetches, by the aborted transactions that come with each."""
    found: list[ModelRecord] = []
    offset = log.log_start_offset
    while offset < log.last_stable_offset:
        fetched = log.read(offset, max_bytes, FetchIsolation.TXN_COMMITTED)
        whole = list(batches(fetched.read()))
        if not whole:
            break
        assert fetched.aborted_transactions is not None
        ahead = sorted(fetched.aborted_transactions, key=lambda txn: txn.first_offset)
        aborted: set[int] = set()
        for batch in whole:
            while ahead and ahead[0].first_offset <= batch.last_offset:
                aborted.add(ahead.pop(0).producer_id)
            if batch.is_control:
                record = next(iter(decode_records(batch)), None)
                if record is not None and control_type(record) is ABORT:
                    aborted.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in aborted):
                found += [record for record in decoded(batch) if record.offset >= log.log_start_offset]
            offset = batch.next_offset
    return found


def as_model(data: bytes) -> ModelBatch:
    batch = RecordBatch(data)
    marker = None
    if batch.is_control:
        marker = ABORT if decoded(batch)[0].key == ABORT.record_key else COMMIT
    return ModelBatch(
        batch.base_offset,
        batch.last_offset,
        batch.partition_leader_epoch,
        batch.size_in_bytes,
        tuple(decoded(batch)),
        batch.producer_id,
        batch.last_sequence,
        batch.is_transactional,
        marker,
    )


def holes_of(log: Log) -> list[range]:
    """Offsets between one segment and the next that neither has.

    A compacted log may have them, and a crash may add one, for what was not flushed: see docs/recovery.md.
    """
    segments = log.segments.values()
    return [range(before.read_next_offset(), after.base_offset) for before, after in pairwise(segments)]


def without(holes: list[range], log: Log, model: LogModel, compacted: LogModel) -> LogModel:
    """The model as far as the log goes, without what fell into a hole that compaction did not make."""
    gone = {batch.base_offset for batch in compacted.batches if not batch.records}
    kept = [
        batch
        for batch in model.batches
        if batch.last_offset < log.log_end_offset
        and (batch.base_offset in gone or not any(batch.base_offset in hole for hole in holes))
    ]
    return replace(model, batches=kept, log_start_offset=log.log_start_offset, log_end_offset=log.log_end_offset)
