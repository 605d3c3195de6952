"""``df.writeStream.format("ottla")``. Needs pyspark."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from ottla.spark.sink.batch_writer import RowsWritten
from ottla.spark.sink.plain_sink import write_plainly
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns, check_schema
from ottla.spark.sink.topic_check import require_topic

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class PlainStreamWriter(DataSourceStreamArrowWriter):
    """At least once: a batch that is run again is written again."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        return RowsWritten(write_plainly(iterator, self._options, self._columns))


def make_stream_writer(options: Mapping[str, str], schema: "StructType") -> DataSourceStreamArrowWriter:
    """As ``make_writer``; Spark asks for one before each batch, and for one more to commit it."""
    parsed = parse_sink_options(options)
    columns = check_schema(schema, parsed.topic, keeps_timestamps=parsed.keeps_timestamps)
    if parsed.topic is not None:
        require_topic(parsed.producer, parsed.topic)
    return PlainStreamWriter(parsed, columns)
