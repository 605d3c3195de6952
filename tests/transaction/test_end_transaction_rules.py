"""EndTxn: what becomes of a transaction, by state, client and epoch, as in the tables of end_transaction.py."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.end_txn import EndTxnResponse
from ottla.transaction.metadata import PRODUCER_EPOCH_MAX, ProducerIdAndEpoch
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.test_init_producer_id_rules import LAST, world_at
from tests.transaction.transaction_world import ID, A, B, TransactionWorld

S = TransactionState
V2 = TransactionVersion.TV_2
ME = ProducerIdAndEpoch(7, 3)
BEFORE = ProducerIdAndEpoch(7, 2)
FENCED, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
CONCURRENT, MAPPING = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_PRODUCER_ID_MAPPING

ENDED = "ended already"

V1 = [
    # state, committed, what comes of it
    (S.ONGOING, True, S.PREPARE_COMMIT),
    (S.ONGOING, False, S.PREPARE_ABORT),
    (S.EMPTY, True, INVALID),
    (S.EMPTY, False, INVALID),
    (S.COMPLETE_COMMIT, True, ENDED),
    (S.COMPLETE_COMMIT, False, INVALID),
    (S.COMPLETE_ABORT, True, INVALID),
    (S.COMPLETE_ABORT, False, ENDED),
    (S.PREPARE_COMMIT, True, CONCURRENT),
    (S.PREPARE_COMMIT, False, CONCURRENT),
    (S.PREPARE_ABORT, True, CONCURRENT),
    (S.PREPARE_ABORT, False, CONCURRENT),
]

V2_TABLE = [
    # state, committed, with the current epoch, with the one before
    (S.ONGOING, True, S.PREPARE_COMMIT, FENCED),
    (S.ONGOING, False, S.PREPARE_ABORT, FENCED),
    (S.EMPTY, True, INVALID, FENCED),
    (S.EMPTY, False, S.PREPARE_ABORT, FENCED),
    (S.COMPLETE_COMMIT, True, INVALID, ENDED),
    (S.COMPLETE_COMMIT, False, S.PREPARE_ABORT, INVALID),
    (S.COMPLETE_ABORT, True, INVALID, INVALID),
    (S.COMPLETE_ABORT, False, S.PREPARE_ABORT, ENDED),
    (S.PREPARE_COMMIT, True, CONCURRENT, CONCURRENT),
    (S.PREPARE_COMMIT, False, CONCURRENT, CONCURRENT),
    (S.PREPARE_ABORT, True, CONCURRENT, CONCURRENT),
    (S.PREPARE_ABORT, False, CONCURRENT, CONCURRENT),
]


def code(response: EndTxnResponse) -> ErrorCode:
    return ErrorCode(response.error_code)


def check(
    world: TransactionWorld, response: EndTxnResponse, state: TransactionState, outcome: object, *, v2: bool
) -> None:
    producer = (response.producer_id, response.producer_epoch)
    if isinstance(outcome, TransactionState):
        assert code(response) is ErrorCode.NONE
        assert world.state().state is outcome
        assert producer == ((7, 4) if v2 else (-1, -1))
    elif outcome is ENDED:
        assert code(response) is ErrorCode.NONE
        assert world.state().state is state
        assert producer == ((7, 3) if v2 else (-1, -1))
    else:
        assert code(response) is outcome
        assert world.state().state is state
        assert producer == (-1, -1)


@pytest.mark.parametrize(("state", "committed", "outcome"), V1)
def test_a_client_of_v1(state: TransactionState, committed: bool, outcome: object) -> None:
    world = world_at(3, state)
    check(world, world.end(ME, committed=committed, api_version=4).result(), state, outcome, v2=False)


@pytest.mark.parametrize("state", [row[0] for row in V1[::2]])
@pytest.mark.parametrize("epoch", [2, 4])
def test_another_epoch_is_fenced_in_v1(state: TransactionState, epoch: int) -> None:
    world = world_at(3, state)
    other = ProducerIdAndEpoch(7, epoch)
    assert code(world.end(other, committed=True, api_version=2).result()) is FENCED
    assert code(world.end(other, committed=True, api_version=1).result()) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert code(world.end(ProducerIdAndEpoch(8, 3), committed=True, api_version=4).result()) is MAPPING


@pytest.mark.parametrize(("state", "committed", "outcome", "_retried"), V2_TABLE)
def test_a_client_of_v2(state: TransactionState, committed: bool, outcome: object, _retried: object) -> None:
    world = world_at(3, state, client_transaction_version=V2)
    check(world, world.end(ME, committed=committed).result(), state, outcome, v2=True)


@pytest.mark.parametrize(("state", "committed", "_current", "outcome"), V2_TABLE)
def test_a_retry_of_v2(state: TransactionState, committed: bool, _current: object, outcome: object) -> None:
    world = world_at(3, state, client_transaction_version=V2)
    check(world, world.end(BEFORE, committed=committed).result(), state, outcome, v2=True)


@pytest.mark.parametrize("state", [S.ONGOING, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
@pytest.mark.parametrize("epoch", [1, 4, 5])
def test_any_other_epoch_is_fenced_in_v2(state: TransactionState, epoch: int) -> None:
    world = world_at(3, state, client_transaction_version=V2)
    for committed in (True, False):
        assert code(world.end(ProducerIdAndEpoch(7, epoch), committed=committed).result()) is FENCED
        assert code(world.end(ProducerIdAndEpoch(8, 3), committed=committed).result()) is MAPPING


def test_the_epoch_before_an_end_of_v1_is_a_fenced_producer() -> None:
    """Apache Kafka takes it for a retry, and tells a replaced producer that its transaction is committed."""
    world = world_at(3, S.COMPLETE_COMMIT, client_transaction_version=TransactionVersion.TV_0)
    assert code(world.end(BEFORE, committed=True).result()) is FENCED


def test_a_transaction_of_v2_from_begin_to_end() -> None:
    world = TransactionWorld()
    world.load()
    producer = world.producer()
    world.add(producer, A).result()
    world.add(producer, B).result()
    response = world.end(producer, committed=True).result()
    assert (response.producer_id, response.producer_epoch) == (1000, 1)
    assert world.markers.sent == [(ID, 1000, 1, world.leader_epoch, True, (A, B), 2, 0)]
    assert code(world.end(producer, committed=True).result()) is CONCURRENT
    assert world.add(ProducerIdAndEpoch(1000, 1)).error is not None
    world.markers.write()
    retried = world.end(producer, committed=True).result()
    assert (code(retried), retried.producer_id, retried.producer_epoch) == (ErrorCode.NONE, 1000, 1)
    world.add(ProducerIdAndEpoch(1000, 1)).result()
    assert world.state().state is S.ONGOING


def test_transactions_of_v1_keep_their_epoch() -> None:
    world = TransactionWorld()
    world.load()
    producer = world.producer()
    for committed in (True, False, True):
        world.add(producer, A, version=0).result()
        assert code(world.end(producer, committed=committed, api_version=4).result()) is ErrorCode.NONE
        assert world.markers.sent[-1].producer_epoch == 0
        assert world.markers.sent[-1].committed == committed
        world.markers.write()
    assert [one.state for _, one in world.records() if one is not None] == [
        S.EMPTY,
        *(S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
        *(S.ONGOING, S.PREPARE_ABORT, S.COMPLETE_ABORT),
        *(S.ONGOING, S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
    ]


def test_an_abort_of_nothing_begins_and_ends_at_once() -> None:
    world = TransactionWorld()
    world.markers.is_immediate = True
    world.load()
    producer = world.producer()
    world.advance(5)
    response = world.end(producer, committed=False).result()
    assert (response.producer_id, response.producer_epoch) == (1000, 1)
    assert world.markers.sent[0].partitions == ()
    state = world.state()
    assert (state.state, state.txn_start_timestamp_ms) == (S.COMPLETE_ABORT, world.time_ms)


def test_the_last_epoch_of_v2_goes_over_to_a_new_producer_id() -> None:
    world = world_at(LAST)
    last = ProducerIdAndEpoch(7, LAST)
    world.add(last).result()
    response = world.end(last, committed=True).result()
    fresh = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
    assert fresh == (1000, 0)
    prepared = world.state()
    assert (prepared.producer, prepared.next_producer_id) == ((7, PRODUCER_EPOCH_MAX), 1000)
    assert world.markers.sent[0].producer_epoch == PRODUCER_EPOCH_MAX
    # The producer has its new id before the coordinator uses it: it has to wait, and is not refused.
    refused = world.add(fresh).error
    assert refused is not None
    assert refused.code == CONCURRENT
    assert code(world.end(fresh, committed=False).result()) is CONCURRENT
    world.markers.write()
    assert world.state().producer == fresh
    # Both retries of the old epoch get the new id.
    retried = world.end(last, committed=True).result()
    assert (retried.error_code, retried.producer_id, retried.producer_epoch) == (0, 1000, 0)
    assert code(world.end(last, committed=False).result()) is INVALID
    assert world.producer(last) == fresh
    assert world.state().state is S.EMPTY
    assert code(world.end(last, committed=True).result()) is FENCED
    world.add(fresh).result()


def test_the_retry_over_the_last_epoch_is_known_after_a_reload() -> None:
    world = world_at(LAST, S.ONGOING)
    last = ProducerIdAndEpoch(7, LAST)
    world.end(last, committed=True).result()
    world.crash()
    world.markers.write()
    retried = world.end(last, committed=True).result()
    assert (retried.error_code, retried.producer_id, retried.producer_epoch) == (0, 1000, 0)


def test_what_the_coordinator_does_not_know() -> None:
    world = TransactionWorld()
    world.load()
    for api_version in (4, 5):
        assert code(world.end(ME, committed=True, api_version=api_version).result()) is MAPPING
        assert (
            code(world.end(ME, committed=True, api_version=api_version, transactional_id="").result())
            is ErrorCode.INVALID_REQUEST
        )


def test_a_log_of_transaction_version_0_has_no_transactions_v2() -> None:
    world = world_at(3, S.ONGOING, version=0)
    assert code(world.end(ME, committed=True).result()) is ErrorCode.UNSUPPORTED_VERSION
    error = world.add(ME, B, version=2).error
    assert error is not None
    assert error.code == ErrorCode.UNSUPPORTED_VERSION
    assert code(world.end(ME, committed=True, api_version=4).result()) is ErrorCode.NONE
