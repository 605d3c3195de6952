"""``df.write.format("ottla")``. Needs pyspark."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ottla.spark.sink.plain_sink import write_plainly
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns, check_schema
from ottla.spark.sink.topic_check import require_topic

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


@dataclass
class RowsWritten(WriterCommitMessage):
    """What a task reports that wrote at least once."""

    rows_count: int


class PlainBatchWriter(DataSourceArrowWriter):
    """At least once: nothing to do at the end, and a failed job leaves what its tasks wrote."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        return RowsWritten(write_plainly(iterator, self._options, self._columns))


def make_writer(options: Mapping[str, str], schema: "StructType") -> DataSourceArrowWriter:
    """The writer of a query; InvalidConfigError or another KafkaError, in one sentence, if it cannot work."""
    parsed = parse_sink_options(options, write_id=uuid.uuid4().hex[:16])
    columns = check_schema(schema, parsed.topic, keeps_timestamps=parsed.keeps_timestamps)
    if parsed.topic is not None:
        require_topic(parsed.producer, parsed.topic)
    return PlainBatchWriter(parsed, columns)
