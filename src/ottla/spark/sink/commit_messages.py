"""What tasks tell the driver. Needs pyspark."""

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from ottla.spark.sink.task_transaction import TaskTransaction


@dataclass
class RowsWritten(WriterCommitMessage):
    """Of a task that wrote at least once."""

    rows_count: int


@dataclass
class TransactionWritten(WriterCommitMessage):
    """Of a task that wrote exactly once: its open transaction, None if it had no rows, and its query."""

    transaction: TaskTransaction | None
    query_id: str


def transactions_in(messages: Iterable[WriterCommitMessage | None]) -> tuple[str, list[TaskTransaction]]:
    """The query and all transactions; those of tasks that failed are missing."""
    found = [each for each in messages if isinstance(each, TransactionWritten)]
    query_id = found[0].query_id if found else ""
    return query_id, [each.transaction for each in found if each.transaction is not None]
