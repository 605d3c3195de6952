"""Arrow batches by way of Python rows: slower, and without numba."""

from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.clients.consumer.arrow_arrays import (
    bytes_array,
    headers_array,
    number_array,
    partition_array,
    timestamp_array,
    topic_array,
)
from ottla.clients.consumer.arrow_schema import ALL_PARTS, Layout, Part
from ottla.clients.consumer.batch_decoder import RawRecord, decode_batch
from ottla.clients.consumer.completed_fetch import NO_END, CompletedFetch
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch


class RowBuilder:
    """Rows of one partition, appended batch by batch; ``finish`` makes the RecordBatch."""

    __slots__ = ("_layout", "_max_rows", "_partition", "_records", "size_in_bytes")

    def __init__(
        self,
        partition: TopicPartition,
        max_rows: int,
        bytes_hint: int,  # noqa: ARG002
        layout: Layout = ALL_PARTS,
    ) -> None:
        """As ColumnBuilder, which can use the hint."""
        self._partition = partition
        self._max_rows = max_rows
        self._layout = layout
        self._records: list[RawRecord] = []
        self.size_in_bytes = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._records)

    def append_run(self, fetch: CompletedFetch, rows_enough: int) -> int:  # noqa: ARG002
        """See ColumnBuilder; Python has no faster way for many batches than one after the other."""
        return 0

    def append(self, batch: RecordBatch, first_offset: int, until_offset: int = NO_END) -> tuple[int, int | None]:
        """See ColumnBuilder."""
        decoded = decode_batch(batch, self._partition)
        records = [record for record in decoded if first_offset <= record.offset < until_offset]
        taken = records[: self._max_rows - len(self._records)]
        self._records += taken
        self.size_in_bytes += sum(len(record.key or b"") + len(record.value or b"") for record in taken)
        return len(taken), None if len(taken) == len(records) else taken[-1].offset + 1 if taken else first_offset

    def finish(self) -> "pa.RecordBatch":
        """All rows as Arrow."""
        arrays = [self._column(part, field) for part, field in self._layout.fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self._layout.schema)

    def _column(self, part: Part, field: Any) -> "pa.Array":
        records = self._records
        rows = len(records)
        match part:
            case Part.TOPIC:
                return topic_array(self._partition, rows, field)
            case Part.PARTITION:
                return partition_array(self._partition, rows, field)
            case Part.OFFSET:
                return number_array(_int64(records, "offset"), field.type)
            case Part.TIMESTAMP:
                return timestamp_array(_int64(records, "timestamp_ms"), field)
            case Part.TIMESTAMP_TYPE:
                kind = field.type.to_pandas_dtype()
                return number_array(_int64(records, "timestamp_type").astype(kind), field.type)
            case Part.KEY:
                return bytes_array([record.key for record in records])
            case Part.VALUE:
                return bytes_array([record.value for record in records])
            case Part.HEADERS:
                ends = np.fromiter(accumulate((len(each.headers) for each in records), initial=0), np.int32, rows + 1)
                headers = list(chain.from_iterable(record.headers for record in records))
                keys = bytes_array([header.key.encode() for header in headers], pa.string())
                return headers_array(ends, keys, bytes_array([header.value for header in headers]), rows, field)


def _int64(records: list[RawRecord], name: str) -> NDArray[np.int64]:
    return np.fromiter((getattr(record, name) for record in records), np.int64, len(records))
