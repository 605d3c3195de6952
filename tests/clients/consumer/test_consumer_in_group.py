"""The consumer and its group, seen from the user's side; the group's own tests are in tests/clients/consumer_groups."""

import asyncio
from typing import Any

import pytest

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.health import HealthState
from ottla.clients.sync.consumer import Consumer as SyncConsumer
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer.writing import (
    BOUND_S,
    add_partitions,
    delete_topic,
    make_topic,
    numbered,
    poll_until,
    read,
    write,
    written,
)
from tests.node import Node

PROTOCOLS = ["classic", "consumer"]


def member(kafka: Node, *topics: str, **settings: Any) -> Consumer[Any, Any]:
    given: dict[str, Any] = {"auto_offset_reset": "earliest", "metadata_max_age_ms": 500} | settings
    if given.get("group_protocol") == "classic":
        given |= {"heartbeat_interval_ms": 300, "session_timeout_ms": 6000}
    return Consumer(*topics, bootstrap_servers=kafka.bootstrap, **given)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_goes_on_where_it_left_off(kafka: Node, topic: str, protocol: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    for number in (0, 1):
        write(kafka.bootstrap, topic, numbered(10), partition=number)

    async def run() -> None:
        async with member(kafka, topic, group_id=topic, group_protocol=protocol) as consumer:
            seen = []
            async for record in consumer:
                seen.append(record)
                if len(seen) == 7:
                    break
            assert consumer.assignment() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
            assert consumer.subscription() == {topic}
        async with member(kafka, topic, group_id=topic, group_protocol=protocol) as consumer:
            seen += await read(consumer, 13)
            await poll_until(consumer, lambda: consumer.health().state is HealthState.AT_END)
        places = sorted((record.partition, record.offset) for record in seen)
        assert places == [(partition, offset) for partition in (0, 1) for offset in range(10)]

    asyncio.run(run())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrow_commits_what_it_handed_out(kafka: Node, topic: str, protocol: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with member(kafka, topic, group_id=topic, group_protocol=protocol, enable_auto_commit=False) as consumer:
            async for batch in consumer.arrow(max_rows=4):
                assert batch.column("offset").to_pylist() == [0, 1, 2, 3]
                await consumer.commit()
                break
            committed = (await consumer.committed(partition))[partition]
            assert committed is not None
            assert committed.offset == 4
        async with member(kafka, topic, group_id=topic, group_protocol=protocol) as consumer:
            assert [record.offset for record in await read(consumer, 6)] == list(range(4, 10))

    asyncio.run(run())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_partitions_that_are_added_join_the_assignment(kafka: Node, topic: str, protocol: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(3))

    async def run() -> None:
        async with member(kafka, topic, group_id=topic, group_protocol=protocol) as consumer:
            await read(consumer, 3)
            add_partitions(kafka.bootstrap, topic, 3)
            write(kafka.bootstrap, topic, numbered(3), partition=2)
            assert {record.partition for record in await read(consumer, 3)} == {2}
            assert len(consumer.assignment()) == 3

    asyncio.run(run())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_members_share_and_listeners_hear(kafka: Node, topic: str, protocol: str) -> None:
    make_topic(kafka.bootstrap, topic, 4)
    for number in range(4):
        write(kafka.bootstrap, topic, numbered(5), partition=number)
    heard: list[tuple[str, frozenset[TopicPartition]]] = []

    class Listener:
        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            heard.append(("assigned", partitions))

        async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            heard.append(("revoked", partitions))

    async def run() -> None:
        settings = {"group_id": topic, "group_protocol": protocol}
        async with member(kafka, topic, listener=Listener(), **settings) as one:
            await read(one, 20)
            assert ("assigned", frozenset(TopicPartition(topic, number) for number in range(4))) in heard
            async with member(kafka, topic, **settings) as other:
                while len(one.assignment()) != 2 or len(other.assignment()) != 2:
                    assert await one.poll(50) == []
                    assert await other.poll(50) == []
                assert not one.assignment() & other.assignment()
            await poll_until(one, lambda: len(one.assignment()) == 4)
            assert any(kind == "revoked" for kind, _ in heard)
            await one.unsubscribe()
            assert one.assignment() == frozenset()
            assert one.health().state is HealthState.NOT_SUBSCRIBED

    asyncio.run(run())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pattern_finds_topics_that_come_later(kafka: Node, topic: str, protocol: str) -> None:
    make_topic(kafka.bootstrap, f"{topic}-one")
    write(kafka.bootstrap, f"{topic}-one", numbered(2))

    async def run() -> None:
        consumer = member(kafka, group_id=topic, group_protocol=protocol)
        consumer.subscribe(pattern=f"{topic}-.*")
        async with consumer:
            await read(consumer, 2)
            make_topic(kafka.bootstrap, f"{topic}-two")
            write(kafka.bootstrap, f"{topic}-two", numbered(3))
            assert {record.topic for record in await read(consumer, 3)} == {f"{topic}-two"}
            assert consumer.subscription() == {f"{topic}-one", f"{topic}-two"}

    asyncio.run(run())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_topic_that_is_deleted_under_a_group(kafka: Node, topic: str, protocol: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(2))

    async def run() -> None:
        settings = {"group_id": topic, "group_protocol": protocol, "allow_auto_create_topics": False}
        async with member(kafka, topic, **settings) as consumer:
            await read(consumer, 2)
            delete_topic(kafka.bootstrap, topic)
            bad = (HealthState.TOPIC_MISSING, HealthState.NO_ASSIGNMENT)
            assert await poll_until(consumer, lambda: consumer.health().state in bad) == []

    asyncio.run(run())


def test_plain_code_in_a_group(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 5)

    class FromTheThird:
        def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
            for each in partitions:
                consumer.seek(each, 3)

        def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
            consumer.commit({partition: 4})

    consumer: SyncConsumer[Any, Any] = SyncConsumer(bootstrap_servers=kafka.bootstrap, group_id=topic)
    with consumer:
        consumer.subscribe([topic], listener=FromTheThird())
        for record in consumer:
            assert record.offset == 3
            break
        assert [record.offset for record in consumer.consume(1, BOUND_S * 1000)] == [4]
        consumer.unsubscribe()
        committed = consumer.committed(partition)[partition]
        assert committed is not None
        assert committed.offset == 4
