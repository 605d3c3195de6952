"""The commit protocol without a cluster: crashes anywhere, rivals, lost time; each batch is seen exactly once."""

from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import CorruptRecordError
from ottla.spark.sink.commit_actions import Status
from ottla.spark.sink.commit_protocol import CommitProtocol
from ottla.spark.sink.decision import Decision, parse_decision
from ottla.spark.sink.sink_errors import BatchFailedError, OldCheckpointError
from ottla.spark.sink.sink_history import SinkHistory
from ottla.spark.sink.task_transaction import TaskTransaction, Written
from ottla.spark.sink.transaction_status import status_of
from ottla.spark.sink.transactional_ids import TransactionalIds, pattern_of
from tests.spark.sink.commit_simulation import SINK, Driver, World

QUERY = "query"
ROWS_A_BATCH = 6


def new_protocol() -> CommitProtocol:
    numbers = count()
    return CommitProtocol(SINK, lambda: f"id-{next(numbers)}")


def rows_of(batch_id: int) -> list[int]:
    return [batch_id * ROWS_A_BATCH + row for row in range(ROWS_A_BATCH)]


def run_tasks(world: World, batch_id: int, tasks: int) -> list[TaskTransaction]:
    rows = rows_of(batch_id)
    return [world.write(rows[number::tasks]) for number in range(tasks)]


def run(world: World, driver: Driver) -> Driver:
    while not driver.is_done:
        driver.step()
    return driver


class Query:
    """Spark's side: a batch is replayed until its commit returns; the commit log outlives crashes."""

    def __init__(self, data: st.DataObject, batches: int) -> None:
        self.world = World()
        self.protocol = new_protocol()
        self._data = data
        self._batches = batches
        self.next_batch = 0
        self._zombies: list[Driver] = []

    def draw(self, strategy: st.SearchStrategy[int]) -> int:
        return int(self._data.draw(strategy))

    def run(self, crashes: int) -> None:
        """All batches, with so many crashes on the way, and then in peace."""
        for _ in range(crashes):
            if self.next_batch < self._batches:
                self._one_run(is_peaceful=False)
                self._meanwhile()
        while self.next_batch < self._batches:
            self._one_run(is_peaceful=True)
            self._finish_zombies()

    def _one_run(self, *, is_peaceful: bool) -> None:
        """A driver's life from its start to its crash, or to the end."""
        left = 10_000 if is_peaceful else self.draw(st.integers(0, 60))
        while self.next_batch < self._batches:
            planning = Driver(self.world, self.protocol.recover())
            left = self._drive(planning, left)
            if left < 0:
                return
            assert planning.error is None
            if is_peaceful:
                assert self.world.open_names == []  # before the first task writes
            transactions = run_tasks(self.world, self.next_batch, self.draw(st.integers(1, 3)))
            if not is_peaceful and self.draw(st.integers(0, 5)) == 0:
                run_tasks(self.world, self.next_batch, 1)  # an attempt that Spark does not take
            commit = Driver(self.world, self.protocol.commit(QUERY, self.next_batch, transactions))
            left = self._drive(commit, left)
            if left < 0:
                return
            if commit.error is not None:
                assert isinstance(commit.error, BatchFailedError)
                run(self.world, Driver(self.world, self.protocol.abort(QUERY, self.next_batch, transactions)))
                return
            self.next_batch += 1

    def _drive(self, driver: Driver, left: int) -> int:
        while not driver.is_done:
            if left == 0:
                self._crash(driver)
                return -1
            driver.step()
            if left < 1_000 and self.draw(st.integers(0, 15)) == 0:
                self._meanwhile()
            left -= 1
        return left

    def _crash(self, driver: Driver) -> None:
        match self.draw(st.integers(0, 2)):
            case 0:
                driver.step(ended_of_many=self.draw(st.integers(0, 2)))  # in the midst of ending transactions
            case 1:
                self._zombies.append(driver)  # it only seems dead, and goes on later

    def _meanwhile(self) -> None:
        """What happens while nobody looks."""
        world = self.world
        if self.draw(st.integers(0, 2)) == 0:
            names = world.open_names
            world.time_out(name for name in names if self.draw(st.integers(0, 1)))
        if self.draw(st.integers(0, 4)) == 0:
            world.forget(list(world.stored))
        if self.draw(st.integers(0, 2)) == 0:
            world.compact()
        if self._zombies and self.draw(st.integers(0, 1)):
            zombie = self._zombies[0]
            zombie.step()
            if zombie.is_done:
                self._zombies.pop(0)

    def _finish_zombies(self) -> None:
        while self._zombies:
            run(self.world, self._zombies.pop(0))


