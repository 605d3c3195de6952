"""Where a consumer begins, how it is moved, and what happens when the log has not what it asks for."""

import asyncio

import pytest

from ottla.clients.consumer.offset_and_metadata import OffsetAndTimestamp
from ottla.clients.consumer.record_errors import PositionOutOfRangeError
from ottla.clients.errors import KafkaTimeoutError, NoOffsetForPartitionError, UnknownTopicOrPartitionError
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer.writing import (
    delete_records,
    make_topic,
    numbered,
    poll_until,
    read,
    reading,
    write,
    written,
)
from tests.node import Node


def test_latest_begins_at_the_end(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 5)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, auto_offset_reset="latest") as consumer:
            assert await consumer.position(partition) == 5
            write(kafka.bootstrap, topic, numbered(2, 5))
            assert [record.offset for record in await read(consumer, 2)] == [5, 6]

    asyncio.run(run())


def test_none_is_an_error_until_a_seek(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 5)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, auto_offset_reset="none") as consumer:
            with pytest.raises(NoOffsetForPartitionError):
                await consumer.poll(5000)
            consumer.seek(partition, 3)
            assert [record.offset for record in await read(consumer, 2)] == [3, 4]
            consumer.seek(partition, 100)
            with pytest.raises(PositionOutOfRangeError) as raised:
                await consumer.poll(10_000)
            assert raised.value.offsets == {partition: 100}
            await consumer.seek_to_beginning(partition)
            assert [record.offset for record in await read(consumer, 5)] == [0, 1, 2, 3, 4]

    asyncio.run(run())


def test_by_duration(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 5)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, auto_offset_reset="by_duration:PT1H") as consumer:
            assert await consumer.position(partition) == 0
            assert len(await read(consumer, 5)) == 5

    asyncio.run(run())


@pytest.mark.parametrize(("policy", "expected"), [("earliest", [3, 4]), ("latest", [5])])
def test_a_position_below_the_log_is_reset(kafka: Node, topic: str, policy: str, expected: list[int]) -> None:
    partition = written(kafka.bootstrap, topic, 5)
    delete_records(kafka.bootstrap, topic, 0, 3)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, auto_offset_reset=policy) as consumer:
            consumer.seek(partition, 1)
            if policy == "latest":
                await poll_until(consumer, lambda: consumer.metrics().get(f"records-lag{{{partition}}}") == 0)
                write(kafka.bootstrap, topic, numbered(1, 5))
            assert [record.offset for record in await read(consumer, len(expected))] == expected
            assert await consumer.beginning_offsets([partition]) == {partition: 3}

    asyncio.run(run())


def test_records_that_are_deleted_under_a_reader(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, max_poll_records=2) as consumer:
            assert [record.offset for record in await read(consumer, 2)] == [0, 1]
            consumer.pause(partition)
            await consumer.poll(0)
            delete_records(kafka.bootstrap, topic, 0, 8)
            consumer.seek(partition, 2)  # drops what is buffered
            consumer.resume(partition)
            assert [record.offset for record in await read(consumer, 2)] == [8, 9]

    asyncio.run(run())


def test_offsets_by_time(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    base = 1_700_000_000_000
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(10):
        producer.produce(topic, b"x", partition=0, timestamp=base + number * 1000)
    assert producer.flush(30) == 0
    one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def run() -> None:
        async with reading(kafka.bootstrap, one, other) as consumer:
            found = await consumer.offsets_for_times({one: base + 3500, other: base})
            place = found[one]
            assert isinstance(place, OffsetAndTimestamp)
            assert (place.offset, place.timestamp_ms) == (4, base + 4000)
            assert found[other] is None
            assert await consumer.offsets_for_times({one: base + 3_600_000}) == {one: None}
            assert await consumer.beginning_offsets([one, other]) == {one: 0, other: 0}
            assert await consumer.end_offsets([one, other]) == {one: 10, other: 0}
            consumer.seek(one, place.offset)
            assert [record.offset for record in await read(consumer, 6)] == [4, 5, 6, 7, 8, 9]
            assert await consumer.lag(one) == 0
            await consumer.seek_to_end(one)
            assert await consumer.position(one) == 10
            with pytest.raises(UnknownTopicOrPartitionError):
                await consumer.end_offsets([TopicPartition(topic, 9)])
            assert len(await consumer.partitions_for(topic)) == 2

    asyncio.run(run())


def test_a_topic_that_never_comes_is_a_timeout(kafka: Node, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, allow_auto_create_topics=False) as consumer:
            with pytest.raises((KafkaTimeoutError, UnknownTopicOrPartitionError)):
                await consumer.end_offsets([partition], timeout_ms=500)
            with pytest.raises(KafkaTimeoutError):
                await consumer.position(partition, timeout_ms=300)

    asyncio.run(run())
