"""What Spark sends to a task of a scan."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.scan_options import ScanOptions
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    import pyarrow


class ScanTask(InputPartition):
    """The ranges that one task reads; none if there is nothing to read."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(None)
        self.ranges = ranges

    def read(self, options: ScanOptions) -> "Iterator[pyarrow.RecordBatch]":
        """The records; in the executor."""
        make_prompt()
        if not self.ranges:
            return iter(())
        from ottla.spark.scan.range_reader import read_ranges

        return read_ranges(self.ranges, options)
