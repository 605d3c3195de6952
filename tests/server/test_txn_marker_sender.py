"""The sender of markers: to leaders here and elsewhere, again where that may help, and no more than is wanted."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.metrics.registry import Registry
from ottla.server.transaction_markers import (
    LOCAL_SLICE,
    RETRY_BACKOFF_MAX_MS,
    RETRY_BACKOFF_MS,
    TransactionMarkerSender,
)
from ottla.server.txn_marker_writer import TxnMarker, Written
from ottla.transaction.markers import TransactionMarkers
from tests.raft.turns import TurnRuntime
from tests.replication.replica_machine import NODE, T0, Broker

T1 = TopicPartition("topic", 1)
AFAR = TopicPartition("afar", 0)
LEADERLESS = TopicPartition("leaderless", 0)
GONE = TopicPartition("gone", 0)

Marked = tuple[TxnMarker, tuple[TopicPartition, ...]]


class Here:
    """Writes markers on this broker: at once with the codes that are planned, or when told to."""

    def __init__(self) -> None:
        self.writes: list[Marked] = []
        self.codes: dict[TopicPartition, list[int]] = {}
        """For each partition the answers to come; 0 after these."""
        self.is_slow = False
        self.answers: list[Callable[[], None]] = []

    def write(self, marker: TxnMarker, partitions: Sequence[TopicPartition], written: Written) -> None:
        self.writes.append((marker, tuple(partitions)))
        codes = {one: self.codes[one].pop(0) if self.codes.get(one) else 0 for one in partitions}
        if self.is_slow:
            self.answers.append(lambda: written(codes))
        else:
            written(codes)


class Elsewhere:
    """Other brokers; the next answers are planned, none means that all is well."""

    def __init__(self, runtime: TurnRuntime) -> None:
        self._runtime = runtime
        self.requests: list[tuple[int, list[Marked]]] = []
        self.answers: list[Mapping[int, Mapping[TopicPartition, int]] | KafkaError] = []
        self.unreachable: set[int] = set()

    def can_reach(self, node_id: int) -> bool:
        return node_id >= 0 and node_id not in self.unreachable

    def write(
        self, node_id: int, markers: Sequence[tuple[TxnMarker, Sequence[TopicPartition]]]
    ) -> Awaitable[Mapping[int, Mapping[TopicPartition, int]]]:
        self.requests.append((node_id, [(marker, tuple(partitions)) for marker, partitions in markers]))
        return self._answer(markers)

    async def _answer(
        self, markers: Sequence[tuple[TxnMarker, Sequence[TopicPartition]]]
    ) -> Mapping[int, Mapping[TopicPartition, int]]:
        await self._runtime.sleep_ms(5)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, KafkaError):
            raise answer
        if answer is None:
            return {marker.producer_id: dict.fromkeys(partitions, 0) for marker, partitions in markers}
        return answer


class World:
    """A sender on broker 1; ``done`` has what was told of each transaction."""

    def __init__(self) -> None:
        self.runtime = TurnRuntime()
        self.broker = Broker()
        self.broker.register(NODE, 2, 3)
        self.topic_id = self.broker.create(partitions=2, replicas=(NODE, 2), isr=(NODE,))
        self.broker.create("afar", replicas=(2,), leader=2)
        self.leaderless_id = self.broker.create("leaderless", replicas=(2,), leader=-1)
        self.here = Here()
        self.elsewhere = Elsewhere(self.runtime)
        self.registry = Registry()
        self.sender = TransactionMarkerSender(
            self.runtime,
            NODE,
            lambda: self.broker.image,
            writer=self.here,
            remote=self.elsewhere,
            registry=self.registry,
        )
        self.done: dict[str, int | None] = {}

    def send(self, *partitions: TopicPartition, transactional_id: str = "txn", **changes: Any) -> None:
        markers = TransactionMarkers(
            transactional_id,
            producer_id=7,
            producer_epoch=2,
            coordinator_epoch=3,
            committed=True,
            partitions=partitions,
            transaction_version=2,
            transaction_log_partition=11,
        )._replace(**changes)

        def done(error: KafkaError | None) -> None:
            assert transactional_id not in self.done, "told twice"
            self.done[transactional_id] = None if error is None else error.code

        self.sender.send(markers, done)

    def close(self) -> None:
        self.runtime.drop()

    def unknown_destinations(self) -> float:
        gauge = self.registry.get(
            "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize"
        )
        return gauge.read()  # type: ignore[union-attr]


@pytest.fixture
def world() -> Iterator[World]:
    with contextlib.closing(World()) as made:
        yield made


MARKER = TxnMarker(7, 2, 3, committed=True, transaction_version=2)


def test_partitions_that_this_broker_leads_are_written_at_once_and_without_a_request(world: World) -> None:
    world.send(T0, T1)
    assert world.here.writes == [(MARKER, (T0, T1))]
    assert world.done == {"txn": None}
    assert world.elsewhere.requests == []
    assert world.sender.pending_count == 0


def test_done_waits_for_the_last_partition_wherever_it_is(world: World) -> None:
    world.send(T0, AFAR)
    assert world.done == {}
    world.runtime.pass_ms(4)
    assert world.elsewhere.requests == [(2, [(MARKER, (AFAR,))])]
    assert world.done == {}
    world.runtime.pass_ms(1)
    assert world.done == {"txn": None}


def test_a_transaction_without_partitions_is_done(world: World) -> None:
    world.send()
    assert world.done == {"txn": None}


def test_partitions_that_no_longer_exist_are_done(world: World) -> None:
    world.send(GONE, T0)
    assert world.here.writes == [(MARKER, (T0,))]
    assert world.done == {"txn": None}


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
    ],
)
def test_what_may_succeed_later_is_tried_again_and_only_that(world: World, code: ErrorCode) -> None:
    world.here.codes[T1] = [code, code]
    world.send(T0, T1)
    assert world.done == {}
    world.runtime.pass_ms(RETRY_BACKOFF_MS - 1)
    assert len(world.here.writes) == 1
    world.runtime.pass_ms(1)
    assert world.here.writes[1:] == [(MARKER, (T1,))]
    world.runtime.pass_ms(2 * RETRY_BACKOFF_MS)
    assert len(world.here.writes) == 3
    assert world.done == {"txn": None}


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_fenced_producer_or_coordinator_ends_it(world: World, code: ErrorCode) -> None:
    world.here.codes = {T0: [ErrorCode.NOT_LEADER_OR_FOLLOWER], T1: [code]}
    world.send(T0, T1)
    assert world.done == {"txn": code}
    world.runtime.pass_ms(10_000)
    assert len(world.here.writes) == 1


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION])
def test_a_partition_that_cannot_have_a_transaction_needs_no_marker(world: World, code: ErrorCode) -> None:
    world.here.codes[T0] = [code]
    world.send(T0)
    assert world.done == {"txn": None}


def test_rounds_come_less_often_while_nothing_succeeds(world: World) -> None:
    world.here.codes[T0] = [ErrorCode.NOT_ENOUGH_REPLICAS] * 100
    world.send(T0)
    world.runtime.pass_ms(20 + 40 + 80 + 160 + 320)
    assert len(world.here.writes) == 6
    world.runtime.pass_ms(4 * RETRY_BACKOFF_MAX_MS)
    assert len(world.here.writes) == 10
    world.send(T1, transactional_id="other")  # a success
    world.runtime.pass_ms(RETRY_BACKOFF_MAX_MS + RETRY_BACKOFF_MS)
    assert len(world.here.writes) == 13


def test_a_partition_without_a_leader_waits_for_one(world: World) -> None:
    world.send(LEADERLESS)
    assert world.unknown_destinations() == 1
    world.runtime.pass_ms(1000)
    assert world.done == {}
    world.broker.change(world.leaderless_id, leader=2)
    world.runtime.pass_ms(1000)
    assert world.elsewhere.requests == [(2, [(MARKER, (LEADERLESS,))])]
    assert world.done == {"txn": None}
    assert world.unknown_destinations() == 0


def test_a_partition_whose_leader_moves_is_followed(world: World) -> None:
    world.here.codes[T0] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    world.send(T0)
    world.broker.change(world.topic_id, 0, isr=(NODE, 2), leader=2)
    world.runtime.pass_ms(1000)
    assert world.elsewhere.requests == [(2, [(MARKER, (T0,))])]
    assert world.done == {"txn": None}


def test_a_deleted_topic_ends_the_wait_for_its_leader(world: World) -> None:
    world.send(LEADERLESS)
    world.broker.delete(world.leaderless_id)
    world.runtime.pass_ms(1000)
    assert world.done == {"txn": None}


def test_a_broker_that_cannot_be_reached_is_waited_for(world: World) -> None:
    world.elsewhere.unreachable.add(2)
    world.send(AFAR)
    world.runtime.pass_ms(100)
    assert world.unknown_destinations() == 1
    world.elsewhere.unreachable.clear()
    world.runtime.pass_ms(1000)
    assert world.done == {"txn": None}


def test_another_broker_gets_one_request_at_a_time_with_all_that_gathered(world: World) -> None:
    world.send(AFAR, transactional_id="a", producer_id=1)
    world.runtime.settle()
    world.send(AFAR, transactional_id="b", producer_id=2)
    world.send(AFAR, transactional_id="c", producer_id=3)
    world.runtime.pass_ms(4)
    assert len(world.elsewhere.requests) == 1
    world.runtime.pass_ms(6)
    assert [[marker.producer_id for marker, _ in markers] for _, markers in world.elsewhere.requests] == [[1], [2, 3]]
    assert world.done == dict.fromkeys("abc")


def test_a_broker_that_gives_no_answer_is_asked_again(world: World) -> None:
    world.elsewhere.answers = [ApiError(ErrorCode.NETWORK_EXCEPTION), {7: {}}, {}]
    world.send(AFAR)
    world.runtime.pass_ms(1000)
    assert len(world.elsewhere.requests) == 4
    assert world.done == {"txn": None}


def test_a_coordinator_that_moves_away_takes_its_markers_with_it(world: World) -> None:
    world.here.is_slow = True
    world.here.codes[T1] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    world.send(T0, transactional_id="mine", transaction_log_partition=11)
    world.send(LEADERLESS, AFAR, transactional_id="waiting", transaction_log_partition=11)
    world.send(LEADERLESS, transactional_id="other", transaction_log_partition=12)
    world.sender.cancel(11)
    for answer in world.here.answers:
        answer()
    assert world.unknown_destinations() == 1
    world.broker.delete(world.leaderless_id)
    world.runtime.pass_ms(1000)
    assert world.done == {"other": None}
    assert world.elsewhere.requests == []


def test_a_later_decision_replaces_the_markers_under_way(world: World) -> None:
    world.here.is_slow = True
    first: list[KafkaError | None] = []
    markers = TransactionMarkers("txn", 7, 1, 3, True, (T0,), 2, 11)
    world.sender.send(markers, first.append)
    world.send(T0, producer_epoch=2)
    world.here.answers[0]()
    assert (first, world.done) == ([], {})
    world.here.answers[1]()
    assert (first, world.done) == ([], {"txn": None})


def test_an_answer_to_replaced_markers_means_nothing(world: World) -> None:
    world.here.is_slow = True
    world.here.codes[T0] = [ErrorCode.INVALID_PRODUCER_EPOCH]
    world.sender.send(TransactionMarkers("txn", 7, 1, 3, True, (T0,), 2, 11), lambda _error: pytest.fail("replaced"))
    world.send(T0, producer_epoch=2)
    world.here.answers[0]()
    assert world.sender.pending_count == 1
    world.here.answers[1]()
    assert world.done == {"txn": None}


def test_a_large_transaction_leaves_turns_to_others(world: World) -> None:
    world.broker.create("wide", partitions=3 * LOCAL_SLICE)
    world.send(*(TopicPartition("wide", index) for index in range(3 * LOCAL_SLICE)))
    assert world.here.writes == []
    world.runtime.settle()
    assert [len(partitions) for _, partitions in world.here.writes] == [LOCAL_SLICE] * 3
    assert world.done == {"txn": None}


def test_a_broker_that_stops_sends_nothing_more(world: World) -> None:
    world.send(AFAR, LEADERLESS)
    world.sender.close()
    world.runtime.pass_ms(1000)
    assert world.done == {}
    assert world.sender.pending_count == 0


_CODES = st.sampled_from(
    [0, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNSUPPORTED_VERSION]
)


@given(
    data=st.data(),
    count=st.integers(1, 4),
    is_slow=st.booleans(),
)
def test_every_transaction_is_told_once_however_its_partitions_answer(
    data: st.DataObject, count: int, is_slow: bool
) -> None:
    with contextlib.closing(World()) as world:
        world.here.is_slow = is_slow
        for one in (T0, T1):
            world.here.codes[one] = data.draw(st.lists(_CODES, max_size=6))
        world.elsewhere.answers = [
            {number: {AFAR: code} for number in range(count)} for code in data.draw(st.lists(_CODES, max_size=6))
        ]
        wanted: dict[str, set[TopicPartition]] = {}
        for number in range(count):
            name = f"txn-{number}"
            wanted[name] = data.draw(st.sets(st.sampled_from([T0, T1, AFAR, GONE])))
            world.send(*sorted(wanted[name]), transactional_id=name, producer_id=number)
        for _ in range(40):
            answers, world.here.answers = world.here.answers, []
            for answer in answers:
                answer()
            world.runtime.pass_ms(500)
        assert world.done == dict.fromkeys(wanted)
        assert world.sender.pending_count == 0
