"""The state of a transactional producer, without anybody to talk to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ottla.clients.errors import (
    ClusterAuthorizationError,
    IllegalStateError,
    NotLeaderOrFollowerError,
    ProducerFencedError,
    RecordTooLargeError,
    TransactionAbortableError,
    error_for,
)
from ottla.clients.producer.idempotence import ProducerIdAndEpoch
from ottla.clients.producer.transaction_manager import TransactionManager, TransactionState
from ottla.clients.producer.transaction_requests import add_partitions, end_txn, init_producer_id
from ottla.clients.producer.transaction_verdict import Verdict, judge
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
S = TransactionState


def ready(*, epoch: int = 0) -> TransactionManager:
    manager = TransactionManager("txn")
    manager.begin_initialize()
    manager.initialized(ProducerIdAndEpoch(7, epoch))
    return manager


def state_of(manager: TransactionManager) -> TransactionState:
    """Asked anew: it changes behind a type checker's back."""
    return manager.state


def begun(*, is_v2: bool) -> TransactionManager:
    manager = ready()
    manager.begin_transaction(is_v2=is_v2)
    return manager


def test_under_version_1_nothing_is_sent_before_the_coordinator_knows() -> None:
    manager = begun(is_v2=False)
    manager.add_partition(P0)
    assert not manager.is_send_allowed(P0)
    assert manager.partitions_to_add() == [P0]
    manager.add_partition(P0)
    manager.add_partition(P1)
    assert manager.partitions_to_add() == []  # one request at a time
    manager.partitions_added()
    assert manager.is_send_allowed(P0)
    assert not manager.is_send_allowed(P1)
    assert manager.partitions_to_add() == [P1]
    assert manager.produce_version_max == 11


def test_under_version_2_leaders_add_partitions() -> None:
    manager = begun(is_v2=True)
    manager.add_partition(P0)
    assert manager.is_send_allowed(P0)
    assert manager.partitions_to_add() == []
    assert manager.needs_end
    assert manager.produce_version_max is None


@pytest.mark.parametrize("is_v2", [False, True])
def test_a_transaction_without_anything_in_it_ends_by_itself(is_v2: bool) -> None:
    manager = begun(is_v2=is_v2)
    manager.begin_commit()
    assert not manager.needs_end
    manager.ended()
    assert manager.state is S.READY


def test_under_version_2_every_end_brings_an_epoch_and_new_sequences() -> None:
    manager = begun(is_v2=True)
    manager.add_partition(P0)
    manager.sequences(P0).next_sequence = 5
    manager.begin_commit()
    manager.ended(ProducerIdAndEpoch(7, 1))
    assert manager.producer == (7, 1)
    assert manager.sequences(P0).next_sequence == 0
    assert not manager.needs_end
    assert not manager.is_send_allowed(P0)


def test_under_version_1_sequences_go_on() -> None:
    manager = begun(is_v2=False)
    manager.add_partition(P0)
    manager.partitions_to_add()
    manager.partitions_added()
    manager.sequences(P0).next_sequence = 5
    manager.begin_commit()
    manager.ended()
    assert (manager.producer, manager.sequences(P0).next_sequence) == ((7, 0), 5)


@pytest.mark.parametrize("is_v2", [False, True])
def test_a_failed_batch_spoils_the_transaction_and_an_abort_makes_good(is_v2: bool) -> None:
    manager = begun(is_v2=is_v2)
    manager.add_partition(P0)
    manager.note_error(RecordTooLargeError("large"))
    assert manager.state is S.ABORTABLE_ERROR
    for operation in (manager.begin_commit, lambda: manager.add_partition(P1), manager.begin_initialize):
        with pytest.raises(RecordTooLargeError):
            operation()
    manager.begin_abort()
    manager.ended(ProducerIdAndEpoch(7, 1) if is_v2 else ProducerIdAndEpoch(-1, -1))
    if not is_v2:  # the epoch is bumped by asking
        assert state_of(manager) is S.INITIALIZING
        manager.initialized(ProducerIdAndEpoch(7, 1))
    assert (manager.state, manager.producer) == (S.READY, (7, 1))
    manager.begin_transaction(is_v2=is_v2)


def test_errors_that_would_pass_elsewhere_are_abortable_here() -> None:
    manager = begun(is_v2=True)
    manager.note_error(NotLeaderOrFollowerError("moved"))
    with pytest.raises(TransactionAbortableError) as raised:
        manager.begin_commit()
    assert isinstance(raised.value.__cause__, NotLeaderOrFollowerError)


@pytest.mark.parametrize("error", [ProducerFencedError("f"), ClusterAuthorizationError("c")])
def test_some_errors_are_for_good(error: Exception) -> None:
    manager = begun(is_v2=True)
    manager.note_error(error)  # type: ignore[arg-type]
    assert manager.state is S.FATAL_ERROR
    for operation in (manager.begin_abort, manager.begin_commit, manager.begin_initialize):
        with pytest.raises(type(error)):
            operation()


def test_an_error_while_aborting_changes_nothing() -> None:
    manager = begun(is_v2=True)
    manager.begin_abort()
    manager.note_error(RecordTooLargeError("large"))
    assert manager.state is S.ABORTING
    manager.ended()
    assert state_of(manager) is S.READY


