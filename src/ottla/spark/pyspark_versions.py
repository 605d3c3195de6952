"""What PySpark lacks before 4.2, told apart by what can be imported; no other module looks.

A stream's reader of 4.0 and 4.1 is not told where a batch begins nor how much it may take, and knows no
Trigger.AvailableNow: ``StartlessReader`` finds out what it can. A stream's writer of 4.0 gets rows instead of Arrow's
batches, and 4.0 has neither functions of Arrow's arrays nor approx_top_k.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, InputPartition, WriterCommitMessage

from ottla.spark.errors import SparkUnavailableError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
    from pyspark.sql.types import DataType, StructType

    from ottla.spark.source.stream_reader import OttlaStreamReader

    READERS_ARE_TOLD: bool
    STREAMS_WRITE_ARROW: bool
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxRows,
            ReadMinRows,
            SupportsTriggerAvailableNow,
        )

        READERS_ARE_TOLD: Final = True
    except ImportError:
        READERS_ARE_TOLD: Final = False

        class ReadLimit:
            """4.2's."""

        class ReadAllAvailable(ReadLimit):
            """4.2's."""

        @dataclass
        class ReadMinRows(ReadLimit):
            """4.2's."""

            min_rows: int

        @dataclass
        class ReadMaxRows(ReadLimit):
            """4.2's."""

            max_rows: int

        class SupportsTriggerAvailableNow:
            """4.2's."""

    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter

        STREAMS_WRITE_ARROW: Final = True
    except ImportError:
        STREAMS_WRITE_ARROW: Final = False
        DataSourceStreamArrowWriter = DataSourceStreamWriter

__all__ = [
    "DataSourceStreamArrowWriter",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "ReadMinRows",
    "SupportsTriggerAvailableNow",
]

_ROWS: Final = 10_000

Nested = dict[str, dict[str, int]]


def tell_limits(say: Callable[[str], None]) -> None:
    """Tell people whose batches are limited, if this PySpark cannot keep to it."""
    if not READERS_ARE_TOLD:
        say("before Spark 4.2 the first batch of a run takes all that is there, and with --once there is no other")


def as_stream_reader(reader: "OttlaStreamReader") -> DataSourceStreamReader:
    """The reader as this PySpark uses it."""
    return reader if READERS_ARE_TOLD else StartlessReader(reader)


class StartlessReader(DataSourceStreamReader):
    """For a Spark that does not say where the next batch begins.

    It begins where the last one ended; of a query that is taken up again Spark plans an empty batch first, from the
    last logged offsets to these. Trigger.AvailableNow takes the first answer for the end of its run, and nobody says
    that it does. So the first answer of every run is all that is there, and limits hold from the second on.
    """

    def __init__(self, reader: "OttlaStreamReader") -> None:
        self._reader = reader
        self._begun: Nested | None = None
        self._has_answered = False

    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        """Where the query begins."""
        return self._reader.initialOffset()

    def latestOffset(self) -> Nested:  # type: ignore[override] # noqa: N802 - as it was before 4.2
        """Where the next batch ends."""
        if self._has_answered and self._begun is not None:
            self._begun = self._reader.latestOffset(self._begun, self._reader.getDefaultReadLimit())
        else:
            self._begun = self._reader.first_end(self._begun)
            self._has_answered = True
        return self._begun

    def partitions(self, start: Nested, end: Nested) -> Any:
        """The tasks of a batch."""
        self._begun = end
        return self._reader.partitions(start, end)

    def read(self, partition: InputPartition) -> Any:
        """The records of one task; in the executor."""
        return self._reader.read(partition)

    def commit(self, end: Nested) -> None:
        """All up to here is processed."""
        self._reader.commit(end)

    def stop(self) -> None:
        """Close all connections."""
        self._reader.stop()


def as_stream_writer(writer: "DataSourceStreamArrowWriter", schema: "StructType") -> DataSourceStreamWriter:
    """The writer as this PySpark uses it."""
    return writer if STREAMS_WRITE_ARROW else RowWriter(writer, schema)


class RowWriter(DataSourceStreamWriter):
    """For a Spark that gives a stream's writer rows."""

    def __init__(self, writer: "DataSourceStreamArrowWriter", schema: "StructType") -> None:
        self._writer = writer
        self._schema = schema

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """In a task."""
        return self._writer.write(arrow_batches(iterator, self._schema))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """In a process of the driver, when all tasks are done."""
        self._writer.commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """In a process of the driver, when a task or the commit has failed."""
        self._writer.abort(messages, batchId)


def arrow_batches(rows: Iterable[Any], schema: "StructType") -> "Iterator[pyarrow.RecordBatch]":
    """The rows as Arrow's batches."""
    from pyspark.sql.conversion import LocalDataToArrowConversion

    rest = iter(rows)
    while chunk := list(islice(rest, _ROWS)):
        yield from LocalDataToArrowConversion.convert(chunk, schema, False).to_batches()


def utc_arrow_type(data_type: "DataType") -> "pyarrow.DataType":
    """Arrow's type for one of Spark's; timestamps are in UTC, which had not to be said before 4.2."""
    from pyspark.sql.pandas.types import to_arrow_type

    if "timezone" in signature(to_arrow_type).parameters:
        return to_arrow_type(data_type, timezone="UTC")
    return to_arrow_type(data_type)


def top_values(column: "Column", count: int, tracked: int) -> "Column":
    """An aggregate: the most frequent values, as an array of ``struct<item, …>``. Spark 4.0 has none, and gives one."""
    from pyspark.sql import functions as f

    if STREAMS_WRITE_ARROW:  # 4.1's
        return f.call_function("approx_top_k", column, f.lit(count), f.lit(tracked))
    return f.array(f.struct(f.max(column).alias("item")))


def require_arrow_functions(what: str) -> None:
    """SparkUnavailableError if this PySpark has no functions of Arrow's arrays, which ``what`` needs."""
    try:
        from pyspark.sql.pandas.functions import arrow_udf  # noqa: F401
    except ImportError:
        from pyspark.version import __version__

        raise SparkUnavailableError(f"{what} needs PySpark 4.1 or newer, and this is {__version__}") from None
