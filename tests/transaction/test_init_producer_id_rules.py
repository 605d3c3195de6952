"""InitProducerId: epochs, fencing, retries, and what happens when epochs run out."""

from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.config.sections import TransactionConfig
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.transaction.metadata import (
    NO_PARTITIONS,
    PRODUCER_EPOCH_MAX,
    TWO_PHASE_COMMIT_TIMEOUT_MS,
    ProducerIdAndEpoch,
    TransactionMetadata,
)
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.transaction_world import ID, A, TransactionWorld

S = TransactionState
LAST = PRODUCER_EPOCH_MAX - 1
"""The highest epoch that a producer can have."""


def world_at(
    epoch: int, state: TransactionState = S.EMPTY, *, producer_id: int = 7, version: int = 2, **changes: Any
) -> TransactionWorld:
    """A coordinator that has just been loaded with one transactional id in a given state."""
    world = TransactionWorld(version=version)
    is_ongoing = state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT)
    metadata = TransactionMetadata(
        ID,
        producer_id,
        producer_id,
        -1,
        epoch,
        -1,
        60_000,
        state,
        {A: None} if is_ongoing else NO_PARTITIONS,
        -1 if state is S.EMPTY else world.time_ms,
        world.time_ms,
        TransactionVersion.TV_0,
    )
    world.write_state(metadata._replace(**changes), TransactionVersion(version))
    world.load()
    return world


def refusal(world: TransactionWorld, expected: ProducerIdAndEpoch | None = None, api_version: int = 5) -> ErrorCode:
    response = world.init(expected, api_version=api_version).result()
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
    return ErrorCode(response.error_code)


def test_a_new_transactional_id_gets_a_producer_id_with_epoch_0() -> None:
    world = TransactionWorld()
    world.load()
    assert world.producer() == (1000, 0)
    ((name, metadata),) = world.records()
    assert name == ID
    assert metadata is not None
    # The producer id before the first transition is its own, as Apache Kafka writes it.
    assert metadata == TransactionMetadata(
        ID, 1000, 1000, -1, 0, -1, 60_000, S.EMPTY, NO_PARTITIONS, -1, 1_000_000, TransactionVersion.TV_0
    )


def test_a_producer_that_starts_anew_fences_the_one_before() -> None:
    world = TransactionWorld()
    world.load()
    before = world.producer()
    assert world.producer() == (1000, 1)
    assert refusal(world, before) is ErrorCode.PRODUCER_FENCED
    assert refusal(world, before, api_version=3) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.state().producer == (1000, 1)


def test_a_producer_that_goes_on_after_an_error_has_its_epoch_bumped() -> None:
    world = TransactionWorld()
    world.load()
    first = world.producer()
    second = world.producer(first)
    assert second == (1000, 1)
    # The answer was lost: the same request gets the same answer.
    assert world.producer(first) == second
    assert world.producer(first) == second
    assert world.producer(second) == (1000, 2)
    assert refusal(world, first) is ErrorCode.PRODUCER_FENCED


def test_a_retry_across_another_producer_is_fenced() -> None:
    world = TransactionWorld()
    world.load()
    first = world.producer()
    world.producer(first)
    world.producer()
    assert refusal(world, first) is ErrorCode.PRODUCER_FENCED


def test_a_producer_that_has_expired_begins_anew() -> None:
    world = TransactionWorld()
    world.load()
    assert world.producer(ProducerIdAndEpoch(55, 7)) == (1000, 0)


def test_a_producer_with_another_producer_id_is_fenced() -> None:
    world = world_at(3)
    assert refusal(world, ProducerIdAndEpoch(8, 3)) is ErrorCode.PRODUCER_FENCED
    assert world.producer(ProducerIdAndEpoch(7, 3)) == (7, 4)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_between_transactions_the_epoch_is_bumped(state: TransactionState) -> None:
    world = world_at(3, state)
    assert world.producer() == (7, 4)
    assert world.state().state is S.EMPTY
    assert world.state().txn_start_timestamp_ms == -1


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
@pytest.mark.parametrize("expected", [None, ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(9, 9)])
def test_while_markers_are_written_everyone_has_to_wait(
    state: TransactionState, expected: ProducerIdAndEpoch | None
) -> None:
    world = world_at(3, state)
    assert refusal(world, expected) is ErrorCode.CONCURRENT_TRANSACTIONS


# -- fencing an ongoing transaction -----------------------------------------------------------------------------------


def test_an_ongoing_transaction_is_aborted_first() -> None:
    world = world_at(3, S.ONGOING)
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    prepared = world.state()
    assert (prepared.state, prepared.producer_epoch, prepared.last_producer_epoch) == (S.PREPARE_ABORT, 4, 3)
    assert prepared.client_transaction_version is TransactionVersion.TV_2
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    (markers,) = world.markers.sent
    assert markers == (ID, 7, 4, world.leader_epoch, False, (A,), 2, 0)
    world.markers.write()
    assert world.state().state is S.COMPLETE_ABORT
    assert world.producer() == (7, 5)


@pytest.mark.parametrize("version", [0, 1])
def test_before_transactions_v2_the_fence_itself_bumps_the_epoch(version: int) -> None:
    world = world_at(3, S.ONGOING, version=version)
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    prepared = world.state()
    assert (prepared.state, prepared.producer_epoch, prepared.last_producer_epoch) == (S.PREPARE_ABORT, 4, -1)
    assert prepared.client_transaction_version is TransactionVersion.TV_0
    assert world.markers.sent[0].transaction_version == 0
    world.markers.write()
    assert refusal(world, ProducerIdAndEpoch(7, 3)) is ErrorCode.PRODUCER_FENCED
    assert world.producer() == (7, 5)


