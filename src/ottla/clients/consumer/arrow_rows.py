"""Arrow batches by way of Python rows: slower, and all that is needed is pyarrow."""

from typing import Any

import pyarrow as pa

from ottla.clients.consumer.arrow_schema import (
    ALL_PARTS,
    MICROSECONDS,
    TIMESTAMP_MS_MAX,
    Layout,
    Part,
    is_in_microseconds,
    partition_column,
    topic_column,
)
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
        match part:
            case Part.TOPIC:
                return topic_column(self._partition, len(records), field)
            case Part.PARTITION:
                return partition_column(self._partition, len(records), field)
            case Part.OFFSET:
                return pa.array([record.offset for record in records], field.type)
            case Part.TIMESTAMP:
                times = [record.timestamp_ms for record in records]
                if is_in_microseconds(field):
                    bound = TIMESTAMP_MS_MAX
                    times = [max(min(time_ms, bound), -bound) * MICROSECONDS for time_ms in times]
                return pa.array(times, field.type)
            case Part.TIMESTAMP_TYPE:
                return pa.array([int(record.timestamp_type) for record in records], field.type)
            case Part.KEY:
                return pa.array([record.key for record in records], field.type)
            case Part.VALUE:
                return pa.array([record.value for record in records], field.type)
            case Part.HEADERS:
                none: list[Any] | None = None if field.nullable else []
                headers = [[{"key": key, "value": value} for key, value in record.headers] for record in records]
                return pa.array([each or none for each in headers], field.type)
