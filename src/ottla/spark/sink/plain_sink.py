"""Writing at least once: a task's rows are acknowledged before it ends, and a task that is run again repeats them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.spark.sink.producer_cache import PRODUCERS
from ottla.spark.sink.sink_options import SinkOptions
from ottla.spark.sink.sink_schema import SinkColumns
from ottla.spark.sink.table_sender import TableSender
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    import pyarrow


def write_plainly(batches: Iterable["pyarrow.RecordBatch"], options: SinkOptions, columns: SinkColumns) -> int:
    """Write all rows; how many. Raises the KafkaError of the first that was not acknowledged."""
    make_prompt()
    with PRODUCERS.borrow(options.producer) as producer:
        sender = TableSender(producer, columns)
        sender.send_all(batches)
        return sum(each.records_count for each in sender.finish())
