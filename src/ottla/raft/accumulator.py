"""Appends that wait to be written. Pure.

One append is one batch, so that it is committed whole or not at all; all that wait go to the disk together.
"""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from ottla.common.errors import RecordListTooLargeError
from ottla.raft.batch import CommittedBatch, RecordSerde, data_batch
from ottla.raft.errors import BufferAllocationError, NotLeaderError
from ottla.records.control import KRaftControlMessage, control_batch

T = TypeVar("T")

PENDING_BYTES_MAX: Final = 40 * 1024 * 1024
"""Five of the largest batches."""


class BatchAccumulator(Generic[T]):
    """The appends of one leader in one epoch. Offsets are given out at once, so a batch must not be dropped alone."""

    def __init__(self, epoch: int, base_offset: int, max_batch_bytes: int, serde: RecordSerde[T]) -> None:
        """``base_offset`` is the end of the log."""
        self.epoch = epoch
        self._next_offset = base_offset
        self._max_batch_bytes = max_batch_bytes
        self._serde = serde
        self._chunks: list[bytearray] = []
        self._pending_bytes = 0
        self._batches: list[CommittedBatch[T]] = []

    def __bool__(self) -> bool:
        return bool(self._batches)

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets."""
        return self._next_offset

    def append(self, epoch: int, records: Sequence[T], now_ms: int) -> int:
        """Add one batch; returns the offset of its last record. Nothing is added if it raises.

        NotLeaderError for an epoch that is over, RecordListTooLargeError for records that do not fit in a batch,
        BufferAllocationError when too much waits already.
        """
        assert records, "Append failed because there are no records"
        assert epoch <= self.epoch, f"epoch {epoch} is larger than the current epoch {self.epoch}"
        if epoch < self.epoch:
            raise NotLeaderError(
                f"Append failed because the given epoch {epoch} is stale. Current leader epoch = {self.epoch}"
            )
        write = self._serde.write
        values = [write(record) for record in records]
        data = data_batch(values, base_offset=self._next_offset, epoch=epoch, append_time_ms=now_ms)
        if len(data) > self._max_batch_bytes:
            raise RecordListTooLargeError(
                f"The total record(s) size of {len(data)} exceeds the maximum allowed batch size of "
                f"{self._max_batch_bytes}"
            )
        if self._pending_bytes + len(data) > PENDING_BYTES_MAX:
            raise BufferAllocationError(
                f"Append failed because {self._pending_bytes} bytes wait to be written to the metadata log already"
            )
        return self._add(data, now_ms, tuple(records), ())

    def append_control(self, messages: Sequence[KRaftControlMessage], now_ms: int) -> int:
        """Add one control batch; returns the offset of its last record."""
        data = control_batch(messages, base_offset=self._next_offset, timestamp=now_ms, leader_epoch=self.epoch)
        return self._add(data, now_ms, (), tuple(messages))

    def _add(
        self, data: bytearray, now_ms: int, records: tuple[T, ...], messages: tuple[KRaftControlMessage, ...]
    ) -> int:
        base_offset = self._next_offset
        last_offset = base_offset + len(records) + len(messages) - 1
        if self._chunks and len(self._chunks[-1]) + len(data) <= self._max_batch_bytes:
            self._chunks[-1] += data
        else:
            self._chunks.append(data)
        self._pending_bytes += len(data)
        self._batches.append(CommittedBatch(base_offset, self.epoch, now_ms, records, last_offset, len(data), messages))
        self._next_offset = last_offset + 1
        return last_offset

    def drain(self) -> tuple[list[bytearray], list[CommittedBatch[T]]]:
        """Take out everything that waits: the bytes in chunks that a segment has room for, and the batches in them."""
        drained = self._chunks, self._batches
        self._chunks, self._batches, self._pending_bytes = [], [], 0
        return drained
