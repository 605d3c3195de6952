"""Which partition: keys as Java, others by stickiness and load."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.cluster.metadata import PartitionMetadata
from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.partitioner import RoundRobinPartitioner, murmur2, partition_for_key, to_positive
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.clients.producer.sticky_partitioner import PartitionLoad, StickyPartitioner
from ottla.clients.producer.topic_queue import TopicQueue

# From Apache Kafka's own unit test of murmur2, as unsigned numbers.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "hashed"), KNOWN.items())
def test_murmur2_is_javas(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=200), st.integers(1, 1 << 20))
def test_a_key_always_goes_to_the_same_of_the_partitions(key: bytes, partitions: int) -> None:
    chosen = partition_for_key(key, partitions)
    assert 0 <= chosen < partitions
    assert chosen == to_positive(murmur2(key)) % partitions == partition_for_key(bytes(bytearray(key)), partitions)


def test_the_sign_is_taken_off_and_not_turned() -> None:
    assert to_positive(-1 & 0xFFFFFFFF) == 0x7FFFFFFF
    assert to_positive(1 << 31) == 0


def test_round_robin_takes_turns_among_those_with_a_leader() -> None:
    partitioner = RoundRobinPartitioner()
    assert [partitioner("t", b"k", None, range(3), [0, 2]) for _ in range(4)] == [0, 2, 0, 2]
    assert [partitioner("u", None, None, range(3), []) for _ in range(4)] == [0, 1, 2, 0]


def test_shorter_queues_are_drawn_more_often_and_what_is_out_of_reach_never() -> None:
    sticky = StickyPartitioner(100, Random(1))
    loads = [PartitionLoad(0, 0), PartitionLoad(1, 3), PartitionLoad(2, 1), PartitionLoad(3, 0, is_available=False)]
    drawn = Counter(sticky.draw_by_load(loads, [0, 1, 2]) for _ in range(8_000))
    # By 4, 1 and 3 parts of 8.
    assert drawn[3] == 0
    assert drawn[0] == pytest.approx(4_000, rel=0.1)
    assert drawn[1] == pytest.approx(1_000, rel=0.1)
    assert drawn[2] == pytest.approx(3_000, rel=0.1)


def test_if_none_can_be_reached_any_with_a_leader_will_do_and_then_any() -> None:
    sticky = StickyPartitioner(100, Random(1))
    away = [PartitionLoad(0, 0, is_available=False), PartitionLoad(1, 0, is_available=False)]
    assert {sticky.draw_by_load(away, [1]) for _ in range(50)} == {1}
    assert {sticky.draw_by_load(away, []) for _ in range(50)} == {0, 1}


def topic(partitions: int, *, is_adaptive: bool = False) -> TopicQueue:
    made = TopicQueue("t", 100, Random(1), is_adaptive=is_adaptive)
    made.update(PartitionMetadata(number, 1, 0) for number in range(partitions))
    return made


def put(queues: TopicQueue, partition: int, size: int, *, is_open: bool) -> None:
    """A batch of about this size."""
    queue = queues.partitions[partition]
    batch = ProducerBatch(queue.topic_partition, BatchBuilder(1_000, 1_000), 0, 0)
    queue.open(batch)
    assert queue.builder is not None
    queue.builder.append(0, None, bytes(size), None)
    if not is_open:
        queue.close_builder()


def test_it_stays_until_enough_went_there_and_the_batch_is_full() -> None:
    queues = topic(50)
    first = queues.choose_sticky(lambda _: True)
    assert queues.sticky_partition == first
    put(queues, first, 20, is_open=False)
    assert queues.choose_sticky(lambda _: True) == first, "89 of 100 bytes"
    put(queues, first, 20, is_open=True)
    assert queues.choose_sticky(lambda _: True) == first, "178, but the batch is not full"
    queues.partitions[first].close_builder()
    assert queues.choose_sticky(lambda _: True) != first


def test_it_stays_for_twice_the_size_at_most() -> None:
    queues = topic(50)
    first = queues.choose_sticky(lambda _: True)
    put(queues, first, 300, is_open=True)
    assert queues.choose_sticky(lambda _: True) != first


def test_it_leaves_a_partition_that_is_gone_and_finds_new_ones() -> None:
    queues = topic(1)
    assert queues.choose_sticky(lambda _: True) == 0
    queues.update(PartitionMetadata(number, 1 if number else -1, 0) for number in range(3))
    assert queues.available == [1, 2]
    put(queues, 0, 300, is_open=False)
    assert queues.choose_sticky(lambda _: True) in (1, 2)


def test_an_adaptive_one_avoids_leaders_that_cannot_be_sent_to() -> None:
    for seed in range(20):
        queues = TopicQueue("t", 100, Random(seed), is_adaptive=True)
        queues.update(PartitionMetadata(number, number, 0) for number in range(4))
        assert queues.choose_sticky(lambda node: node == 2) == 2
