"""Zombie and speculative tasks, two drivers at once, batches that fail, records that are gone: against a broker."""

import asyncio
from collections import Counter

import pytest

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.errors import InvalidProducerEpochError, ProducerFencedError
from ottla.clients.sync import Admin
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import AdminConfig
from ottla.spark.sink.aborted_records import find_end
from ottla.spark.sink.commit_actions import Action, Record, Status
from ottla.spark.sink.commit_driver import CommitDriver
from ottla.spark.sink.sink_errors import BatchFailedError, OldCheckpointError, RecordsLostError
from ottla.spark.sink.task_transaction import TaskTransaction
from ottla.spark.sink.transactional_sink import TaskPlace
from tests.node import Node
from tests.spark.sink.sink_world import QUERY, CrashAt, CrashError, Sink

ROWS = [f"row-{number}".encode() for number in range(20)]
AFTER_RECORD = 5


def test_an_attempt_that_spark_did_not_take_is_aborted(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    taken = sink.run_tasks(ROWS, tasks=2)
    sink.run_tasks(ROWS[::2], tasks=1)  # the first task once more, elsewhere
    assert len(sink.open_transactions()) == 3
    assert sink.commit(taken)
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(ROWS)


def test_a_zombie_that_writes_on_when_its_batch_is_over_is_shut_out(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    from ottla.clients.sync import Producer
    from ottla.spark.sink.transactional_ids import TransactionalIds

    name = TransactionalIds(lambda: "0123456789ab").take(sink.options.sink_id, "run", 0)
    with Producer({**sink.options.producer, "transactional.id": name}) as zombie:
        zombie.init_transactions()
        zombie.begin_transaction()
        zombie.send_and_wait(topic, b"too early")
        assert sink.commit(sink.run_tasks(ROWS, tasks=2))
        with pytest.raises((ProducerFencedError, InvalidProducerEpochError, KafkaError)):
            zombie.send_and_wait(topic, b"too late")
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(ROWS)


def test_a_worker_uses_its_ids_again_and_not_for_two_tasks_of_a_batch(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    names = []
    for batch_id in range(3):
        transactions = sink.run_tasks(ROWS, tasks=2, batch_id=batch_id, run_id="one-run")
        names.append([each.transactional_id for each in transactions])
        assert sink.commit(transactions, batch_id)
    assert names[0] == names[1] == names[2]
    assert names[0][0] != names[0][1]
    assert sink.committed() == Counter(ROWS * 3)


def test_a_late_task_of_an_old_batch_takes_nothing_from_the_new_one(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    assert sink.commit(sink.run_tasks(ROWS, tasks=1, batch_id=0, run_id="late"), 0)
    new = sink.run_tasks(ROWS, tasks=2, batch_id=1, run_id="late")
    late = sink.run_task(ROWS, TaskPlace(QUERY, "late", 0))
    assert late is not None
    assert late.transactional_id not in {each.transactional_id for each in new}
    assert sink.commit(new, 1)
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(ROWS * 2)


def test_of_two_drivers_that_decide_at_once_the_first_on_record_has_its_way(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    first, second = sink.run_tasks(ROWS, tasks=2), sink.run_tasks(ROWS, tasks=3)

    def rival(action: Action, is_done: bool) -> None:
        """Another driver records its decision while this one is about to."""
        if isinstance(action, Record) and not is_done:
            with pytest.raises(CrashError):
                sink.commit(first, crash=CrashAt(AFTER_RECORD))

    driver = CommitDriver(sink.options, on_step=rival)
    assert driver.run(sink.protocol.commit(QUERY, 0, second)) is False
    driver.close()
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(ROWS)


def test_a_new_driver_stops_the_tasks_of_an_old_one_whose_batch_then_fails(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    old = sink.run_tasks(ROWS, tasks=2)
    sink.recover()
    with pytest.raises(BatchFailedError, match="2 of its 2 transactions ended before all tasks were done"):
        sink.commit(old)
    assert sink.commit(sink.run_tasks(ROWS, tasks=1))
    assert sink.committed() == Counter(ROWS)


def test_what_is_committed_is_not_written_again_when_a_rivals_sweep_comes_late(kafka: Node, topic: str) -> None:
    """It has listed the transactions before they were decided, and shuts their producers out after they have ended."""
    sink = Sink(kafka.bootstrap, topic)
    transactions = sink.run_tasks(ROWS, tasks=2)
    with pytest.raises(CrashError):
        sink.commit(transactions, crash=CrashAt(AFTER_RECORD))
    sink.end_some(transactions)
    sink.fence(transactions)
    sink.recover()
    assert sink.committed() == Counter(ROWS)


def test_a_batch_that_spark_gives_up_leaves_nothing(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    known = sink.run_tasks(ROWS, tasks=2)
    sink.run_tasks(ROWS, tasks=1)  # a task that failed after it wrote: Spark has no message of it
    sink.abort(known[:1])
    assert sink.open_transactions() == []
    assert sink.committed() == Counter()


def test_a_batch_that_was_decided_is_seen_though_spark_gives_it_up(kafka: Node, topic: str) -> None:
    """Spark calls abort when commit has raised; its next run will find that the batch was written."""
    sink = Sink(kafka.bootstrap, topic)
    transactions = sink.run_tasks(ROWS, tasks=2)
    with pytest.raises(CrashError):
        sink.commit(transactions, crash=CrashAt(AFTER_RECORD))
    sink.abort(transactions)
    assert sink.committed() == Counter(ROWS)
    assert not sink.commit(sink.run_tasks(ROWS, tasks=1))
    assert sink.committed() == Counter(ROWS)


def test_an_old_checkpoint_is_refused(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    for batch_id in range(3):
        assert sink.commit(sink.run_tasks(ROWS, tasks=1, batch_id=batch_id), batch_id)
    with pytest.raises(OldCheckpointError, match=r"at batch 1, and its sink .* has batch 2"):
        sink.commit(sink.run_tasks(ROWS, tasks=1, batch_id=1), 1)
    assert sink.open_transactions() == []


def test_aborted_records_that_are_gone_are_told_and_nothing_is_half_repaired(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    transactions = sink.run_tasks(ROWS, tasks=2)
    with pytest.raises(CrashError):
        sink.commit(transactions, crash=CrashAt(AFTER_RECORD))
    sink.fence(transactions)
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        gone = {TopicPartition(each.topic, each.partition): each.last_offset + 1 for each in transactions[0].written}
        admin.delete_records(gone)
    with pytest.raises(RecordsLostError, match=r"10 of 10 records that .* neither committed nor in the log"):
        sink.recover()
    assert sink.committed() == Counter()


def test_how_a_transaction_ended_is_found_in_the_log(kafka: Node, topic: str) -> None:
    """For transactional ids that their coordinator has forgotten."""
    sink = Sink(kafka.bootstrap, topic)
    committed, aborted, open_one = (sink.run_tasks(ROWS, tasks=1)[0] for _ in range(3))
    sink.end_some([committed])
    sink.fence([aborted])

    async def ended(transaction: TaskTransaction) -> Status:
        cluster = ClusterClient(AdminConfig.parse({"bootstrap.servers": kafka.bootstrap}).common)
        await cluster.start()
        try:
            return await find_end(cluster, transaction)
        finally:
            await cluster.close()

    assert asyncio.run(ended(committed)) is Status.COMMITTED
    assert asyncio.run(ended(aborted)) is Status.ABORTED
    with pytest.raises(RecordsLostError, match="Nobody knows any more"):
        asyncio.run(ended(open_one))
