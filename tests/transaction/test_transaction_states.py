"""The states of a transaction: every legal transition is made by some operation, every other one is refused."""

import itertools
from collections.abc import Callable

import pytest

from ottla.transaction.metadata import NO_PARTITIONS, TransactionMetadata
from ottla.transaction.state import VALID_PREVIOUS_STATES, TransactionState
from ottla.transaction.transaction_version import TransactionVersion
from tests.transaction.transaction_world import A

S = TransactionState
V0, V2 = TransactionVersion.TV_0, TransactionVersion.TV_2

LEGAL = {
    (S.EMPTY, S.EMPTY),
    (S.EMPTY, S.ONGOING),
    (S.EMPTY, S.PREPARE_ABORT),
    (S.EMPTY, S.DEAD),
    (S.ONGOING, S.ONGOING),
    (S.ONGOING, S.PREPARE_COMMIT),
    (S.ONGOING, S.PREPARE_ABORT),
    (S.ONGOING, S.PREPARE_EPOCH_FENCE),
    (S.PREPARE_EPOCH_FENCE, S.PREPARE_ABORT),
    (S.PREPARE_COMMIT, S.COMPLETE_COMMIT),
    (S.PREPARE_ABORT, S.COMPLETE_ABORT),
    (S.COMPLETE_COMMIT, S.EMPTY),
    (S.COMPLETE_COMMIT, S.ONGOING),
    (S.COMPLETE_COMMIT, S.PREPARE_ABORT),
    (S.COMPLETE_COMMIT, S.DEAD),
    (S.COMPLETE_ABORT, S.EMPTY),
    (S.COMPLETE_ABORT, S.ONGOING),
    (S.COMPLETE_ABORT, S.PREPARE_ABORT),
    (S.COMPLETE_ABORT, S.DEAD),
}

MAKE: dict[TransactionState, Callable[[TransactionMetadata], TransactionMetadata]] = {
    S.EMPTY: lambda one: one.prepare_increment_producer_epoch(1, last_producer_epoch=-1, now_ms=7),
    S.ONGOING: lambda one: one.prepare_add_partitions([A], V2, 7),
    S.PREPARE_COMMIT: lambda one: one.prepare_abort_or_commit(S.PREPARE_COMMIT, V2, -1, 7),
    S.PREPARE_ABORT: lambda one: one.prepare_abort_or_commit(S.PREPARE_ABORT, V2, -1, 7),
    S.DEAD: TransactionMetadata.prepare_dead,
    S.PREPARE_EPOCH_FENCE: lambda one: one.prepare_fence_producer_epoch(V0),
}


def in_state(state: TransactionState) -> TransactionMetadata:
    return TransactionMetadata("x", 5, 5, -1, 3, -1, 60_000, state, NO_PARTITIONS, -1, 0, V2)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(S, MAKE)))
def test_every_transition_of_the_table_and_no_other_can_be_made(
    before: TransactionState, after: TransactionState
) -> None:
    if (before, after) in LEGAL:
        assert MAKE[after](in_state(before)).state is after
    else:
        with pytest.raises(AssertionError, match=f"from {before.name} to {after.name}"):
            MAKE[after](in_state(before))


@pytest.mark.parametrize("before", S)
def test_only_a_prepared_transaction_can_be_completed_and_only_as_it_was_prepared(before: TransactionState) -> None:
    completed = {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT}.get(before)
    if completed is not None:
        assert in_state(before).prepare_complete(7).state is completed
        assert (before, completed) in LEGAL
    else:
        with pytest.raises(AssertionError, match=f"from {before.name}"):
            in_state(before).prepare_complete(7)


def test_the_table_is_what_this_test_says() -> None:
    assert {(before, after) for after, states in VALID_PREVIOUS_STATES.items() for before in states} == LEGAL


def test_names_are_those_that_clients_know() -> None:
    names = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"]
    assert [state.state_name for state in S] == [*names, "PrepareEpochFence"]
    assert all(S.from_name(state.state_name) is state for state in S)
    assert S.from_name("prepareabort") is None


def test_what_may_expire() -> None:
    assert [state for state in S if state.is_expiration_allowed] == [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]
