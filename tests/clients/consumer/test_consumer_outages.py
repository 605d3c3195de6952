"""Brokers that die, stand still and come back, and topics that go: never a silent stall."""

import asyncio

import pytest

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.health import HealthState
from ottla.clients.errors import KafkaTimeoutError
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer.writing import delete_topic, make_topic, numbered, poll_until, read, reading, write, written
from tests.node import Node


def test_a_broker_that_is_killed_and_started_again(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, max_poll_records=4) as consumer:
            seen = await read(consumer, 4)
            kafka.kill()
            seen += await poll_until(
                consumer, lambda: consumer.health().state in (HealthState.BROKER_UNREACHABLE, HealthState.NO_LEADER)
            )
            assert len(consumer.health().reason) > 10
            await asyncio.to_thread(kafka.start)
            await asyncio.to_thread(write, kafka.bootstrap, topic, numbered(5, 10))
            seen += await read(consumer, 15 - len(seen))
            assert [record.value for record in seen] == numbered(15)
            await poll_until(consumer, lambda: consumer.health().is_fine)

    asyncio.run(run())


def test_a_broker_that_stands_still(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 3)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, request_timeout_ms=2_000) as consumer:
            assert len(await read(consumer, 3)) == 3
            with kafka.paused():
                await poll_until(consumer, lambda: consumer.health().state is HealthState.BROKER_UNREACHABLE)
                assert "ago" in consumer.health().reason
            await asyncio.to_thread(write, kafka.bootstrap, topic, numbered(3, 3))
            assert [record.value for record in await read(consumer, 3)] == numbered(3, 3)

    asyncio.run(run())


def test_a_topic_that_is_deleted_and_made_again(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(
            kafka.bootstrap, partition, allow_auto_create_topics=False, metadata_max_age_ms=500
        ) as consumer:
            assert len(await read(consumer, 10)) == 10
            delete_topic(kafka.bootstrap, topic)
            assert await poll_until(consumer, lambda: consumer.health().state is HealthState.TOPIC_MISSING) == []
            assert topic in consumer.health().reason
            make_topic(kafka.bootstrap, topic)
            await asyncio.to_thread(write, kafka.bootstrap, topic, numbered(4, 100))
            assert [record.value for record in await read(consumer, 4)] == numbered(4, 100)

    asyncio.run(run())


def test_a_topic_that_is_not_there_yet(kafka: Node, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, allow_auto_create_topics=False) as consumer:
            await poll_until(consumer, lambda: consumer.health().state is HealthState.TOPIC_MISSING)
            make_topic(kafka.bootstrap, topic)
            await asyncio.to_thread(write, kafka.bootstrap, topic, numbered(2))
            assert [record.value for record in await read(consumer, 2)] == numbered(2)

    asyncio.run(run())


def test_nobody_there() -> None:
    async def run() -> None:
        consumer: Consumer[bytes, bytes] = Consumer(bootstrap_servers="127.0.0.1:1", default_api_timeout_ms=300)
        with pytest.raises(KafkaTimeoutError):
            async with consumer:
                pass

    asyncio.run(run())
