"""Some of the records of a ``send_batch``, and how they become batches; the plain implementation, for lists.

:class:`ottla.clients.producer.record_columns.ColumnChunk` does the same with columns and compiled code.
"""

from collections.abc import Callable, Iterator, MutableSequence, Sequence
from typing import Any, Final, NamedTuple, Protocol

from ottla.clients.producer.batch_builder import RECORD_OVERHEAD_MAX, BatchBuilder, record_size_upper_bound
from ottla.clients.producer.partitioner import partition_for_key
from ottla.records.batch import HEADER_BYTES
from ottla.records.compression import Compression
from ottla.records.record import Header, encode_headers
from ottla.records.varint import VARINT_BYTES_MAX

STICKY: Final = -1
"""The partition of records that leave it to the built-in partitioner."""
RECORD_BOUND: Final = HEADER_BYTES + RECORD_OVERHEAD_MAX + 2 * VARINT_BYTES_MAX + 1
"""What a record takes at most beside its key, value and headers, in a batch of its own."""


class Encoded(NamedTuple):
    """The records of a batch that is not compressed yet; timestamps are the first's and the latest."""

    payload: bytes
    records_count: int
    timestamps_ms: tuple[int, int]


class Share(NamedTuple):
    """The rows of a chunk that go to a partition, in their order; STICKY: any partition, anew for each batch."""

    partition: int
    rows: Sequence[int]


class RecordChunk(Protocol):
    """Rows are counted from 0. Each has a partition: that which it asks for, or is given, or STICKY.

    A partition that the topic does not have takes a row out: ``shares`` does not give it to anybody.
    """

    count: int

    @property
    def partitions(self) -> MutableSequence[int]:
        """Of each row."""

    def rows_beyond(self, partitions_count: int) -> Sequence[int]:
        """Those that ask for partitions that there are not."""

    def rows_above(self, limit_bytes: int) -> Sequence[int]:
        """Those whose bound is more than this."""

    def bound(self, row: int) -> int:
        """What a record takes at most, the header of its batch included."""

    def exact_bound(self, row: int) -> int:
        """The same as ``send`` has it, which may be some bytes less."""

    def key(self, row: int) -> bytes | None:
        """The key of a record."""

    def value(self, row: int) -> bytes | None:
        """The value of a record."""

    def partition_by_key(self, partitions_count: int) -> None:
        """Give each row that has a key and no partition the one that ``send`` would choose."""

    def shares(self, partitions_count: int, sticky_bytes: int, choose: Callable[[], int]) -> Iterator[Share]:
        """The rows by partition.

        Where some leave the partition open and others do not, ``choose`` decides for so many bytes of the former at a
        time, so that all rows of a partition stay in order.
        """

    def size_of(self, rows: Sequence[int]) -> int:
        """The sum of the bounds of these, without headers of batches."""

    def encode(self, rows: Sequence[int], first: int, limit_bytes: int) -> Encoded:
        """One batch of as many of these rows, from the ``first`` on, as fit; at least one, which must."""

    def numbered(self, rows: Sequence[int], start: int) -> Sequence[int]:
        """The same rows, where those before the chunk count too."""


class RowChunk:
    """Records in lists; needs nothing but Python."""

    __slots__ = ("_bounds", "_headers", "_keys", "_partitions", "_timestamps", "_values", "count")

    def __init__(
        self,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        timestamps: Sequence[int],
        partitions: list[int],
        headers: Sequence[Sequence[Header]] | None,
    ) -> None:
        self.count = len(values)
        self._partitions = partitions
        self._keys = keys
        self._values = values
        self._timestamps = timestamps
        self._headers: Sequence[Sequence[Header]] = [()] * self.count if headers is None else headers
        bounds = [RECORD_BOUND if value is None else RECORD_BOUND + len(value) for value in values]
        if keys.count(None) < self.count:
            bounds = [bound if key is None else bound + len(key) for bound, key in zip(bounds, keys, strict=True)]
        if headers is not None:
            bounds = [
                bound + len(encode_headers(row)) if row else bound for bound, row in zip(bounds, headers, strict=True)
            ]
        self._bounds = bounds

    @property
    def partitions(self) -> MutableSequence[int]:
        """See RecordChunk."""
        return self._partitions

    def rows_beyond(self, partitions_count: int) -> Sequence[int]:
        """See RecordChunk."""
        if max(self._partitions) < partitions_count:
            return ()
        return [row for row, partition in enumerate(self._partitions) if partition >= partitions_count]

    def rows_above(self, limit_bytes: int) -> Sequence[int]:
        """See RecordChunk."""
        if max(self._bounds) <= limit_bytes:
            return ()
        return [row for row, bound in enumerate(self._bounds) if bound > limit_bytes]

    def bound(self, row: int) -> int:
        """See RecordChunk."""
        return self._bounds[row]

    def exact_bound(self, row: int) -> int:
        """See RecordChunk."""
        return record_size_upper_bound(self._keys[row], self._values[row], self._headers[row])

    def key(self, row: int) -> bytes | None:
        """See RecordChunk."""
        return self._keys[row]

    def value(self, row: int) -> bytes | None:
        """See RecordChunk."""
        return self._values[row]

    def partition_by_key(self, partitions_count: int) -> None:
        """See RecordChunk."""
        partitions = self._partitions
        for row, key in enumerate(self._keys):
            if key is not None and partitions[row] == STICKY:
                partitions[row] = partition_for_key(key, partitions_count)

    def shares(self, partitions_count: int, sticky_bytes: int, choose: Callable[[], int]) -> Iterator[Share]:
        """See RecordChunk."""
        partitions = self._partitions
        found = set(partitions)
        if len(found) == 1 and max(found) < partitions_count:
            yield Share(partitions[0], range(self.count))
            return
        first = 0
        while first < self.count:
            last = self._round(first, sticky_bytes) if STICKY in found else self.count
            chosen = choose() if STICKY in found else STICKY
            groups: dict[int, list[int]] = {}
            for row in range(first, last):
                partition = chosen if partitions[row] == STICKY else partitions[row]
                if partition < partitions_count:
                    groups.setdefault(partition, []).append(row)
            for partition in sorted(groups):
                yield Share(partition, groups[partition])
            first = last

    def _round(self, first: int, sticky_bytes: int) -> int:
        """Where so many bytes of sticky records from ``first`` on end."""
        for row in range(first, self.count):
            if self._partitions[row] == STICKY:
                sticky_bytes -= self._bounds[row] - HEADER_BYTES
                if sticky_bytes <= 0:
                    return row + 1
        return self.count

    def size_of(self, rows: Sequence[int]) -> int:
        """See RecordChunk."""
        return sum(map(self._bounds.__getitem__, rows)) - HEADER_BYTES * len(rows)

    def encode(self, rows: Sequence[int], first: int, limit_bytes: int) -> Encoded:
        """See RecordChunk."""
        builder = BatchBuilder(limit_bytes, limit_bytes)
        append: Any = builder.append
        keys, values, timestamps, headers = self._keys, self._values, self._timestamps, self._headers
        for index in range(first, len(rows)):
            row = rows[index]
            if append(timestamps[row], keys[row], values[row], headers[row]) < 0:
                break
        return Encoded(
            builder.build(Compression.NONE, None),
            builder.records_count,
            (builder.base_timestamp_ms, builder.max_timestamp_ms),
        )

    def numbered(self, rows: Sequence[int], start: int) -> Sequence[int]:
        """See RecordChunk."""
        if isinstance(rows, range):
            return range(rows.start + start, rows.stop + start)
        return [row + start for row in rows]
