"""What a task of the exactly-once sink does: it writes in a transaction, which it leaves open for the driver to end."""

import os
import uuid
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.clients.errors import InvalidTxnTimeoutError
from ottla.clients.sync import Producer
from ottla.common.errors import InvalidConfigError
from ottla.spark.sink.producer_cache import ProducerCache
from ottla.spark.sink.sink_options import SinkOptions
from ottla.spark.sink.sink_schema import SinkColumns
from ottla.spark.sink.table_sender import TableSender
from ottla.spark.sink.task_transaction import TaskTransaction
from ottla.spark.sink.transactional_ids import TransactionalIds
from ottla.spark.worker_socket import make_prompt

if TYPE_CHECKING:
    import pyarrow


class TaskPlace(NamedTuple):
    """Which query and batch a task belongs to; the run is the query's since it was started last."""

    query_id: str
    run_id: str
    batch_id: int


_ABORT_PATIENCE_MS: Final = 5_000
"""If it takes longer the driver does it, or the transaction's time runs out."""


class _Process:
    """What a worker keeps from one task to the next; a forked child begins anew."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.ids = TransactionalIds(lambda: uuid.uuid4().hex[:12])
        self.producers = ProducerCache(patience_ms=_ABORT_PATIENCE_MS)


_processes: Final[list[_Process]] = []


def _process() -> _Process:
    if not _processes or _processes[0].pid != os.getpid():
        _processes[:] = [_Process()]
    return _processes[0]


def write_in_transaction(
    batches: Iterable["pyarrow.RecordBatch"], options: SinkOptions, columns: SinkColumns, place: TaskPlace
) -> TaskTransaction | None:
    """Write all rows; None if there are none. What a task that fails has written is aborted, at once if that works."""
    make_prompt()
    rows = _from_first_row(batches)
    if rows is None:
        return None
    process = _process()
    transactional_id = process.ids.take(options.sink_id, place.run_id, place.batch_id)
    with process.producers.borrow({**options.producer, "transactional.id": transactional_id}) as producer:
        return _write(producer, rows, columns)


def _write(producer: Producer, batches: Iterable["pyarrow.RecordBatch"], columns: SinkColumns) -> TaskTransaction:
    try:
        producer.init_transactions()
    except InvalidTxnTimeoutError as error:
        raise InvalidConfigError(
            "The brokers do not allow transactions of 'kafka.transaction.timeout.ms': set it to at most their "
            f"transaction.max.timeout.ms ({error})"
        ) from error
    producer.begin_transaction()
    sender = TableSender(producer, columns)
    sender.send_all(batches)
    written = sender.finish()
    prepared = producer.prepare_transaction()
    assert prepared is not None, "there are rows"
    return TaskTransaction(*prepared, tuple(written))


def _from_first_row(batches: Iterable["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"] | None:
    rest = iter(batches)
    for batch in rest:
        if batch.num_rows:
            return chain((batch,), rest)
    return None
