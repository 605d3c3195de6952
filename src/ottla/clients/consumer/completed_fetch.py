"""What one fetch brought of one partition: raw batches, decoded only as they are handed out.

A cursor runs over the batches. Those that nobody may see (control records, aborted transactions under read_committed)
are passed by, and so are records before the offset that was asked for, and after the one where reading is to end:
brokers send whole batches.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from ottla.clients.consumer.aborted_transactions import AbortedTransaction, AbortedTransactions
from ottla.clients.consumer.batch_decoder import RawRecord
from ottla.clients.consumer.record_errors import CorruptFetchError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import HEADER_BYTES, LAST_OFFSET_DELTA_POSITION, LOG_OVERHEAD, RecordBatch

DecodeBatch: TypeAlias = Callable[[RecordBatch, TopicPartition], list[RawRecord]]

_START: Final = struct.Struct(">qi")
_DELTA: Final = struct.Struct(">i")
_NO_RECORDS: Final[list[Any]] = []

NO_END: Final = (1 << 63) - 1
"""For ``until_offset``: whatever there is."""


class Run(NamedTuple):
    """Raw batches, from ``position`` to ``end`` of a buffer."""

    buffer: bytes | memoryview
    position: int
    end: int
    check_crcs: bool
    with_transactions: bool
    """Whether batches of transactions may be read without asking whether those were aborted."""


class CompletedFetch:
    """Taken from front to back. ``next_offset`` is the position after what was taken, gaps and markers included."""

    __slots__ = (
        "_aborted",
        "_batch",
        "_buffer",
        "_check_crcs",
        "_decoded",
        "_decoded_from",
        "_end",
        "_position",
        "_taken",
        "_taken_from",
        "end_offset",
        "last_epoch",
        "next_offset",
        "node_id",
        "partition",
        "records_taken",
        "size_in_bytes",
        "until_offset",
    )

    def __init__(
        self,
        partition: TopicPartition,
        fetch_offset: int,
        buffer: bytes | memoryview,
        *,
        node_id: int = -1,
        last_epoch: int = -1,
        aborted: Iterable[AbortedTransaction] | None = None,
        check_crcs: bool = True,
        until_offset: int = NO_END,
    ) -> None:
        """``aborted`` None: everything that is no control record is seen (read_uncommitted).

        ``until_offset``: records from there on are not wanted, nor batches that begin there or later.
        """
        self.partition = partition
        self.node_id = node_id
        self.next_offset = fetch_offset
        self.last_epoch = last_epoch
        """The leader epoch of the batch before ``next_offset``."""
        self.size_in_bytes = len(buffer)
        self.records_taken = 0
        self._buffer = buffer
        self._position = 0
        self.until_offset = until_offset
        self._end, self.end_offset = _whole_batches(buffer, fetch_offset, until_offset)
        self._aborted = None if aborted is None else AbortedTransactions(aborted)
        self._check_crcs = check_crcs
        self._batch: RecordBatch | None = None
        """The batch that ``next_offset`` lies in, once it was reached."""
        self._taken: list[RawRecord] = _NO_RECORDS
        self._taken_from: RecordBatch | None = None
        self._decoded: list[RawRecord] = _NO_RECORDS
        self._decoded_from = 0

    @property
    def has_progress(self) -> bool:
        """Whether there is a whole batch; if not, and there are bytes, a record is larger than any fetch brings."""
        return self._end > 0

    @property
    def is_garbled(self) -> bool:
        """Whether the bytes cannot begin a batch, cut off or not."""
        return self.size_in_bytes < LOG_OVERHEAD or _START.unpack_from(self._buffer)[1] + LOG_OVERHEAD < HEADER_BYTES

    @property
    def is_drained(self) -> bool:
        """Whether nothing is left; unless batches were not wanted, ``next_offset`` is ``end_offset`` then."""
        return self._batch is None and self._position >= self._end

    def take(self, max_records: int, decode: DecodeBatch) -> list[RawRecord]:
        """Up to so many records, of one batch; empty only if none are left. Raises CorruptFetchError, each time."""
        while True:
            decoded, start = self._decoded, self._decoded_from
            if start < len(decoded):
                return self._take_decoded(decoded, start, max_records)
            batch = self.current_batch()
            if batch is None:
                return _NO_RECORDS
            try:
                records = decode(batch, self.partition)
            except KafkaError as error:
                raise CorruptFetchError(self.partition, self.next_offset, error) from error
            if records and (records[0].offset < self.next_offset or records[-1].offset >= self.until_offset):
                records = [record for record in records if self.next_offset <= record.offset < self.until_offset]
            if records:
                self._decoded, self._decoded_from = records, 0
            else:
                self.finish_batch()

    def _take_decoded(self, decoded: list[RawRecord], start: int, max_records: int) -> list[RawRecord]:
        assert self._batch is not None
        self._taken_from = self._batch
        end = start + max_records
        if end >= len(decoded):
            taken = decoded[start:] if start else decoded
            self.finish_batch()
        else:
            taken = decoded[start:end]
            self._decoded_from = end
            self.next_offset = taken[-1].offset + 1
            self.last_epoch = self._batch.partition_leader_epoch
        self.records_taken += len(taken)
        self._taken = taken
        return taken

    def put_back(self, count: int) -> None:
        """The last ``count`` records of what ``take`` gave were not handed out: they come again."""
        batch, taken = self._taken_from, self._taken
        assert batch is not None
        assert 0 < count <= len(taken)
        following = self._decoded[self._decoded_from :] if self._batch is batch else _NO_RECORDS
        self._taken, back = taken[:-count], taken[-count:]
        self._batch = batch
        self._position = batch.position + batch.size_in_bytes
        self._decoded, self._decoded_from = back + following, 0
        self.next_offset = back[0].offset
        self.records_taken -= count

    def current_batch(self) -> RecordBatch | None:
        """The batch to go on with, checked; None at the end."""
        while self._batch is None and self._position < self._end:
            batch = RecordBatch(self._buffer, self._position)
            try:
                if self._check_crcs and batch.magic == 2:
                    batch.ensure_valid()
                left_out = self._aborted is not None and self._aborted.leaves_out(batch)
            except KafkaError as error:
                raise CorruptFetchError(self.partition, max(self.next_offset, batch.base_offset), error) from error
            self._position += batch.size_in_bytes
            self._batch = batch
            if left_out or batch.is_control or batch.records_count == 0 or batch.last_offset < self.next_offset:
                self.finish_batch()
        return self._batch

    @property
    def bytes_left(self) -> int:
        """How many bytes of batches are left, the current one included."""
        return self._end - (self._position if self._batch is None else self._batch.position)

    def next_run(self) -> Run | None:
        """Where batches follow that somebody else may read as they stand; None in the middle of a batch."""
        if self._batch is not None or self._position >= self._end:
            return None
        with_transactions = self._aborted is None or self._aborted.is_empty
        return Run(self._buffer, self._position, self._end, self._check_crcs, with_transactions)

    def pass_run(self, position: int, next_offset: int, epoch: int, records: int) -> None:
        """Somebody else has read the batches up to this position."""
        assert self._batch is None
        self._position = position
        self.next_offset = max(self.next_offset, next_offset)
        self.last_epoch = epoch
        self.records_taken += records

    def finish_batch(self, records: int = 0) -> None:
        """The current batch is done with; so many ``records`` of it somebody else has read."""
        assert self._batch is not None
        self.records_taken += records
        self.next_offset = max(self.next_offset, self._batch.next_offset)
        self.last_epoch = self._batch.partition_leader_epoch
        self._batch = None
        self._decoded, self._decoded_from = _NO_RECORDS, 0

    def taken_until(self, offset: int, records: int) -> None:
        """Somebody else read ``records`` of the current batch and goes on at ``offset``."""
        assert self._batch is not None
        self.next_offset = offset
        self.last_epoch = self._batch.partition_leader_epoch
        self.records_taken += records
        self._decoded, self._decoded_from = _NO_RECORDS, 0


def _whole_batches(buffer: bytes | memoryview, fetch_offset: int, until_offset: int) -> tuple[int, int]:
    """Where the last whole batch ends, in the buffer and in the log; what follows it was cut off by the broker.

    Batches from ``until_offset`` on do not count, but the first of them shows that there is nothing before it.
    """
    position, last, size = 0, -1, len(buffer)
    unpack = _START.unpack_from
    while size - position >= HEADER_BYTES:
        base_offset, length = unpack(buffer, position)
        if base_offset >= until_offset:
            return position, until_offset
        length += LOG_OVERHEAD
        if length < HEADER_BYTES:
            break  # garbage; whoever reads on from here is told
        if length > size - position:
            break
        last = position
        position += length
    if last < 0:
        return 0, fetch_offset
    base_offset = unpack(buffer, last)[0]
    delta = _DELTA.unpack_from(buffer, last + LAST_OFFSET_DELTA_POSITION)[0]
    return position, max(fetch_offset, base_offset + delta + 1)
