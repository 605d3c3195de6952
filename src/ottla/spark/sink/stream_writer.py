"""``df.writeStream.format("ottla")``. Needs pyspark.

Spark makes a writer before each batch in a planning process, which pickles it for the tasks, and another one in a
commit process to end the batch. So nothing that one knows comes to the other but through the tasks' messages.
"""

import sys
import uuid
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import WriterCommitMessage

from ottla.spark.plain_errors import plainly
from ottla.spark.pyspark_versions import DataSourceStreamArrowWriter
from ottla.spark.sink.commit_messages import RowsWritten, TransactionWritten, transactions_in
from ottla.spark.sink.commit_protocol import CommitProtocol
from ottla.spark.sink.plain_sink import write_plainly
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns, check_schema
from ottla.spark.sink.topic_check import require_topic

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

    from ottla.spark.sink.commit_actions import Action
    from ottla.spark.sink.transactional_sink import TaskPlace

_PLANNING: Final = "pyspark.sql.worker.write_into_data_source"
"""What Spark's planning process runs; its commit process runs another module."""
_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"
_RUN_ID: Final = "spark.jobGroup.id"
"""Local properties that Spark gives the tasks of a stream."""


class PlainStreamWriter(DataSourceStreamArrowWriter):
    """At least once: a batch that is run again is written again."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    @plainly
    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        return RowsWritten(write_plainly(iterator, self._options, self._columns))


class ExactlyOnceStreamWriter(DataSourceStreamArrowWriter):
    """Each batch is seen once by whoever reads committed records, whatever fails; docs/spark-exactly-once.md."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    def recover(self) -> None:
        """Before the tasks of a batch start: end what an earlier run decided and did not end, and abort the rest."""
        self._run(self._protocol().recover())

    @plainly
    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        from ottla.spark.sink.transactional_sink import write_in_transaction

        place = _place()
        transaction = write_in_transaction(iterator, self._options, self._columns, place)
        return TransactionWritten(transaction, place.query_id)

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """In a process of the driver, when all tasks are done."""
        query_id, transactions = transactions_in(messages)
        if transactions:
            self._run(self._protocol().commit(query_id, batchId, transactions))

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """In a process of the driver, when a task or the commit has failed."""
        query_id, transactions = transactions_in(messages)
        self._run(self._protocol().abort(query_id, batchId, transactions))

    def _protocol(self) -> CommitProtocol:
        return CommitProtocol(self._options.sink_id, lambda: uuid.uuid4().hex)

    def _run(self, steps: Generator["Action", Any, object]) -> None:
        from ottla.spark.sink.driver_cache import DRIVERS

        DRIVERS.run(self._options, steps)


def make_stream_writer(options: Mapping[str, str], schema: "StructType") -> DataSourceStreamArrowWriter:
    """As ``make_writer``; Spark asks for one before each batch, and for one more to commit it."""
    parsed = parse_sink_options(options)
    columns = check_schema(schema, parsed.topic, keeps_timestamps=parsed.keeps_timestamps)
    if parsed.topic is not None:
        require_topic(parsed.producer, parsed.topic)
    if not parsed.exactly_once:
        return PlainStreamWriter(parsed, columns)
    writer = ExactlyOnceStreamWriter(parsed, columns)
    if _is_planning():
        writer.recover()
    return writer


def _is_planning() -> bool:
    """Whether this process plans batches: then no task of the query runs. In doubt not; then a commit recovers."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    return _PLANNING in sys.modules or getattr(main, "name", None) == _PLANNING


def _place() -> "TaskPlace":
    from pyspark import TaskContext

    from ottla.spark.sink.transactional_sink import TaskPlace

    context = TaskContext.get()
    assert context is not None, "tasks have a context"
    query_id, run_id, batch_id = (context.getLocalProperty(name) for name in (_QUERY_ID, _RUN_ID, _BATCH_ID))
    return TaskPlace(query_id or "", run_id or "", int(batch_id or 0))