def test_a_foreign_producer_id_aborts_nothing() -> None:
    world = world_at(3, S.ONGOING)
    assert refusal(world, ProducerIdAndEpoch(8, 3)) is ErrorCode.PRODUCER_FENCED
    assert world.state().state is S.ONGOING


def test_the_producer_of_the_aborted_transaction_may_go_on_with_the_epoch_of_the_abort() -> None:
    world = world_at(3, S.ONGOING)
    before = ProducerIdAndEpoch(7, 3)
    assert refusal(world, before) is ErrorCode.CONCURRENT_TRANSACTIONS
    world.markers.write()
    assert world.producer(before) == (7, 4)


# -- epochs run out ---------------------------------------------------------------------------------------------------


def test_a_producer_whose_epochs_are_used_up_gets_a_new_producer_id() -> None:
    world = world_at(LAST - 1)
    last = world.producer()
    assert last == (7, LAST)
    rotated = world.producer()
    assert rotated == (1000, 0)
    assert world.state().prev_producer_id == 7
    assert refusal(world, last) is ErrorCode.PRODUCER_FENCED


def test_a_producer_that_rotates_itself_may_ask_again() -> None:
    world = world_at(LAST)
    last = ProducerIdAndEpoch(7, LAST)
    for _ in range(3):  # Apache Kafka fences the second retry
        assert world.producer(last) == (1000, 0)
    world.producer()
    assert refusal(world, last) is ErrorCode.PRODUCER_FENCED


def test_an_old_epoch_of_a_used_up_producer_id_is_fenced() -> None:
    world = world_at(LAST)
    assert refusal(world, ProducerIdAndEpoch(7, LAST - 1)) is ErrorCode.PRODUCER_FENCED


def test_a_retry_of_the_last_bump_gets_its_answer() -> None:
    world = world_at(LAST - 1)
    before = ProducerIdAndEpoch(7, LAST - 1)
    assert world.producer(before) == (7, LAST)
    assert world.producer(before) == (7, LAST)


def test_fencing_at_the_last_epoch_rotates_the_producer_id() -> None:
    world = world_at(LAST, S.ONGOING)
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    prepared = world.state()
    assert (prepared.producer, prepared.next_producer_id) == ((7, PRODUCER_EPOCH_MAX), 1000)
    world.markers.write()
    completed = world.state()
    assert (completed.producer, completed.prev_producer_id, completed.next_producer_id) == ((1000, 0), 7, -1)
    assert completed.last_producer_epoch == LAST
    assert world.producer(ProducerIdAndEpoch(7, LAST)) == (1000, 0)
    assert world.producer() == (1000, 1)


def test_before_transactions_v2_the_coordinator_has_the_maximum_for_itself() -> None:
    world = world_at(LAST, S.ONGOING, version=1)
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.state().producer == (7, PRODUCER_EPOCH_MAX)
    world.markers.write()
    assert world.producer() == (1000, 0)


@pytest.mark.parametrize("version", [1, 2])
def test_an_epoch_that_no_producer_can_have_never_overflows(version: int) -> None:
    world = world_at(PRODUCER_EPOCH_MAX, S.ONGOING, version=version)
    assert refusal(world) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.state().producer_epoch == PRODUCER_EPOCH_MAX
    world.markers.write()
    assert world.producer().producer_id == 1000


def test_without_a_producer_id_nothing_happens() -> None:
    world = TransactionWorld()
    world.load()
    world.no_producer_ids = ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert refusal(world) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.records() == []
    assert world.init(transactional_id=None).result().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# -- requests ---------------------------------------------------------------------------------------------------------


def test_an_idempotent_producer_just_gets_an_id() -> None:
    world = TransactionWorld()
    for expected in (1000, 1001):
        response = world.init(transactional_id=None).result()
        assert (response.error_code, response.producer_id, response.producer_epoch) == (0, expected, 0)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"transactional_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"producer_id": 4}, ErrorCode.INVALID_REQUEST),
        ({"producer_epoch": 4}, ErrorCode.INVALID_REQUEST),
        ({"transaction_timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": -1}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"transaction_timeout_ms": 900_000}, ErrorCode.NONE),
        ({"enable2_pc": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"keep_prepared_txn": True}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_what_a_request_may_ask_for(fields: dict[str, Any], code: ErrorCode) -> None:
    world = TransactionWorld()
    world.load()
    request = InitProducerIdRequest(**{"transactional_id": ID, "transaction_timeout_ms": 1, **fields})
    assert world.coordinator.init_producer_id(request, 6).result().error_code == code


def test_a_two_phase_commit_never_times_out() -> None:
    world = TransactionWorld(config=TransactionConfig(transaction_two_phase_commit_enable=True))
    world.load()
    request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=0, enable2_pc=True)
    response = world.coordinator.init_producer_id(request, 6).result()
    assert world.state().txn_timeout_ms == TWO_PHASE_COMMIT_TIMEOUT_MS
    world.add(ProducerIdAndEpoch(response.producer_id, 0)).result()
    world.advance(TWO_PHASE_COMMIT_TIMEOUT_MS + 10_000)
    assert world.state().state is S.ONGOING
