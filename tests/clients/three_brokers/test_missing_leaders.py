"""Partitions of which nobody is left to lead: the others go on, and who needs these waits, and says for what."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.clients.admin import OffsetSpec
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.health import HealthState
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.clients.sync.producer import Producer as SyncProducer
from ottla.common.topic_partition import TopicPartition
from tests.cli.beside import Beside
from tests.clients.admin.waiting import eventually
from tests.clients.consumer.writing import numbered, poll_until, read, reading
from tests.clients.producer.produced import stored
from tests.clients.three_brokers.replicas import leader_of, make_topic, place_topic
from tests.clients.three_brokers.trouble import run
from tests.node_cluster import NodeCluster
from tests.oracle import Oracle

LOST = 2
"""The partition whose only broker is 3."""


@pytest.fixture
def lonely(brokers: NodeCluster, admin: Admin, topic: str) -> Iterator[str]:
    """Three partitions of one replica each, on 1, 2 and 3, with ten records each."""
    place_topic(admin, topic, {0: [1], 1: [2], 2: [3]}, min_insync_replicas="1")
    with SyncProducer(bootstrap_servers=brokers.bootstrap) as producer:
        for partition in range(3):
            for value in numbered(10):
                producer.send(topic, value, partition=partition)
    yield topic
    brokers.start()
    admin.delete_topics([topic])


def lose(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    brokers.nodes[3].kill()
    eventually(lambda: leader_of(admin, TopicPartition(topic, LOST)) is None)


def test_records_without_a_key_go_where_there_is_a_leader(brokers: NodeCluster, admin: Admin, lonely: str) -> None:
    lose(brokers, admin, lonely)

    async def story() -> None:
        async with Producer(bootstrap_servers=brokers.bootstrap, linger_ms=0, batch_size=100) as producer:
            partitions = set()
            for value in numbered(200):
                partitions.add((await producer.send_and_wait(lonely, value)).partition)
            assert partitions == {0, 1}
            waiting = await producer.send(lonely, b"patience", partition=LOST)
            await producer.send_and_wait(lonely, b"others go on", partition=0)
            hasty: dict[str, Any] = {"request_timeout_ms": 500, "delivery_timeout_ms": 1_000, "linger_ms": 0}
            async with Producer(bootstrap_servers=brokers.bootstrap, **hasty) as other:
                with pytest.raises(KafkaTimeoutError):
                    await other.send_and_wait(lonely, b"too late", partition=LOST)
            await asyncio.to_thread(brokers.start)
            assert (await waiting).offset == 10

    run(story())


def test_a_consumer_reads_the_others_and_says_what_it_waits_for(
    brokers: NodeCluster, admin: Admin, lonely: str
) -> None:
    partitions = [TopicPartition(lonely, index) for index in range(3)]
    lose(brokers, admin, lonely)

    async def story() -> None:
        consumer: Consumer[bytes, bytes]
        async with reading(brokers.bootstrap, *partitions) as consumer:
            assert {record.partition for record in await read(consumer, 20)} == {0, 1}
            assert await poll_until(consumer, lambda: not consumer.health().is_fine) == []
            assert consumer.health().state is HealthState.NO_LEADER
            assert f"{lonely}-{LOST}" in consumer.health().reason
            with pytest.raises(KafkaTimeoutError):
                await consumer.end_offsets(partitions, timeout_ms=500)
            assert await consumer.end_offsets(partitions[:2]) == {partitions[0]: 10, partitions[1]: 10}
            await asyncio.to_thread(brokers.start)
            assert {record.partition for record in await read(consumer, 10)} == {LOST}
            await poll_until(consumer, lambda: consumer.health().is_fine)

    run(story())


def test_a_follower_without_which_nothing_is_taken(brokers: NodeCluster, admin: Admin, topic: str) -> None:
    """Leaders that miss replicas refuse records, some of them after they have written them: none is there twice."""
    make_topic(admin, topic, [1], min_insync_replicas="3")

    async def story() -> None:
        settings: dict[str, Any] = {"linger_ms": 0, "batch_size": 100, "request_timeout_ms": 1_500}
        async with Producer(bootstrap_servers=brokers.bootstrap, **settings) as producer:
            await producer.send_and_wait(topic, b"first", partition=0)
            brokers.nodes[3].kill()
            deliveries = [await producer.send(topic, value, partition=0) for value in numbered(50)]
            await asyncio.to_thread(eventually, lambda: not is_whole(admin, topic))
            deliveries += [await producer.send(topic, value, partition=0) for value in numbered(50, 50)]
            await asyncio.to_thread(brokers.start)
            assert [(await delivery).offset for delivery in deliveries] == list(range(1, 101))
            assert producer.metrics()["record-retry-total"] > 0
        assert [record.value for record in stored(brokers, topic)] == [b"first", *numbered(100)]

    run(story())


def is_whole(admin: Admin, topic: str) -> bool:
    return len(admin.describe_topics([topic])[topic].partitions[0].isr) == 3


def test_admin_and_commands_answer_for_the_others(
    brokers: NodeCluster, admin: Admin, lonely: str, oracle: Oracle, tmp_path: Path
) -> None:
    beside = Beside(brokers.bootstrap, oracle)
    partitions = [TopicPartition(lonely, index) for index in range(3)]
    admin.alter_group_offsets(lonely, dict.fromkeys(partitions, OffsetAndMetadata(4)))
    lose(brokers, admin, lonely)
    found = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()), raise_errors=False, timeout_ms=1_000)
    assert isinstance(found.pop(partitions[LOST]), KafkaTimeoutError)
    assert {key: getattr(value, "offset", value) for key, value in found.items()} == dict.fromkeys(partitions[:2], 10)
    hasty = tmp_path / "hasty.properties"
    hasty.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=1000\n")
    options = ("--command-config", str(hasty))
    unavailable = beside.same("topics", "--describe", "--topic", lonely, "--unavailable-partitions")
    assert unavailable.count("Leader: none") == 1
    explained = beside.ours("explain", "topic", lonely)
    assert re.search(r"2\b.*no leader|no leader.*\b2\b", explained.stdout), explained
    beside.same("get-offsets", "--topic", lonely, *options)
    beside.same("consumer-groups", "--describe", "--group", lonely, *options)
