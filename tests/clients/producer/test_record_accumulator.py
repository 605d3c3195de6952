"""Whatever brokers answer, and whenever: nothing is lost, repeated or overtaken, and memory stays within its bound."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.errors import KafkaTimeoutError, RecordTooLargeError
from ottla.clients.producer.batch_builder import NO_ROOM, BatchBuilder
from ottla.clients.producer.batch_completer import PartitionAnswer
from ottla.common.error_code import ErrorCode
from tests.clients.producer.producer_world import World

nodes = st.integers(0, 1)
sends = st.tuples(st.just("send"), st.integers(0, 1), st.integers(8, 90), st.integers(1, 12))
happenings = st.one_of(
    sends,
    sends,
    st.tuples(st.just("run")),
    st.tuples(st.just("run")),
    st.tuples(st.just("answer"), nodes),
    st.tuples(st.just("answer"), nodes),
    st.tuples(st.just("disconnect"), nodes, st.integers(0, 6)),
    st.tuples(st.just("move"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("refresh")),
    st.tuples(st.just("wait"), st.integers(1, 60)),
)


def histories(*others: st.SearchStrategy[tuple[str, int]]) -> st.SearchStrategy[list[tuple[str, int]]]:
    return st.lists(st.one_of(happenings, *others), min_size=15, max_size=80)


def happen(world: World, what: str, *details: int) -> None:
    if what == "send":
        partition, size, count = details
        for _ in range(count):
            world.send(partition, size)
    elif what == "run":
        world.run()
    elif what == "answer":
        world.answer(*details)
    elif what == "disconnect":
        world.disconnect(*details)
    elif what == "move":
        world.move_leader(details[0], is_told=bool(details[1]))
    elif what == "refresh":
        world.refresh()
    elif what == "forget":
        if not any(batch.topic_partition.partition == details[0] for batch in world.accumulator.incomplete):
            world.logs[details[0]].forget_producer()
    else:
        world.now_ms += details[0]
    pool = world.accumulator.pool
    assert 0 <= pool.available_bytes <= pool.total_bytes
    on_the_wire = {batch: None for requests in world.wire.values() for batches, _ in requests for batch in batches}
    held = sum(batch.memory_bytes for batch in {**world.accumulator.incomplete, **on_the_wire})
    assert held == pool.total_bytes - pool.available_bytes
    for batch in world.accumulator.incomplete:
        raw = batch.raw_bytes if batch.builder is None else batch.builder.raw_bytes
        assert raw <= batch.memory_bytes


def check_all_delivered_once_in_order(world: World) -> None:
    for log, sent in zip(world.logs, world.sent, strict=True):
        assert log.values == [value for value, _ in sent]
        for value, delivery in sent:
            offset = delivery.result().offset
            assert offset == -1 or log.values[offset] == value
    assert world.accumulator.pool.available_bytes == world.accumulator.pool.total_bytes
    assert not world.accumulator.has_undrained


@settings(max_examples=300)
@given(histories(), st.integers(1, 5))
def test_an_idempotent_producer_delivers_each_record_once_and_in_order(
    history: list[tuple[str, int]], max_in_flight: int
) -> None:
    world = World(max_in_flight=max_in_flight)
    for event in history:
        happen(world, *event)
    world.settle()
    check_all_delivered_once_in_order(world)


@settings(max_examples=200)
@given(histories(), st.integers(1, 5), st.integers(180, 300))
def test_batches_that_are_too_large_are_split_and_delivered_as_well(
    history: list[tuple[str, int]], max_in_flight: int, message_max_bytes: int
) -> None:
    world = World(max_in_flight=max_in_flight, message_max_bytes=message_max_bytes, batch_size=400, buffer_memory=4000)
    for event in history:
        happen(world, *event)
    world.settle()
    check_all_delivered_once_in_order(world)


@settings(max_examples=200)
@given(histories(st.tuples(st.just("forget"), st.integers(0, 1))))
def test_a_broker_that_forgets_a_producer_loses_and_repeats_nothing(history: list[tuple[str, int]]) -> None:
    world = World()
    for event in history:
        happen(world, *event)
    world.settle()
    check_all_delivered_once_in_order(world)


@settings(max_examples=300)
@given(histories(st.tuples(st.just("wait"), st.integers(100, 400))))
def test_what_took_too_long_is_delivered_at_most_once_and_the_rest_exactly_once(history: list[tuple[str, int]]) -> None:
    world = World(delivery_timeout_ms=300)
    for event in history:
        happen(world, *event)
    world.settle()
    for log, sent in zip(world.logs, world.sent, strict=True):
        assert len(set(log.values)) == len(log.values)
        expected = [value for value, delivery in sent if delivery.exception() is None]
        assert [value for value in log.values if value in expected] == expected
        assert set(log.values) <= {value for value, _ in sent}
        errors = [error for _, delivery in sent if (error := delivery.exception()) is not None]
        assert all(error.retriable for error in errors), errors  # the last one, when there is no time to try again
    assert world.accumulator.pool.available_bytes == world.accumulator.pool.total_bytes


@settings(max_examples=200)
@given(histories())
def test_without_idempotence_one_in_flight_keeps_the_order_and_loses_nothing(history: list[tuple[str, int]]) -> None:
    world = World(idempotent=False, max_in_flight=1)
    for event in history:
        happen(world, *event)
    world.settle()
    for log, sent in zip(world.logs, world.sent, strict=True):
        assert list(dict.fromkeys(log.values)) == [value for value, _ in sent]


def test_without_sequences_the_parts_of_a_batch_keep_their_order_as_well() -> None:
    world = World(idempotent=False, max_in_flight=1, message_max_bytes=200, batch_size=800)
    for _ in range(20):
        assert world.send(0, 50)
    world.settle()
    assert world.metrics.batch_splits > 0
    check_all_delivered_once_in_order(world)


def test_what_lingers_goes_along_with_others_unless_the_node_is_busy_and_it_is_nearly_empty() -> None:
    def world() -> World:
        made = World(partitions=6, buffer_memory=10_000, idempotent=False)
        filled(made, 3)
        assert made.send(2, 8)  # nearly empty
        assert made.send(4, 70)  # more than half full
        return made

    taken = world().accumulator.drain(0, 1000, 0)
    assert [batch.topic_partition.partition for batch in taken] == [0, 2, 4]
    taken = world().accumulator.drain(0, 1000, 0, takes_all=False)
    assert [batch.topic_partition.partition for batch in taken] == [0, 4]
    taken = world().accumulator.drain(0, 1000, 5, takes_all=False)
    assert [batch.topic_partition.partition for batch in taken] == [0, 2, 4], "it has lingered"


def filled(world: World, count: int) -> None:
    for _ in range(count):
        assert world.send(0, 90)


def test_a_batch_lingers_until_it_is_full_or_its_time_is_over() -> None:
    world = World(buffer_memory=10_000)
    assert world.send(0, 20)
    ready = world.accumulator.ready(world.now_ms)
    assert not ready.nodes
    assert ready.next_check_ms == 5
    assert world.accumulator.ready(5).nodes == [0]
    filled(world, 3)
    assert world.accumulator.ready(world.now_ms).nodes == [0]


def test_a_batch_takes_a_record_that_fits_exactly() -> None:
    builder = BatchBuilder(61 + 2 * 17, 1000)
    assert [builder.append(0, None, bytes(10), None) for _ in range(3)] == [0, 1, NO_ROOM]
    assert builder.size_bytes == 61 + 2 * 17


def test_somebody_who_waits_for_memory_ends_the_lingering() -> None:
    world = World(buffer_memory=400)
    assert world.send(0, 20)
    assert world.send(1, 20)
    world.accumulator.pool.wait(200, lambda: None)
    assert world.accumulator.ready(world.now_ms).nodes == [0, 1]


def test_a_flush_and_a_close_end_it_as_well() -> None:
    for attribute in ("flushes_in_progress", "is_closed"):
        world = World()
        assert world.send(0, 20)
        setattr(world.accumulator, attribute, True)
        assert world.accumulator.ready(world.now_ms).nodes == [0]


def test_a_topic_without_a_leader_is_named() -> None:
    world = World()
    assert world.send(0, 20)
    world.leaders[0] = (-1, 1)
    world.refresh()
    ready = world.accumulator.ready(5)
    assert ready.leaderless_topics == ["orders"]
    assert not ready.nodes


def test_a_retry_backs_off_unless_the_leader_has_changed() -> None:
    world = World()
    assert world.send(0, 20)
    world.now_ms = 5
    world.run()
    world.disconnect(0, 0)
    ready = world.accumulator.ready(world.now_ms)
    assert not ready.nodes
    assert 8 <= ready.next_check_ms - world.now_ms <= 12
    world.move_leader(0, is_told=True)
    assert world.accumulator.ready(world.now_ms).nodes == [1]


def test_a_request_holds_one_batch_of_a_partition_and_ends_at_its_size() -> None:
    world = World(partitions=8, buffer_memory=100_000, idempotent=False)
    for partition in range(0, 8, 2):
        for _ in range(4):
            assert world.send(partition, 90)
    first = world.accumulator.drain(0, 600, world.now_ms)
    second = world.accumulator.drain(0, 600, world.now_ms)
    assert [batch.topic_partition.partition for batch in first] == [0, 2, 4]
    assert [batch.topic_partition.partition for batch in second] == [6, 0, 2]


def test_out_of_retries_a_batch_fails_with_the_error() -> None:
    world = World(retries=1)
    assert world.send(0, 20)
    for _ in range(2):
        world.now_ms += 50
        world.run()
        world.disconnect(0, 0)
    assert world.sent[0][0][1].exception() is not None
    assert world.metrics.record_errors == 1


def test_a_single_record_that_is_too_large_for_the_broker_fails() -> None:
    world = World(message_max_bytes=100)
    assert world.send(0, 20)
    assert world.send(0, 90)
    world.settle()
    small, large = world.sent[0]
    assert small[1].result().offset == 0
    assert isinstance(large[1].exception(), RecordTooLargeError)


def test_errors_of_single_records_reach_those() -> None:
    world = World()
    filled(world, 1)
    assert world.send(0, 10)
    world.now_ms = 5
    world.run()
    batches, _ = world.wire[0].popleft()
    answer = PartitionAnswer(ErrorCode.INVALID_RECORD, error_message="bad batch", record_errors=[(1, "no key")])
    world.completer.complete(batches[0], answer, world.now_ms)
    first, second = (delivery.exception() for _, delivery in world.sent[0])
    assert str(second) == "no key"
    assert str(first) == "bad batch"


def test_a_duplicate_that_the_broker_has_forgotten_the_place_of_is_delivered() -> None:
    world = World()
    assert world.send(0, 20)
    world.now_ms = 5
    world.run()
    batches, _ = world.wire[0].popleft()
    world.completer.complete(batches[0], PartitionAnswer(ErrorCode.DUPLICATE_SEQUENCE_NUMBER), world.now_ms)
    assert world.sent[0][0][1].result().offset == -1


@pytest.mark.parametrize("arrives", [True, False])
def test_an_answer_after_the_batch_was_given_up_changes_nothing(arrives: bool) -> None:
    world = World(delivery_timeout_ms=100)
    assert world.send(0, 20)
    world.settle()
    began_ms = world.now_ms
    assert world.send(0, 20)
    world.now_ms = began_ms + 5
    world.run()
    world.now_ms = began_ms + 105
    world.run()
    delivery = world.sent[0][1][1]
    assert isinstance(delivery.exception(), KafkaTimeoutError)
    if arrives:
        world.answer(0)
    else:
        world.disconnect(0, 0)
    assert isinstance(delivery.exception(), KafkaTimeoutError)
    assert world.send(0, 20)
    world.settle()
    assert world.sent[0][2][1].exception() is None
    assert world.metrics.record_retries == 0, "it knew that there might be a gap"
