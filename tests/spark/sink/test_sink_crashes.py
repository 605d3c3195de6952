"""Every crash point of the commit protocol, against a broker: whatever crashes, each batch is seen exactly once."""

from collections import Counter

import pytest

from ottla.clients.sync import Admin
from ottla.spark.sink.task_transaction import TaskTransaction
from tests.clients.admin.waiting import eventually
from tests.node import Node
from tests.spark.sink.sink_world import CrashAt, CrashError, Sink

ROWS = [f"row-{number}".encode() for number in range(50)]
COMMIT_STEPS = ("ReadHistory", "Describe", "Record", "ReadHistory", "End", "Finish", "Sweep")
REPAIR_STEPS = ("ReadHistory", "End", "Examine", "Rewrite", "Record", "ReadHistory", "End", "Finish", "Sweep")


def restart(sink: Sink, *, batch_id: int = 0, tasks: int = 2) -> None:
    """A new driver from the same checkpoint: it plans the batch again, which has another number of tasks now."""
    sink.recover()
    assert sink.open_transactions() == []  # before the first task writes
    again = sink.run_tasks(ROWS, tasks=tasks, batch_id=batch_id)
    sink.commit(again, batch_id)


def assert_once(sink: Sink) -> None:
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(ROWS)


def crashed_commit(sink: Sink, moment: int, tasks: int = 3) -> tuple[list[TaskTransaction], CrashAt]:
    transactions = sink.run_tasks(ROWS, tasks=tasks)
    assert len(transactions) == tasks
    crash = CrashAt(moment)
    with pytest.raises(CrashError):
        sink.commit(transactions, crash=crash)
    return transactions, crash


def moment_of(steps: tuple[str, ...], name: str, occurrence: int = 0, *, after: bool) -> int:
    places = [place for place, step in enumerate(steps) if step == name]
    return 2 * places[occurrence] + int(after)


AFTER_RECORD = moment_of(COMMIT_STEPS, "Record", after=True)


def test_a_batch_is_seen_when_it_is_committed_and_not_before(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    sink.recover()
    transactions = sink.run_tasks(ROWS, tasks=3)
    assert sink.committed() == Counter()
    crash = CrashAt()
    assert sink.commit(transactions, crash=crash)
    assert tuple(name for name, is_done in crash.moments if is_done) == COMMIT_STEPS
    assert_once(sink)


@pytest.mark.parametrize("moment", range(2 * len(COMMIT_STEPS)))
def test_a_driver_crashes_while_it_commits(kafka: Node, topic: str, moment: int) -> None:
    sink = Sink(kafka.bootstrap, topic)
    crashed_commit(sink, moment)
    restart(sink)
    assert_once(sink)


def test_a_driver_crashes_between_the_ends_of_two_transactions(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    transactions, _ = crashed_commit(sink, AFTER_RECORD)
    sink.end_some(transactions[:1])
    sink.recover()
    assert_once(sink)
    restart(sink)
    assert_once(sink)


@pytest.mark.parametrize("committed", range(3))
def test_transactions_of_a_decision_are_aborted_while_no_driver_is_there(
    kafka: Node, topic: str, committed: int
) -> None:
    sink = Sink(kafka.bootstrap, topic)
    transactions, _ = crashed_commit(sink, AFTER_RECORD)
    sink.end_some(transactions[:committed])
    sink.fence(transactions[committed:])
    assert sum(sink.committed().values()) < len(ROWS)
    restart(sink)
    assert_once(sink)


@pytest.mark.parametrize("moment", range(2 * len(REPAIR_STEPS)))
def test_a_driver_crashes_while_it_writes_aborted_records_again(kafka: Node, topic: str, moment: int) -> None:
    sink = Sink(kafka.bootstrap, topic)
    transactions, _ = crashed_commit(sink, AFTER_RECORD)
    sink.end_some(transactions[:1])
    sink.fence(transactions[1:])
    crash = CrashAt(moment)
    with pytest.raises(CrashError):
        sink.recover(crash)
    passed = [name for name, is_done in crash.moments if not is_done]
    assert passed == list(REPAIR_STEPS[: len(passed)])
    restart(sink)
    assert_once(sink)


def test_what_was_written_again_is_aborted_as_well(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    transactions, _ = crashed_commit(sink, AFTER_RECORD)
    sink.fence(transactions)
    with pytest.raises(CrashError):
        sink.recover(CrashAt(moment_of(REPAIR_STEPS, "Record", after=True)))
    (again,) = sink.open_transactions()
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.fence_producers([again])
    restart(sink)
    assert_once(sink)


def test_a_transaction_runs_out_of_time_between_decision_and_commit(kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic, **{"kafka.transaction.timeout.ms": "6000"})  # for three tasks and a decision
    crashed_commit(sink, AFTER_RECORD)
    eventually(lambda: not sink.open_transactions())
    assert sink.committed() == Counter()
    restart(Sink(kafka.bootstrap, topic))  # with more time
    assert_once(sink)
