"""What of a batch survives a cleaning: pure, a batch in, the bytes to keep out.

A batch is deleted whole, or filtered record by record. Of the records the latest of each key stays; a tombstone, and a
marker whose transaction is gone, stay until the delete horizon that the batch itself carries: the first cleaning that
sees them puts ``now + delete.retention.ms`` into the batch as its base timestamp and sets attribute bit 6. A batch that
loses all its records vanishes, unless it holds the last sequence of a producer that is still active, or is the last of
the run, whose end offset must not be lost: then its header stays. Offsets and sequences never change.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple

from ottla.log.cleaner.offset_map import BatchWalk, FilterRules, OffsetMap, Retained
from ottla.log.cleaner.stats import CleanerStats
from ottla.log.cleaner.transactions import CleanedTransactionMetadata
from ottla.records.batch import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
    Buffer,
    RecordBatch,
)
from ottla.records.builder import seal_batch
from ottla.records.compression import compress
from ottla.records.record_scan import wrap_timestamp

_KEPT_IN_EMPTY_BATCH: Final = TIMESTAMP_TYPE_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
_NOTHING: Final = Retained(0, 0, False, 0, 0)
_KEPT_IN_BATCH: Final = _KEPT_IN_EMPTY_BATCH | COMPRESSION_MASK | DELETE_HORIZON_FLAG


class LastRecord(NamedTuple):
    """The last that an active producer wrote; without data it was a marker, which holds the producer's epoch."""

    last_data_offset: int | None
    producer_epoch: int


class BatchRetention(Enum):
    """What happens to a batch before, or after, its records were looked at."""

    DELETE = "delete without a look at the records"
    RETAIN_EMPTY = "retain even when no record is left"
    DELETE_EMPTY = "delete when no record is left"