@settings(max_examples=400, deadline=None)
@given(st.data(), st.integers(0, 6), st.integers(1, 3))
def test_every_batch_is_seen_once_whatever_crashes(data: st.DataObject, crashes: int, batches: int) -> None:
    query = Query(data, batches)
    query.run(crashes)
    query._finish_zombies()
    run(query.world, Driver(query.world, query.protocol.recover()))
    assert query.world.visible() == Counter(row for batch in range(batches) for row in rows_of(batch))
    assert query.world.open_names == []


@settings(max_examples=400, deadline=None)
@given(st.data(), st.booleans(), st.lists(st.integers(0, 2), max_size=60))
def test_rivals_agree_however_their_steps_mix(data: st.DataObject, has_decision: bool, turns: list[int]) -> None:
    """Three drivers at once, of which some have the batch's transactions and one only recovers."""
    world, protocol = World(), new_protocol()
    if has_decision:
        crash_after(world, 3, protocol, run_tasks(world, 0, 2))
        world.time_out(name for name in world.open_names if data.draw(st.booleans()))
    drivers = [
        Driver(world, protocol.commit(QUERY, 0, run_tasks(world, 0, 2))),
        Driver(world, protocol.commit(QUERY, 0, run_tasks(world, 0, 1))),
        Driver(world, protocol.recover()),
    ]
    for turn in turns:
        if not drivers[turn].is_done:
            drivers[turn].step()
            if data.draw(st.integers(0, 7)) == 0:
                world.time_out(world.open_names)
    for driver in drivers:
        run(world, driver)
    run(world, Driver(world, protocol.recover()))
    run(world, Driver(world, protocol.commit(QUERY, 0, run_tasks(world, 0, 3))))
    assert world.visible() == Counter(rows_of(0))
    assert world.open_names == []


def crash_after(world: World, steps: int, protocol: CommitProtocol, transactions: Sequence[TaskTransaction]) -> None:
    driver = Driver(world, protocol.commit(QUERY, 0, transactions))
    for _ in range(steps):
        driver.step()


@pytest.mark.parametrize("steps", range(9))
def test_a_crash_after_each_step(steps: int) -> None:
    world, protocol = World(), new_protocol()
    crash_after(world, steps, protocol, run_tasks(world, 0, 3))
    run(world, Driver(world, protocol.recover()))
    assert world.open_names == []
    again = run(world, Driver(world, protocol.commit(QUERY, 0, run_tasks(world, 0, 2))))
    assert again.error is None
    assert world.visible() == Counter(rows_of(0))


def test_nothing_is_repaired_that_was_committed() -> None:
    """The simulation refuses to write committed records again, and so would double nothing by itself."""
    world, protocol = World(), new_protocol()
    transactions = run_tasks(world, 0, 3)
    crash_after(world, 3, protocol, transactions)
    world.end(transactions[0].transactional_id, is_commit=True)
    world.time_out(world.open_names)
    run(world, Driver(world, protocol.recover()))
    assert world.visible() == Counter(rows_of(0))
    assert world.stored[transactions[0].transactional_id].status is Status.COMMITTED


def test_transactions_that_ended_too_early_fail_the_batch_and_nothing_of_it_is_seen() -> None:
    world, protocol = World(), new_protocol()
    transactions = run_tasks(world, 0, 3)
    world.time_out([transactions[1].transactional_id])
    failed = run(world, Driver(world, protocol.commit(QUERY, 0, transactions)))
    assert isinstance(failed.error, BatchFailedError)
    assert world.visible() == Counter()
    assert world.open_names == []


