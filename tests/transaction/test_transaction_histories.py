"""Random histories of transactional producers; what must hold in them stands in transaction_history.py."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.common.topic_partition import TopicPartition
from ottla.transaction.metadata import PRODUCER_EPOCH_MAX
from tests.transaction.transaction_history import CLIENTS_MAX, DISASTERS, IDS, TransactionHistory
from tests.transaction.transaction_world import A, B, C

EPOCHS = (-1, PRODUCER_EPOCH_MAX - 1, PRODUCER_EPOCH_MAX - 2, PRODUCER_EPOCH_MAX - 5)
PARTITIONS = (A, B, C)
INDEXES = st.integers(0, CLIENTS_MAX - 1)


class TransactionHistories(RuleBasedStateMachine):
    """Short histories, which hypothesis makes shorter still when one of them fails."""

    history: TransactionHistory

    @initialize(version=st.sampled_from([2, 2, 1, 0]), epoch=st.sampled_from(EPOCHS))
    def begin(self, version: int, epoch: int) -> None:
        self.history = TransactionHistory(version, epoch, note)

    @precondition(lambda self: len(self.history.clients) < CLIENTS_MAX)
    @rule(transactional_id=st.sampled_from(IDS), is_v2=st.booleans())
    def start(self, transactional_id: str, is_v2: bool) -> None:
        self.history.start(transactional_id, is_v2)

    @rule(index=INDEXES, partition=st.sampled_from(PARTITIONS))
    def add(self, index: int, partition: TopicPartition) -> None:
        self.history.add(index, partition)

    @rule(index=INDEXES, committed=st.booleans())
    def end(self, index: int, committed: bool) -> None:
        self.history.end(index, committed)

    @rule(index=INDEXES, committed=st.booleans())
    def lose_the_answer_to_an_end(self, index: int, committed: bool) -> None:
        self.history.end(index, committed)
        self.history.lose(index)

    @rule(index=INDEXES, kind=st.sampled_from(["init", "bump"]))
    def initialize_again(self, index: int, kind: str) -> None:
        self.history.initialize_again(index, kind)

    @rule(index=INDEXES, partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1), committed=st.booleans())
    def transact(self, index: int, partitions: set[TopicPartition], committed: bool) -> None:
        self.history.transact(index, sorted(partitions), committed)

    @rule(index=INDEXES)
    def lose(self, index: int) -> None:
        self.history.lose(index)

    @rule(by=st.integers(1, 4))
    def commit(self, by: int) -> None:
        self.history.commit(by)

    @rule(index=st.integers(0, 3))
    def write_markers(self, index: int) -> None:
        self.history.write_markers(index)

    @rule()
    def all_goes_well(self) -> None:
        self.history.all_goes_well()

    @rule(disaster=st.sampled_from(DISASTERS), keep=st.integers(0, 3))
    def suffer(self, disaster: str, keep: int) -> None:
        self.history.suffer(disaster, keep)

    @invariant()
    def every_client_has_its_answer(self) -> None:
        self.history.every_client_has_its_answer()

    def teardown(self) -> None:
        if hasattr(self, "history"):
            self.history.finish()


TestTransactionHistories = TransactionHistories.TestCase
TestTransactionHistories.settings = settings(max_examples=60, stateful_step_count=30)


@pytest.mark.parametrize("seed", range(120))
def test_long_histories(seed: int) -> None:
    """Many transactions in a row, with everything that may come between."""
    rng = Random(seed)
    said: list[str] = []
    history = TransactionHistory(rng.choice((2, 2, 1, 0)), rng.choice(EPOCHS), said.append)

    def index() -> int:
        return rng.randrange(CLIENTS_MAX)

    def committed() -> bool:
        return rng.random() < 0.6

    steps: list[tuple[int, Callable[[], None]]] = [
        (1, lambda: history.start(rng.choice(IDS), rng.random() < 0.5)),
        (10, lambda: history.add(index(), rng.choice(PARTITIONS))),
        (10, lambda: history.end(index(), committed())),
        (3, lambda: history.initialize_again(index(), rng.choice(("init", "bump", "bump")))),
        (6, lambda: history.transact(index(), rng.sample(PARTITIONS, 2), committed())),
        (5, lambda: history.lose(index())),
        (8, lambda: history.commit(rng.randrange(1, 5))),
        (8, lambda: history.write_markers(rng.randrange(3))),
        (9, history.all_goes_well),
        (2, lambda: history.suffer(rng.choice(DISASTERS), rng.randrange(4))),
    ]
    weights, moves = [weight for weight, _ in steps], [move for _, move in steps]
    history.start("x", rng.random() < 0.7)
    try:
        for move in rng.choices(moves, weights, k=200):
            move()
            history.every_client_has_its_answer()
        history.finish()
    except AssertionError as error:
        raise AssertionError("\n".join(said[-40:])) from error
