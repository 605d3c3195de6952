"""Arrow batches by way of Python rows: slower, and all that is needed is pyarrow."""

import pyarrow as pa

from ottla.clients.consumer.arrow_schema import SCHEMA, constant_columns
from ottla.clients.consumer.batch_decoder import RawRecord, decode_batch
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch


class RowBuilder:
    """Rows of one partition, appended batch by batch; ``finish`` makes the RecordBatch."""

    __slots__ = ("_max_rows", "_partition", "_records", "size_in_bytes")

    def __init__(self, partition: TopicPartition, max_rows: int, bytes_hint: int) -> None:  # noqa: ARG002
        """As ColumnBuilder, which can use the hint."""
        self._partition = partition
        self._max_rows = max_rows
        self._records: list[RawRecord] = []
        self.size_in_bytes = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._records)

    def append_run(self, fetch: CompletedFetch) -> int:  # noqa: ARG002
        """See ColumnBuilder; Python has no faster way for many batches than one after the other."""
        return 0

    def append(self, batch: RecordBatch, first_offset: int) -> tuple[int, int | None]:
        """See ColumnBuilder."""
        records = [record for record in decode_batch(batch, self._partition) if record.offset >= first_offset]
        taken = records[: self._max_rows - len(self._records)]
        self._records += taken
        self.size_in_bytes += sum(len(record.key or b"") + len(record.value or b"") for record in taken)
        return len(taken), None if len(taken) == len(records) else taken[-1].offset + 1 if taken else first_offset

    def finish(self) -> "pa.RecordBatch":
        """All rows as Arrow."""
        records = self._records
        arrays = [
            *constant_columns(self._partition, len(records)),
            pa.array([record.offset for record in records], pa.int64()),
            pa.array([record.timestamp_ms for record in records], pa.timestamp("ms")),
            pa.array([int(record.timestamp_type) for record in records], pa.int8()),
            pa.array([record.key for record in records], pa.binary()),
            pa.array([record.value for record in records], pa.binary()),
            pa.array(
                [[{"key": key, "value": value} for key, value in record.headers] for record in records],
                SCHEMA.field("headers").type,
            ),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
