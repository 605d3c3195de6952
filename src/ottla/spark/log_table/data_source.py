"""``spark.read.format("ottla-log")``: log directories, Ottla's or Apache Kafka's, read by Spark's executors."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from ottla.spark.kept_modules import MODULES
from ottla.spark.log_table.log_piece import LogTask
from ottla.spark.log_table.table_columns import table_schema
from ottla.spark.log_table.table_options import TableOptions, parse_table_options
from ottla.spark.plain_errors import plainly
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class OttlaLogDataSource(DataSource):
    """The format; options are those of :func:`parse_table_options`."""

    @classmethod
    def name(cls) -> str:
        """What ``format`` is told."""
        return "ottla-log"

    @plainly
    def schema(self) -> "StructType":
        """The columns that are asked for; a wrong option is told here, before anything runs."""
        return table_schema(parse_table_options(self.options).columns)

    @plainly
    def reader(self, schema: "StructType") -> "LogReader":  # noqa: ARG002 - Spark's signature
        """A reader, which plans on the driver and reads in tasks."""
        return LogReader(parse_table_options(self.options))


class LogReader(DataSourceReader):
    """Picklable: Spark carries it to the process that plans and to those that read."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options

    @plainly
    def partitions(self) -> Sequence[InputPartition]:
        """One for each task; the directories must be there on the driver, and the same on all executors."""
        from ottla.spark.log_table.piece_planner import plan_tasks

        # Without any Spark would make one of its own, with nothing in it.
        return [InputPartition(task) for task in plan_tasks(self._options) or [LogTask(())]]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        """A task's rows."""
        from ottla.spark.log_table.piece_reader import read_pieces

        make_prompt()
        task: LogTask = partition.value
        yield from read_pieces(task.pieces, self._options)
        MODULES.keep()
