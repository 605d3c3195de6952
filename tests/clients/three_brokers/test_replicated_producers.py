"""An idempotent producer under load while leaders die and move: every record once, in order."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa
import pytest

from ottla.clients.admin import ElectionType
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from tests.clients.admin.waiting import eventually
from tests.clients.producer.produced import stored
from tests.clients.three_brokers.replicas import await_in_sync, await_leader, leader_of, make_topic
from tests.clients.three_brokers.trouble import repeat_during, run
from tests.node_cluster import NodeCluster

PARTITIONS = 3
SOME = 60
WAYS = pytest.mark.parametrize("way", ["send", "send_batch"])


class Load:
    """Numbers, one partition after the other, of which all are acknowledged."""

    def __init__(self, producer: Producer, topic: str, way: str) -> None:
        self._producer = producer
        self._topic = topic
        self._send = self._send_each if way == "send" else self._send_table
        self._deliveries: list[Awaitable[Any]] = []
        self.sent = 0

    async def during(self, trouble: Callable[[], None]) -> None:
        """Send until the trouble is over, and some more."""

        async def send_some() -> None:
            await self._send()
            await asyncio.sleep(0.01)

        await self._send()
        await self._deliveries[0]
        await repeat_during(trouble, send_some)

    async def check(self, brokers: NodeCluster) -> None:
        """Every record is there once, and in order."""
        await self._producer.flush()
        for delivery in self._deliveries:
            await delivery
        records = await asyncio.to_thread(stored, brokers, self._topic)
        found = [(record.partition, int(record.value or b"")) for record in records]
        expected = [(index, number) for index in range(PARTITIONS) for number in range(index, self.sent, PARTITIONS)]
        assert len(found) == len(expected)
        assert found == expected

    def _next(self) -> range:
        first, self.sent = self.sent, self.sent + SOME
        return range(first, self.sent)

    async def _send_each(self) -> None:
        for number in self._next():
            delivery = await self._producer.send(self._topic, b"%050d" % number, partition=number % PARTITIONS)
            self._deliveries.append(delivery)

    async def _send_table(self) -> None:
        numbers = self._next()
        columns = {
            "value": pa.array([b"%050d" % number for number in numbers]),
            "partition": pa.array([number % PARTITIONS for number in numbers], pa.int32()),
        }
        self._deliveries.append(await self._producer.send_batch(self._topic, pa.table(columns)))


def produce_during(brokers: NodeCluster, topic: str, way: str, trouble: Callable[[], None], **settings: Any) -> None:
    async def story() -> None:
        async with Producer(bootstrap_servers=brokers.bootstrap, batch_size=500, linger_ms=0, **settings) as producer:
            load = Load(producer, topic, way)
            await load.during(trouble)
            await load.check(brokers)
            assert producer.metrics()["record-error-total"] == 0
            assert producer.metrics()["record-retry-total"] > 0, "nothing was on its way"

    run(story())


@WAYS
def test_leaders_that_are_killed_and_come_back(brokers: NodeCluster, admin: Admin, topic: str, way: str) -> None:
    make_topic(admin, topic, [1, 2, 1])

    def trouble() -> None:
        brokers.nodes[1].kill()
        await_leader(admin, TopicPartition(topic, 0), {2, 3})
        brokers.start()
        await_in_sync(admin, topic)
        admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)])
        await_leader(admin, TopicPartition(topic, 0), {1})

    produce_during(brokers, topic, way, trouble)


@WAYS
def test_a_leader_that_stands_still(brokers: NodeCluster, admin: Admin, topic: str, way: str) -> None:
    """Requests to it are given up. When it wakes it takes them, and finds out only then that others lead."""
    make_topic(admin, topic, [1, 2, 1])

    soon: dict[str, Any] = {"request_timeout_ms": 1_000}

    def trouble() -> None:
        with Admin(bootstrap_servers=brokers.bootstrap, **soon) as asking, brokers.nodes[1].paused():
            await_leader(asking, TopicPartition(topic, 0), {2, 3})
            await_leader(asking, TopicPartition(topic, 2), {2, 3})
        await_in_sync(admin, topic)

    produce_during(brokers, topic, way, trouble, **soon)


@WAYS
def test_leaders_that_move(brokers: NodeCluster, admin: Admin, topic: str, way: str) -> None:
    """Another replica becomes the preferred one and is elected; then the leader's replica goes away."""
    make_topic(admin, topic, [1, 2, 3])
    partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]

    def reassign(*replicas: list[int]) -> None:
        admin.alter_partition_reassignments(dict(zip(partitions, replicas, strict=True)))
        eventually(lambda: not admin.list_partition_reassignments(partitions))

    def trouble() -> None:
        reassign([2, 3, 1], [3, 1, 2], [1, 2, 3])
        assert [leader_of(admin, each) for each in partitions] == [1, 2, 3]
        assert admin.elect_leaders(ElectionType.PREFERRED, partitions) == dict.fromkeys(partitions)
        for partition, leader in zip(partitions, (2, 3, 1), strict=True):
            await_leader(admin, partition, {leader})
        reassign([3, 1], [1, 2], [2, 3])
        for partition, others in zip(partitions, ({1, 3}, {1, 2}, {2, 3}), strict=True):
            await_leader(admin, partition, others)

    produce_during(brokers, topic, way, trouble)
