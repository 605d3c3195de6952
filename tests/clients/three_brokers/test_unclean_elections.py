"""A leader that was behind takes over, and records are gone (KIP-320): consumers notice, producers go on."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.clients.admin import ElectionType
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.record_errors import PositionTruncatedError
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from tests.clients.admin.waiting import eventually
from tests.clients.consumer.writing import numbered, read, reading
from tests.clients.producer.produced import stored
from tests.clients.three_brokers.replicas import await_leader, place_topic
from tests.clients.three_brokers.trouble import run
from tests.node_cluster import NodeCluster

KEPT = numbered(10)
LOST = numbered(10, 10)


@pytest.fixture
def partition(brokers: NodeCluster, admin: Admin, topic: str) -> Iterator[TopicPartition]:
    """A partition of two brokers, the first of which leads."""
    place_topic(admin, topic, {0: [1, 2]}, min_insync_replicas="1")
    yield TopicPartition(topic, 0)
    admin.delete_topics([topic])


def isr(admin: Admin, partition: TopicPartition) -> set[int]:
    return set(admin.describe_topics([partition.topic])[partition.topic].partitions[0].isr)


async def lose_records(brokers: NodeCluster, admin: Admin, partition: TopicPartition, producer: Producer) -> None:
    """Write some records to both brokers and some to the first, which then dies: the second leads without them."""

    async def write(values: list[bytes]) -> None:
        for value in values:
            await producer.send_and_wait(partition.topic, value, partition=0)

    await write(KEPT)
    await asyncio.to_thread(eventually, lambda: isr(admin, partition) == {1, 2})
    brokers.nodes[2].kill()
    await asyncio.to_thread(eventually, lambda: isr(admin, partition) == {1})
    await write(LOST)


def elect_the_other(brokers: NodeCluster, admin: Admin, partition: TopicPartition) -> None:
    brokers.nodes[1].kill()
    brokers.nodes[2].start()
    eventually(lambda: {node.id for node in admin.describe_cluster().nodes} == {2, 3})
    admin.elect_leaders(ElectionType.UNCLEAN, [partition])
    await_leader(admin, partition, {2})


def test_a_consumer_goes_on_where_the_logs_part_or_says_so(
    brokers: NodeCluster, admin: Admin, partition: TopicPartition
) -> None:
    bootstrap = brokers.bootstrap

    async def story() -> None:
        strict: Consumer[bytes, bytes]
        async with (
            Producer(bootstrap_servers=bootstrap, linger_ms=0) as producer,
            reading(bootstrap, partition) as consumer,
            reading(bootstrap, partition, auto_offset_reset="none") as strict,
        ):
            strict.seek(partition, 0)
            await lose_records(brokers, admin, partition, producer)
            for each in (consumer, strict):
                assert [record.value for record in await read(each, 20)] == [*KEPT, *LOST]
            await asyncio.to_thread(elect_the_other, brokers, admin, partition)
            with pytest.raises(PositionTruncatedError) as caught:
                while True:
                    assert await strict.poll(500) == []
            assert caught.value.offset == 20
            divergent = caught.value.divergent
            assert isinstance(divergent, OffsetAndMetadata)
            assert divergent.offset == 10
            strict.seek(partition, divergent.offset)
            # The same producer: it is not bothered by what the broker has forgotten of it.
            for value in numbered(5, 100):
                await producer.send_and_wait(partition.topic, value, partition=0)
            for each in (consumer, strict):
                records = await read(each, 5)
                assert [record.value for record in records] == numbered(5, 100)
                assert [record.offset for record in records] == list(range(10, 15))
        assert [record.value for record in stored(brokers, partition.topic)] == [*KEPT, *numbered(5, 100)]

    run(story())


def test_offsets_that_were_committed_are_beyond_the_end(
    brokers: NodeCluster, admin: Admin, partition: TopicPartition
) -> None:
    """A member that comes later is told by the epoch in the commit that what it would skip was never read."""

    async def story() -> None:
        settings: dict[str, Any] = {"group_id": partition.topic, "enable_auto_commit": False}
        async with Producer(bootstrap_servers=brokers.bootstrap, linger_ms=0) as producer:
            await lose_records(brokers, admin, partition, producer)
            async with reading(brokers.bootstrap, partition, **settings) as consumer:
                await read(consumer, 20)
                await consumer.commit()
            await asyncio.to_thread(elect_the_other, brokers, admin, partition)
            for value in numbered(15, 100):
                await producer.send_and_wait(partition.topic, value, partition=0)
        async with reading(brokers.bootstrap, partition, **settings, auto_offset_reset="none") as strict:
            with pytest.raises(PositionTruncatedError):
                while True:
                    assert await strict.poll(500) == []
        async with reading(brokers.bootstrap, partition, **settings) as consumer:
            assert [record.value for record in await read(consumer, 15)] == numbered(15, 100)

    run(story())
