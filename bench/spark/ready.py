"""Rows that are ready: one Arrow batch in memory, handed to Spark again and again. What that takes is Spark's own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ottla.spark.columns import DEFAULT_COLUMNS, arrow_schema_of, schema_of
from ottla.spark.kept_modules import MODULES
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_BATCH_BYTES = 3 * 1024 * 1024
_BATCH_ROWS = 32 * 1024


class ReadySource(DataSource):
    """Options: ``rows`` in all, ``valueBytes``, ``tasks``; the columns are those of a scan."""

    @classmethod
    def name(cls) -> str:
        """The word after ``format``."""
        return "ready"

    def schema(self) -> "StructType":
        """All columns that are read by default."""
        return schema_of(DEFAULT_COLUMNS)

    def reader(self, schema: "StructType") -> DataSourceReader:  # noqa: ARG002 - Spark's signature
        """For ``spark.read``."""
        return ReadyReader(int(self.options["rows"]), int(self.options["valueBytes"]), int(self.options["tasks"]))


class ReadyReader(DataSourceReader):
    """Equal tasks."""

    def __init__(self, rows: int, value_bytes: int, tasks: int) -> None:
        self._rows = rows
        self._value_bytes = value_bytes
        self._tasks = tasks

    def partitions(self) -> list[InputPartition]:
        """So many tasks."""
        return [InputPartition(number) for number in range(self._tasks)]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":  # noqa: ARG002 - Spark's signature
        """One batch of the size that a scan's have, as often as it takes."""
        make_prompt()
        left = self._rows // self._tasks
        batch = _batch(min(_BATCH_ROWS, _BATCH_BYTES // self._value_bytes), self._value_bytes)
        while left > 0:
            yield batch.slice(0, left)
            left -= batch.num_rows
        MODULES.keep()


def _batch(rows: int, value_bytes: int) -> "pyarrow.RecordBatch":
    import pyarrow as pa

    columns = {
        "key": [None] * rows,
        "value": [bytes(value_bytes)] * rows,
        "topic": ["spark-1"] * rows,
        "partition": [0] * rows,
        "offset": list(range(rows)),
        "timestamp": [1_700_000_000_000_000] * rows,
        "timestampType": [0] * rows,
    }
    return pa.RecordBatch.from_pydict(columns, schema=arrow_schema_of(DEFAULT_COLUMNS))