class RecordFilter:
    """The decisions of one cleaning run; batches must come in the order of the log.

    ``upper_bound_offset`` is where the run ends; ``now_ms`` is when it began.
    """

    def __init__(
        self,
        *,
        offset_map: OffsetMap,
        transactions: CleanedTransactionMetadata,
        last_records: Mapping[int, LastRecord],
        upper_bound_offset: int,
        now_ms: int,
        delete_retention_ms: int,
        stats: CleanerStats,
    ) -> None:
        self._map = offset_map
        self._transactions = transactions
        self._last_records = last_records
        data_offsets = (last.last_data_offset for last in last_records.values())
        self._rules = FilterRules(
            tuple(sorted(offset for offset in data_offsets if offset is not None)),
            upper_bound_offset,
            now_ms,
            delete_retention_ms,
        )
        self._now_ms = now_ms
        self._stats = stats

    def filter_chunk(self, chunk: Buffer) -> Iterator[RecordBatch]:
        """What remains of a chunk of whole batches with valid CRCs.

        Raises CorruptRecordError or InvalidRecordError for records that cannot be read.
        """
        position, end, stats = 0, len(chunk), self._stats
        while position < end:
            run = self._map.filter_run(chunk, position, self._rules)
            stats.bytes_read += run.position - position
            stats.bytes_written += len(run.data)
            stats.messages_read += run.messages_read
            stats.messages_written += run.messages_written
            stats.invalid_messages_read += run.invalid
            for start in run.starts:
                yield RecordBatch(run.data, start)
            position = run.position
            if position < end:
                batch = RecordBatch(chunk, position)
                data = self.filter_batch(batch)
                if data is not None:
                    yield RecordBatch(data)
                position += batch.size_in_bytes

    def filter_batch(self, batch: RecordBatch) -> Buffer | None:
        """The bytes that take the place of ``batch``: its own, new ones, a bare header, or None."""
        if batch.is_control:
            can_discard = self._transactions.on_control_batch_read(batch)
            horizon_ms = batch.delete_horizon_ms
            discard_records = can_discard and horizon_ms is not None and horizon_ms <= self._now_ms
        else:
            discard_records = can_discard = self._transactions.on_batch_read(batch)
        retention = self._retention(batch, discard_records)
        stats = self._stats
        stats.bytes_read += batch.size_in_bytes
        if retention is BatchRetention.DELETE:
            return None
        stats.messages_read += batch.records_count

        retained: Buffer | None = None
        if not discard_records and batch.records_count:
            retained = self._filter_records(batch, sets_horizon=batch.is_control and can_discard)
        if retained is None and retention is BatchRetention.RETAIN_EMPTY:
            retained = _empty_batch(batch)
        if retained is not None:
            stats.bytes_written += len(retained)
        return retained

    def _retention(self, batch: RecordBatch, discard_records: bool) -> BatchRetention:
        if batch.has_producer_id and self._is_last_of_producer(batch):
            return BatchRetention.RETAIN_EMPTY
        if batch.next_offset == self._rules.upper_bound_offset:
            return BatchRetention.RETAIN_EMPTY
        return BatchRetention.DELETE if discard_records else BatchRetention.DELETE_EMPTY

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        last = self._last_records.get(batch.producer_id)
        if last is None:
            return False
        if last.last_data_offset is not None:
            return batch.last_offset == last.last_data_offset
        return batch.is_control and batch.producer_epoch == last.producer_epoch

    def _filter_records(self, batch: RecordBatch, *, sets_horizon: bool) -> Buffer | None:
        walk, retained = BatchWalk(batch), _NOTHING
        for _ in walk.slices(self._map):
            retained = retained.followed_by(self._retain(batch))
        horizon_ms = batch.delete_horizon_ms
        self._stats.invalid_messages_read += retained.invalid
        if not retained.records_count:
            return None
        self._stats.messages_written += retained.records_count
        sets_horizon = (sets_horizon or retained.has_tombstones) and horizon_ms is None
        if retained.records_count == batch.records_count and not sets_horizon:
            return batch.bytes
        return self._rewrite(
            batch, walk, retained, self._now_ms + self._rules.delete_retention_ms if sets_horizon else horizon_ms
        )

    def _retain(self, batch: RecordBatch) -> Retained:
        """Decide on the walked slice of the batch."""
        if batch.is_control:
            return self._map.retain_all()
        horizon_ms = batch.delete_horizon_ms
        return self._map.retain(batch.base_offset, horizon_ms is None or self._now_ms < horizon_ms)

    def _copy_retained(
        self, batch: RecordBatch, walk: BatchWalk, timestamp_factor: int, timestamp_shift: int
    ) -> Buffer:
        """The retained records of the whole batch, written again: what the map has forgotten it walks once more."""
        if walk.is_one_slice:
            return self._map.copy_retained(timestamp_factor, timestamp_shift)
        copied = bytearray()
        for _ in walk.slices(self._map):
            self._retain(batch)
            copied += self._map.copy_retained(timestamp_factor, timestamp_shift)
        return copied

    def _rewrite(self, batch: RecordBatch, walk: BatchWalk, retained: Retained, horizon_ms: int | None) -> bytearray:
        """The retained records under the old header; timestamps count from the horizon or the first record."""
        if batch.is_log_append_time:
            first_timestamp = max_timestamp = batch.max_timestamp
        else:
            first_timestamp = wrap_timestamp(batch.base_timestamp + retained.first_timestamp_delta)
            max_timestamp = max(NO_TIMESTAMP, wrap_timestamp(batch.base_timestamp + retained.max_timestamp_delta))
        base_timestamp = first_timestamp if horizon_ms is None else horizon_ms
        if batch.is_log_append_time:
            records = self._copy_retained(batch, walk, 0, wrap_timestamp(batch.max_timestamp - base_timestamp))
        else:
            records = self._copy_retained(batch, walk, 1, wrap_timestamp(batch.base_timestamp - base_timestamp))
        attributes = batch.attributes & _KEPT_IN_BATCH
        return seal_batch(
            compress(batch.compression, records) if batch.compression else records,
            records_count=retained.records_count,
            base_offset=batch.base_offset,
            last_offset_delta=batch.last_offset_delta,
            leader_epoch=batch.partition_leader_epoch,
            attributes=attributes if horizon_ms is None else attributes | DELETE_HORIZON_FLAG,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
        )


def _empty_batch(batch: RecordBatch) -> bytearray:
    """The header alone: uncompressed, without a base timestamp or horizon, everything else as it was."""
    return seal_batch(
        b"",
        records_count=0,
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset_delta,
        leader_epoch=batch.partition_leader_epoch,
        attributes=batch.attributes & _KEPT_IN_EMPTY_BATCH,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )
