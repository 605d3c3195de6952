"""``df.write.format("ottla")``. Needs pyspark.

Clients are imported where they are used: Spark starts a process of its own for each step of a write, and one that only
commits needs none.
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ottla.common.errors import InvalidConfigError
from ottla.spark.plain_errors import plainly
from ottla.spark.sink.commit_messages import RowsWritten, TransactionWritten, transactions_in
from ottla.spark.sink.commit_protocol import CommitProtocol
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns, check_schema

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_BATCH_ID = 0


class PlainBatchWriter(DataSourceArrowWriter):
    """At least once: nothing to do at the end, and a failed job leaves what its tasks wrote."""

    def __init__(self, options: SinkOptions, columns: SinkColumns) -> None:
        self._options = options
        self._columns = columns

    @plainly
    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        from ottla.spark.sink.plain_sink import write_plainly

        return RowsWritten(write_plainly(iterator, self._options, self._columns))


class ExactlyOnceBatchWriter(DataSourceArrowWriter):
    """All or nothing: what tasks wrote becomes visible when the driver commits, or never."""

    def __init__(self, options: SinkOptions, columns: SinkColumns, write_id: str) -> None:
        self._options = options
        self._columns = columns
        self._write_id = write_id

    @plainly
    def write(self, iterator: Iterator["pyarrow.RecordBatch"]) -> WriterCommitMessage:
        """In a task."""
        from ottla.spark.sink.transactional_sink import TaskPlace, write_in_transaction

        place = TaskPlace(self._write_id, self._write_id, _BATCH_ID)
        return TransactionWritten(write_in_transaction(iterator, self._options, self._columns, place), self._write_id)

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """In a process of the driver, when all tasks are done."""
        from ottla.spark.sink.driver_cache import DRIVERS

        transactions = transactions_in(messages)[1]
        if transactions:
            DRIVERS.run(self._options, self._protocol().commit(self._write_id, _BATCH_ID, transactions))

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """In a process of the driver, when a task or the commit has failed."""
        from ottla.spark.sink.driver_cache import DRIVERS

        steps = self._protocol().abort(self._write_id, _BATCH_ID, transactions_in(messages)[1])
        DRIVERS.run(self._options, steps)

    def _protocol(self) -> CommitProtocol:
        return CommitProtocol(self._options.sink_id, _new_id, forgets=True)


def make_writer(options: Mapping[str, str], schema: "StructType", *, overwrite: bool = False) -> DataSourceArrowWriter:
    """The writer of a query; InvalidConfigError or another KafkaError, in one sentence, if it cannot work."""
    if overwrite:
        raise InvalidConfigError("A topic cannot be overwritten: write with mode('append'), or INSERT INTO in SQL")
    write_id = _new_id()
    parsed = parse_sink_options(options, write_id=write_id)
    columns = check_schema(schema, parsed.topic, keeps_timestamps=parsed.keeps_timestamps)
    if parsed.topic is not None:
        from ottla.spark.sink.topic_check import require_topic

        require_topic(parsed.producer, parsed.topic)
    if not parsed.exactly_once:
        return PlainBatchWriter(parsed, columns)
    if not parsed.sink_id.endswith(write_id):  # a name that an earlier write may have had
        from ottla.spark.sink.driver_cache import DRIVERS

        DRIVERS.run(parsed, CommitProtocol(parsed.sink_id, _new_id).recover())
    return ExactlyOnceBatchWriter(parsed, columns, write_id)


def _new_id() -> str:
    return uuid.uuid4().hex
