"""Records in columns, and how compiled code makes batches of them. Needs numba and numpy: see ``kernel_loader``."""

from collections.abc import Callable, Iterator, MutableSequence, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ottla.clients.producer import record_kernels as kernels
from ottla.clients.producer.batch_builder import RECORD_OVERHEAD_MAX
from ottla.clients.producer.record_chunk import RECORD_BOUND, STICKY, Encoded, Share
from ottla.records.batch import HEADER_BYTES
from ottla.records.record import Header, encode_headers
from ottla.records.varint import encode_varint

NULL: Final = -1


class BytesColumn(NamedTuple):
    """Bytes by row: where they start in ``data``, and how many they are, NULL if the row has none.

    ``data`` is always read-only: numba compiles anew for arrays that can be written to.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]


class ColumnChunk:
    """See :class:`ottla.clients.producer.record_chunk.RecordChunk`."""

    __slots__ = ("_all", "_bounds", "_headers", "_keys", "_numbers", "_target", "_timestamps", "_values", "count")

    def __init__(
        self,
        keys: BytesColumn,
        values: BytesColumn,
        timestamps: NDArray[np.int64],
        partitions: NDArray[np.int32],
        headers: BytesColumn,
    ) -> None:
        self.count = len(timestamps)
        self._numbers = partitions
        self._keys = keys
        self._values = values
        self._headers = headers
        self._timestamps = timestamps
        self._bounds = np.maximum(keys.lengths, 0) + np.maximum(values.lengths, 0) + headers.lengths + RECORD_BOUND
        self._target: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._all: NDArray[np.int64] | None = None

    @property
    def partitions(self) -> MutableSequence[int]:
        """See RecordChunk."""
        numbers: Any = self._numbers
        return numbers  # type: ignore[no-any-return]

    def rows_beyond(self, partitions_count: int) -> Sequence[int]:
        """See RecordChunk."""
        return np.flatnonzero(self._numbers >= partitions_count).tolist()

    def rows_above(self, limit_bytes: int) -> Sequence[int]:
        """See RecordChunk."""
        return np.flatnonzero(self._bounds > limit_bytes).tolist()

    def bound(self, row: int) -> int:
        """See RecordChunk."""
        return int(self._bounds[row])

    def exact_bound(self, row: int) -> int:
        """See RecordChunk."""
        bound = HEADER_BYTES + RECORD_OVERHEAD_MAX + max(1, int(self._headers.lengths[row]))
        for column in (self._keys, self._values):
            length = int(column.lengths[row])
            bound += len(encode_varint(length)) + max(0, length)
        return bound

    def key(self, row: int) -> bytes | None:
        """See RecordChunk."""
        return _bytes_of(self._keys, row)

    def value(self, row: int) -> bytes | None:
        """See RecordChunk."""
        return _bytes_of(self._values, row)

    def partition_by_key(self, partitions_count: int) -> None:
        """See RecordChunk."""
        kernels.partition_by_key(*self._keys, partitions_count, self._numbers)

    def shares(self, partitions_count: int, sticky_bytes: int, choose: Callable[[], int]) -> Iterator[Share]:
        """See RecordChunk."""
        numbers = self._numbers
        lowest, highest = int(numbers.min()), int(numbers.max())
        if lowest == highest < partitions_count:
            yield Share(lowest, range(self.count))
            return
        np.minimum(numbers, partitions_count, out=numbers)  # those to be left out: a group of their own
        first, last = 0, self.count
        ends_of_rounds = iter(self._rounds(sticky_bytes)) if lowest == STICKY else None
        while first < self.count:
            if ends_of_rounds is not None:
                last = next(ends_of_rounds)
                part = numbers[first:last]
                part[part == STICKY] = choose()
            order = np.empty(last - first, np.int64)
            ends = np.zeros(partitions_count + 1, np.int64)
            kernels.group_by_partition(numbers, first, last, order, ends)
            start = 0
            for partition, end in enumerate(ends[:-1].tolist()):
                if end > start:
                    rows: Any = order[start:end]
                    yield Share(partition, rows)
                start = end
            first = last

    def _rounds(self, sticky_bytes: int) -> Iterator[int]:
        """Where so many bytes of sticky records end, again and again up to the last row."""
        sums = np.cumsum(np.where(self._numbers == STICKY, self._bounds - HEADER_BYTES, 0))
        last, done_bytes = 0, 0
        while last < self.count:
            last = min(self.count, int(np.searchsorted(sums, done_bytes + sticky_bytes)) + 1)
            done_bytes = int(sums[last - 1])
            yield last

    def size_of(self, rows: Sequence[int]) -> int:
        """See RecordChunk."""
        bounds = self._bounds[rows.start : rows.stop] if isinstance(rows, range) else self._bounds[rows]
        return int(bounds.sum()) - HEADER_BYTES * len(rows)

    def encode(self, rows: Sequence[int], first: int, limit_bytes: int) -> Encoded:
        """See RecordChunk."""
        order: Any = rows
        if isinstance(rows, range):
            if self._all is None:
                self._all = np.arange(self.count)
            order = self._all[rows.start : rows.stop]
        limit_bytes -= HEADER_BYTES
        if len(self._target) < limit_bytes:
            self._target = np.empty(limit_bytes, np.uint8)
        summary = np.empty(kernels.SUMMARY_SIZE, np.int64)
        count = kernels.encode_records(
            order,
            first,
            len(order),
            self._timestamps,
            *self._keys,
            *self._values,
            *self._headers,
            self._target,
            limit_bytes,
            summary,
        )
        size_bytes, base_timestamp, max_timestamp = summary.tolist()
        return Encoded(self._target[:size_bytes].tobytes(), count, (base_timestamp, max_timestamp))

    def numbered(self, rows: Sequence[int], start: int) -> Sequence[int]:
        """See RecordChunk."""
        if isinstance(rows, range):
            return range(rows.start + start, rows.stop + start)
        order: Any = rows
        return order + start  # type: ignore[no-any-return]


def read_only(data: Any) -> NDArray[np.uint8]:
    """A buffer as an array that cannot be written to; None is no bytes."""
    found = np.frombuffer(b"" if data is None else data, np.uint8)
    found.flags.writeable = False
    return found


def constant_column(count: int, length: int) -> BytesColumn:
    """Nothing but NULL, or nothing but empty bytes."""
    return BytesColumn(read_only(None), np.zeros(count, np.int64), np.full(count, length, np.int64))


def column_of(items: Sequence[bytes | None]) -> BytesColumn:
    """A column of objects."""
    count = len(items)
    present: Any = items
    if None in items:
        present = [b"" if item is None else item for item in items]
    lengths = np.fromiter(map(len, present), np.int64, count)
    starts = np.zeros(count, np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    data = read_only(b"".join(present))
    if present is not items:
        lengths[[item is None for item in items]] = NULL
    return BytesColumn(data, starts, lengths)


def chunk_of(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: Sequence[int] | int,
    partitions: Sequence[int] | int,
    headers: Sequence[Sequence[Header]] | None,
) -> ColumnChunk:
    """A chunk of objects; one number stands for all rows."""
    count = len(values)
    return ColumnChunk(
        constant_column(count, NULL) if keys is None else column_of(keys),
        column_of(values),
        np.full(count, timestamps, np.int64),
        np.full(count, partitions, np.int32),
        constant_column(count, 0)
        if headers is None
        else column_of([encode_headers(row) if row else b"" for row in headers]),
    )


def _bytes_of(column: BytesColumn, row: int) -> bytes | None:
    length = int(column.lengths[row])
    if length < 0:
        return None
    start = int(column.starts[row])
    return column.data[start : start + length].tobytes()


def warm_up() -> None:
    """Compile all that there is, or read it from numba's cache."""
    first, count = np.zeros(1, np.int64), np.ones(1, np.int64)
    column = column_of([b"a"])
    sizes = np.empty(1, np.int64)
    encoded = np.empty(kernels.size_of_headers(first, count, column.lengths, column.lengths, sizes), np.uint8)
    kernels.encode_headers(first, count, *column, *column, encoded)
    chunk = chunk_of([b"a", b"b"], [b"", None], 0, STICKY, None)
    chunk.partition_by_key(2)
    for _, rows in chunk.shares(2, 1, int):
        chunk.encode(rows, 0, chunk.bound(0))