def test_a_batch_before_the_last_one_is_refused() -> None:
    world, protocol = World(), new_protocol()
    for batch_id in range(2):
        run(world, Driver(world, protocol.commit(QUERY, batch_id, run_tasks(world, batch_id, 1))))
    refused = run(world, Driver(world, protocol.commit(QUERY, 0, run_tasks(world, 0, 1))))
    assert isinstance(refused.error, OldCheckpointError)
    assert world.open_names == []


def test_a_query_with_a_new_checkpoint_counts_its_batches_anew() -> None:
    world, protocol = World(), new_protocol()
    for query_id in ("one", "two"):
        run(world, Driver(world, protocol.commit(query_id, 0, run_tasks(world, 0, 1))))
    assert world.visible() == Counter(rows_of(0) * 2)


def test_the_state_topic_does_not_grow() -> None:
    world, protocol = World(), new_protocol()
    for batch_id in range(20):
        run(world, Driver(world, protocol.commit(QUERY, batch_id, run_tasks(world, batch_id, 2))))
        world.compact()
    assert len(world.state_topic) == 1
    forgetful = CommitProtocol(SINK, protocol.new_id, forgets=True)
    run(world, Driver(world, forgetful.commit("write", 0, run_tasks(world, 0, 2))))
    assert world.history().pending() == ()
    world.compact()
    assert len(world.state_topic) == 1


written = st.builds(
    Written, st.text(max_size=5), st.integers(0, 9), st.integers(-1, 99), st.integers(-1, 99), st.integers(0, 9)
)
transactions = st.builds(
    TaskTransaction,
    st.text(max_size=9),
    st.integers(0, 2**62),
    st.integers(0, 2**15 - 1),
    st.booleans(),
    st.lists(written, max_size=3).map(tuple),
)
names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=9)
decisions = st.builds(
    Decision,
    names,
    names,
    st.integers(0, 2**62),
    names,
    st.integers(1, 9),
    st.lists(transactions, max_size=3).map(tuple),
    st.booleans(),
)


@given(decisions)
def test_a_decision_is_read_as_it_was_written(decision: Decision) -> None:
    assert parse_decision(decision.key, decision.value) == decision


@pytest.mark.parametrize("value", [b"", b"{}", b"[1]", b'{"format":9}', b'{"format":1,"batch":0}'])
def test_a_strange_record_is_an_error(value: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        parse_decision(b"a\x00b\x00c", value)


def test_other_sinks_records_are_passed_over() -> None:
    history = SinkHistory("clicks")
    history.replay(b"clicks-2\x00q\x00r", b"whatever")
    assert history.pending() == ()


def test_ids_of_one_sink_are_not_anothers() -> None:
    import re

    ids = TransactionalIds(lambda: "0123456789ab")
    assert re.match(pattern_of("clicks"), ids.take("clicks", "run", 0))
    assert not re.match(pattern_of("clicks"), ids.take("clicks-2", "run", 0))
    assert re.match(pattern_of("a.b*"), ids.take("a.b*", "run", 0))


def test_what_a_description_says() -> None:
    from ottla.clients.admin.transactions import TransactionDescription, TransactionState
    from ottla.clients.errors import CoordinatorNotAvailableError, TransactionalIdNotFoundError

    transaction = TaskTransaction("id", 7, 3, True, ())

    def described(state: TransactionState, producer_id: int = 7, epoch: int = 3) -> Status:
        found = TransactionDescription("id", 0, state, producer_id, epoch, 1, None, frozenset())
        return status_of(transaction, found)

    states = TransactionState
    assert described(states.ONGOING) is Status.OPEN
    assert described(states.ONGOING, epoch=4) is Status.UNKNOWN
    assert described(states.ONGOING, producer_id=8) is Status.UNKNOWN
    assert described(states.EMPTY, epoch=4) is Status.UNKNOWN
    for state in (states.PREPARE_COMMIT, states.COMPLETE_COMMIT):
        assert described(state, epoch=4) is Status.COMMITTED
    for state in (states.PREPARE_ABORT, states.COMPLETE_ABORT, states.PREPARE_EPOCH_FENCE):
        assert described(state, epoch=4) is Status.ABORTED
    assert status_of(transaction, TransactionalIdNotFoundError("gone")) is Status.UNKNOWN
    with pytest.raises(CoordinatorNotAvailableError):
        status_of(transaction, CoordinatorNotAvailableError("try again"))
