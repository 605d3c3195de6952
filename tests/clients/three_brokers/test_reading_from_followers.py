"""Consumers with a client.rack read from the replica that is near (KIP-392), and from others when it is not there."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from typing import Any

import pytest

from ottla.clients.admin import ElectionType
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.producer.producer import Producer
from ottla.clients.sync.admin import Admin
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.fetch import FetchRequest
from tests.clients.admin.waiting import eventually
from tests.clients.consumer.writing import numbered, read, reading
from tests.clients.three_brokers.replicas import await_leader, make_topic
from tests.clients.three_brokers.trouble import run
from tests.node_cluster import NodeCluster


class Asked:
    """Which brokers a consumer's records have come from, and how often each was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._nodes: list[int] = []
        self._asks: Counter[int] = Counter()
        send = ClusterClient.send

        def noted(cluster: ClusterClient, node: Any, request: Any, **options: Any) -> Awaitable[Any]:
            answer = send(cluster, node, request, **options)
            if isinstance(request, FetchRequest):
                self._asks[node] += 1
                answer.add_done_callback(lambda done: self._note(node, done))  # type: ignore[attr-defined]
            return answer

        monkeypatch.setattr(ClusterClient, "send", noted)

    def take(self) -> set[int]:
        """Those since the last call."""
        taken, self._nodes = set(self._nodes), []
        return taken

    def ask_count(self, node_id: int) -> int:
        """How many fetches were sent to a broker."""
        return self._asks[node_id]

    def _note(self, node_id: int, done: "asyncio.Future[Any]") -> None:
        if done.cancelled() or done.exception() is not None:
            return
        if any(data.records for topic in done.result().responses for data in topic.partitions):
            self._nodes.append(node_id)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch)


class Passing:
    """Records that are written and read."""

    def __init__(
        self, producer: Producer, consumer: Consumer[Any, Any], partition: TopicPartition, asked: Asked
    ) -> None:
        self._producer = producer
        self._consumer = consumer
        self._partition = partition
        self._asked = asked
        self._first = 0

    async def until_from(self, node_id: int) -> None:
        """Write ten records and read them, until they all come from this broker."""
        self._asked.take()
        while True:
            values = numbered(10, self._first)
            self._first += 10
            for value in values:
                await self._producer.send_and_wait(self._partition.topic, value, partition=self._partition.partition)
            assert [record.value for record in await read(self._consumer, 10)] == values
            if self._asked.take() == {node_id}:
                return


async def reassign(admin: Admin, partition: TopicPartition, replicas: list[int]) -> None:
    await asyncio.to_thread(admin.alter_partition_reassignments, {partition: replicas})
    await asyncio.to_thread(eventually, lambda: not admin.list_partition_reassignments([partition]))


def test_the_replica_in_the_clients_rack_is_read(brokers: NodeCluster, admin: Admin, topic: str, asked: Asked) -> None:
    partition = TopicPartition(make_topic(admin, topic, [1]), 0)

    async def story() -> None:
        async with (
            Producer(bootstrap_servers=brokers.bootstrap) as producer,
            reading(brokers.bootstrap, partition, client_rack="rack-3") as consumer,
        ):
            passing = Passing(producer, consumer, partition, asked)
            await passing.until_from(3)

            # Another leader says the same, if it is not in the rack itself.
            for leader in (2, 3, 1):
                await reassign(admin, partition, [leader, *({1, 2, 3} - {leader})])
                await asyncio.to_thread(admin.elect_leaders, ElectionType.PREFERRED, [partition])
                await asyncio.to_thread(await_leader, admin, partition, {leader})
                await passing.until_from(3)

            brokers.nodes[3].kill()
            await passing.until_from(1)

    run(story())


def test_a_rack_without_a_replica_reads_from_the_leader(
    brokers: NodeCluster, admin: Admin, topic: str, asked: Asked
) -> None:
    partition = TopicPartition(make_topic(admin, topic, [1]), 0)

    async def story() -> None:
        async with (
            Producer(bootstrap_servers=brokers.bootstrap) as producer,
            reading(brokers.bootstrap, partition, client_rack="elsewhere") as consumer,
        ):
            await Passing(producer, consumer, partition, asked).until_from(1)

    run(story())


def test_a_replica_that_goes_away_and_comes_back(brokers: NodeCluster, admin: Admin, topic: str, asked: Asked) -> None:
    """The leader says so, which is read from meanwhile."""
    partition = TopicPartition(make_topic(admin, topic, [1]), 0)

    async def story() -> None:
        async with (
            Producer(bootstrap_servers=brokers.bootstrap) as producer,
            reading(brokers.bootstrap, partition, client_rack="rack-2") as consumer,
        ):
            passing = Passing(producer, consumer, partition, asked)
            await passing.until_from(2)
            await reassign(admin, partition, [1, 3])
            await passing.until_from(1)
            await reassign(admin, partition, [1, 2])
            await passing.until_from(2)

    run(story())


def test_the_leader_is_asked_again_when_metadata_is_old(
    brokers: NodeCluster, admin: Admin, topic: str, asked: Asked
) -> None:
    """A replica that falls behind keeps its readers, as long as it answers; but not for good."""
    partition = TopicPartition(make_topic(admin, topic, [1]), 0)

    async def story() -> None:
        async with (
            Producer(bootstrap_servers=brokers.bootstrap) as producer,
            reading(brokers.bootstrap, partition, client_rack="rack-2", metadata_max_age_ms=300) as consumer,
        ):
            passing = Passing(producer, consumer, partition, asked)
            await passing.until_from(2)
            leader_was_asked = asked.ask_count(1)
            while asked.ask_count(1) < leader_was_asked + 2:
                await passing.until_from(2)

    run(story())