def test_what_cannot_be_done_where_the_producer_stands() -> None:
    for manager, operations in (
        (TransactionManager("txn"), ("begin_commit", "begin_abort")),
        (ready(), ("begin_initialize", "begin_commit", "begin_abort")),
        (begun(is_v2=True), ("begin_initialize",)),
    ):
        for operation in operations:
            with pytest.raises(IllegalStateError):
                getattr(manager, operation)()
    with pytest.raises(IllegalStateError, match="send needs a transaction"):
        ready().add_partition(P0)
    with pytest.raises(IllegalStateError):
        begun(is_v2=True).begin_transaction(is_v2=True)


# -- verdicts ---------------------------------------------------------------------------------------------------------

PRODUCER = ProducerIdAndEpoch(7, 0)
COMMIT, ABORT = end_txn("t", PRODUCER, committed=True), end_txn("t", PRODUCER, committed=False)
ADD = add_partitions("t", PRODUCER, [P0])
INIT = init_producer_id("t", 1, PRODUCER)


@pytest.mark.parametrize(
    ("request_", "code", "verdict"),
    [
        (COMMIT, ErrorCode.NONE, Verdict.DONE),
        (COMMIT, ErrorCode.CONCURRENT_TRANSACTIONS, Verdict.RETRY),
        (COMMIT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.RETRY),
        (COMMIT, ErrorCode.NOT_COORDINATOR, Verdict.FIND_COORDINATOR),
        (COMMIT, ErrorCode.TRANSACTION_ABORTABLE, Verdict.ABORTABLE),
        (ABORT, ErrorCode.TRANSACTION_ABORTABLE, Verdict.FATAL),
        (COMMIT, ErrorCode.INVALID_TXN_STATE, Verdict.FATAL),
        (COMMIT, ErrorCode.PRODUCER_FENCED, Verdict.FATAL),
        (ADD, ErrorCode.TOPIC_AUTHORIZATION_FAILED, Verdict.ABORTABLE),
        (ADD, ErrorCode.OPERATION_NOT_ATTEMPTED, Verdict.ABORTABLE),
        (ADD, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Verdict.RETRY),
        (ADD, ErrorCode.INVALID_PRODUCER_ID_MAPPING, Verdict.FATAL),
        (INIT, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Verdict.ABORTABLE),
        (INIT, ErrorCode.INVALID_TRANSACTION_TIMEOUT, Verdict.FATAL),
    ],
)
def test_verdicts(request_: object, code: ErrorCode, verdict: Verdict) -> None:
    assert judge(request_, code) is verdict  # type: ignore[arg-type]


@given(st.sampled_from([COMMIT, ABORT, ADD, INIT]), st.sampled_from(list(ErrorCode)))
def test_every_code_has_a_verdict(request_: object, code: ErrorCode) -> None:
    verdict = judge(request_, code)  # type: ignore[arg-type]
    assert (verdict is Verdict.DONE) == (code is ErrorCode.NONE)
    assert verdict is not Verdict.RETRY or error_for(code).retriable


# -- histories --------------------------------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """Whatever the user, brokers and coordinators do: nothing is sent outside a transaction, nothing after an error."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = ready()
        self.appended: set[TopicPartition] = set()
        self.told: set[TopicPartition] = set()

    @precondition(lambda self: self.manager.state is S.READY)
    @rule(is_v2=st.booleans())
    def begin(self, is_v2: bool) -> None:
        self.manager.begin_transaction(is_v2=is_v2)
        self.appended, self.told = set(), set()

    @precondition(lambda self: self.manager.state is S.IN_TRANSACTION)
    @rule(partition=st.sampled_from([P0, P1]))
    def append(self, partition: TopicPartition) -> None:
        self.manager.add_partition(partition)
        self.appended.add(partition)

    @rule(refused=st.booleans())
    def add(self, refused: bool) -> None:
        if partitions := self.manager.partitions_to_add():
            if refused:
                self.manager.partitions_refused(TransactionAbortableError("no"))
            else:
                self.manager.partitions_added()
                self.told |= set(partitions)

    @precondition(lambda self: self.manager.state in (S.IN_TRANSACTION, S.COMMITTING, S.ABORTING))
    @rule(error=st.sampled_from([RecordTooLargeError("r"), NotLeaderOrFollowerError("n")]))
    def fail(self, error: RecordTooLargeError) -> None:
        self.manager.note_error(error)

    @precondition(lambda self: self.manager.state in (S.IN_TRANSACTION, S.ABORTABLE_ERROR))
    @rule()
    def abort(self) -> None:
        self.manager.begin_abort()

    @precondition(lambda self: self.manager.state is S.IN_TRANSACTION)
    @rule()
    def commit(self) -> None:
        self.manager.begin_commit()

    @precondition(lambda self: self.manager.is_completing)
    @rule()
    def end(self) -> None:
        manager = self.manager
        assert manager.needs_end == bool(self.appended if manager.is_v2 else self.told)
        id_, epoch = manager.producer
        bumped = ProducerIdAndEpoch(id_, epoch + 1)
        manager.ended(bumped if manager.is_v2 and manager.needs_end else ProducerIdAndEpoch(-1, -1))
        if manager.state is S.INITIALIZING:
            manager.initialized(bumped)
        assert manager.state is S.READY
        self.appended, self.told = set(), set()

    @invariant()
    def only_what_belongs_to_it_is_sent(self) -> None:
        manager = self.manager
        for partition in (P0, P1):
            if manager.is_send_allowed(partition):
                assert manager.state in (S.IN_TRANSACTION, S.COMMITTING, S.ABORTING, S.ABORTABLE_ERROR)
                assert partition in self.appended
                assert manager.is_v2 or partition in self.told
        assert (manager.error is not None) == (manager.state is S.ABORTABLE_ERROR)


TestHistories = Histories.TestCase
