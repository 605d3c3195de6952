"""Reads topics once, from here to there: ``spark.read.format("ottla")``."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ottla.common.errors import InvalidConfigError
from ottla.spark.columns import schema_of
from ottla.spark.kept_modules import MODULES
from ottla.spark.plain_errors import plainly
from ottla.spark.source.batch_ranges import clipped
from ottla.spark.source.cluster_offsets import missing_error
from ottla.spark.source.data_loss import report_losses
from ottla.spark.source.offset_bound import LATEST, Side
from ottla.spark.source.offset_client import OffsetClient
from ottla.spark.source.scan_task import ScanTask
from ottla.spark.source.source_options import SourceOptions, parse_source_options
from ottla.spark.source.task_planner import plan_tasks

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


def make_reader(options: Mapping[str, str], schema: "StructType") -> "OttlaReader":
    """The reader of a batch query; InvalidConfigError if the options, or a schema of the user's own, do not fit."""
    parsed = parse_source_options(options, is_stream=False)
    check_schema(parsed, schema)
    return OttlaReader(parsed)


def check_schema(options: SourceOptions, schema: "StructType") -> None:
    """InvalidConfigError if Spark expects other columns than there are: the user gave a schema."""
    expected = schema_of(options.columns)
    if [(each.name, each.dataType) for each in schema] != [(each.name, each.dataType) for each in expected]:
        raise InvalidConfigError(
            f"The schema is fixed: {expected.simpleString()}; options 'columns' and 'includeHeaders' choose from it"
        )


class OttlaReader(DataSourceReader):
    """``partitions`` runs once, where Spark plans; ``read`` in each task, of a copy."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._scan = options.scan_options()

    @plainly
    def partitions(self) -> list[ScanTask]:
        """Ask the cluster what there is, and plan. Raises KafkaError in one sentence."""
        options = self._options
        with OffsetClient(options) as client:
            topology = client.topology()
            error = missing_error(topology)
            if error is not None:
                raise error
            partitions = topology.partitions
            earliest, latest = client.earliest(partitions), client.ends(partitions, LATEST)
            start = client.resolve(options.starting, Side.STARTING, partitions, latest)
            end = client.resolve(options.ending, Side.ENDING, partitions, latest)
        ranges, losses = clipped(start, end, earliest, latest)
        report_losses(losses, fail=options.fail_on_data_loss)
        MODULES.keep()
        return [ScanTask(task) for task in plan_tasks(ranges, options.plan)] or [ScanTask(())]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        """The records of one task."""
        assert isinstance(partition, ScanTask), "Spark gives back what it was given"
        return partition.read(self._scan)
