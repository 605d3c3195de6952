"""A query without Spark: tasks and drivers as Spark would run them, one after the other, with crashes between steps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import pyarrow as pa

from ottla.clients.admin.transactions import TransactionState
from ottla.clients.sync import Admin, Consumer
from ottla.common.topic_partition import TopicPartition
from ottla.spark.sink.commit_actions import Action
from ottla.spark.sink.commit_driver import CommitDriver
from ottla.spark.sink.commit_protocol import CommitProtocol
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns
from ottla.spark.sink.task_transaction import TaskTransaction
from ottla.spark.sink.transactional_sink import TaskPlace, write_in_transaction

QUERY = "query-1"
_ids = count()
_runs = count()


class CrashError(Exception):
    """The driver is gone."""


class CrashAt:
    """Crashes at the n-th moment: before or after each action; `moments` counts those that were passed."""

    def __init__(self, moment: int | None = None) -> None:
        self.moment = moment
        self.moments: list[tuple[str, bool]] = []

    def __call__(self, action: Action, is_done: bool) -> None:
        if self.moment == len(self.moments):
            raise CrashError
        self.moments.append((type(action).__name__, is_done))


class Sink:
    """A query's sink on a cluster: what Spark's tasks, planning and commit processes do with it."""

    def __init__(self, bootstrap: str, topic: str, **options: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.given = {
            "kafka.bootstrap.servers": bootstrap,
            "topic": topic,
            "exactlyOnce": "true",
            "kafka.transactional.id": f"sink-{topic}",
            **options,
        }
        self.options: SinkOptions = parse_sink_options(self.given)
        self.protocol = CommitProtocol(self.options.sink_id, lambda: f"record-{next(_ids)}")

    def run_tasks(
        self, rows: Sequence[bytes], *, tasks: int, batch_id: int = 0, run_id: str | None = None
    ) -> list[TaskTransaction]:
        """Run the tasks of a batch, each with its share of the rows; those without rows have no transaction."""
        place = TaskPlace(QUERY, f"run-{next(_runs)}" if run_id is None else run_id, batch_id)
        found = (self.run_task(rows[number::tasks], place) for number in range(tasks))
        return [each for each in found if each is not None]

    def run_task(self, rows: Sequence[bytes], place: TaskPlace) -> TaskTransaction | None:
        """Run one task."""
        batch = pa.record_batch({"value": pa.array(rows, pa.binary())})
        return write_in_transaction([batch], self.options, SinkColumns(("value",), self.topic), place)

    @contextmanager
    def driver(self, crash: CrashAt | None = None) -> Iterator[CommitDriver]:
        """A process of the driver."""
        driver = CommitDriver(self.options, on_step=crash or CrashAt())
        try:
            yield driver
        finally:
            driver.close()

    def recover(self, crash: CrashAt | None = None) -> None:
        """Plan a batch."""
        with self.driver(crash) as driver:
            driver.run(self.protocol.recover())

    def commit(self, transactions: Sequence[TaskTransaction], batch_id: int = 0, crash: CrashAt | None = None) -> bool:
        """Commit a batch; whether it was written now."""
        with self.driver(crash) as driver:
            return driver.run(self.protocol.commit(QUERY, batch_id, transactions))

    def abort(self, transactions: Sequence[TaskTransaction], batch_id: int = 0) -> None:
        """Spark gives up the batch."""
        with self.driver() as driver:
            driver.run(self.protocol.abort(QUERY, batch_id, transactions))

    def fence(self, transactions: Sequence[TaskTransaction]) -> None:
        """Abort transactions as a coordinator does whose patience is over, and wait until their markers are there."""
        with Admin(bootstrap_servers=self.bootstrap) as admin:
            admin.fence_producers([each.transactional_id for each in transactions])

    def end_some(self, transactions: Sequence[TaskTransaction]) -> None:
        """Commit a few of a decision's transactions, as a driver that is killed in the middle has done."""
        from ottla.clients.producer.prepared_transaction import PreparedTransaction

        with Admin(bootstrap_servers=self.bootstrap) as admin:
            errors = admin.end_transactions([PreparedTransaction(*each[:4]) for each in transactions], committed=True)
        assert not any(errors.values())

    def open_transactions(self) -> list[str]:
        """What holds up readers of committed records."""
        with Admin(bootstrap_servers=self.bootstrap) as admin:
            found = admin.list_transactions(states=[TransactionState.ONGOING])
        return [name for name in found if name.startswith(self.options.sink_id)]

    def committed(self) -> Counter[bytes]:
        """All that a reader of committed records sees, now that nothing is open."""
        found: Counter[bytes] = Counter()
        with Consumer(
            {"bootstrap.servers": self.bootstrap, "isolation.level": "read_committed", "enable.auto.commit": "false"}
        ) as consumer:
            partitions = [TopicPartition(self.topic, each.partition) for each in consumer.partitions_for(self.topic)]
            consumer.assign(partitions)
            consumer.seek_to_beginning(*partitions)
            ends = consumer.end_offsets(partitions)
            while any(consumer.position(each) < ends[each] for each in partitions):
                found.update(record.value or b"" for record in consumer.poll(200))
        return found
