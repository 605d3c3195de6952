"""Groups of Ottla's consumers and librdkafka's: they understand each other, whoever leads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer as ForeignConsumer

from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer_groups.group_life import Member, create_topic, members_of, produce, until, whole
from tests.node import Node

PARTITIONS = 6


class Foreigner:
    """A librdkafka consumer that is polled in a task."""

    def __init__(self, bootstrap: str, group_id: str, topic: str, protocol: str) -> None:
        by_protocol: dict[str, Any] = {"group.protocol": "consumer"}
        if protocol != "consumer":
            by_protocol = {
                "partition.assignment.strategy": protocol,
                "heartbeat.interval.ms": 150,
                "session.timeout.ms": 6_000,
            }
        self.consumer = ForeignConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group_id,
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 300,
                "log_level": 2,
                **by_protocol,
            }
        )
        self._assigned: set[TopicPartition] = set()
        self.consumer.subscribe([topic], on_assign=self._add, on_revoke=self._remove, on_lost=self._remove)
        self.values: list[int] = []
        self.is_polling = True

    def _add(self, _: object, partitions: list[Any]) -> None:
        self._assigned = self._assigned | {TopicPartition(one.topic, one.partition) for one in partitions}

    def _remove(self, _: object, partitions: list[Any]) -> None:
        self._assigned = self._assigned - {TopicPartition(one.topic, one.partition) for one in partitions}

    def assignment(self) -> set[TopicPartition]:
        """What it reads; asking itself could wait for a rebalance, which waits for us."""
        return self._assigned

    def poll(self) -> None:
        """Read until it is told to stop, in a thread."""
        while self.is_polling:
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values.append(int(message.value() or b""))


@asynccontextmanager
async def foreigner(bootstrap: str, group_id: str, topic: str, protocol: str) -> AsyncIterator[Foreigner]:
    """A librdkafka member for a while."""
    member = Foreigner(bootstrap, group_id, topic, protocol)
    polling = asyncio.get_running_loop().run_in_executor(None, member.poll)
    try:
        yield member
    finally:
        member.is_polling = False
        await polling
        await asyncio.to_thread(member.consumer.close)


@pytest.mark.parametrize("protocol", ["range", "roundrobin", "cooperative-sticky", "consumer"])
@pytest.mark.parametrize("first", ["ottla first", "librdkafka first"])
def test_groups_of_two_kinds_of_clients(kafka: Node, topic: str, protocol: str, first: str) -> None:
    """The first leads a classic group: each of both assigns for the other."""

    async def run() -> None:
        await create_topic(kafka.bootstrap, topic, PARTITIONS)
        ours = [Member(kafka.bootstrap, topic, topic, protocol=protocol) for _ in range(2)]
        if first == "ottla first":
            async with members_of(ours[0]):
                await until(lambda: len(ours[0].consumer.assignment()) == PARTITIONS, "having all")
                async with foreigner(kafka.bootstrap, topic, topic, protocol) as theirs, members_of(ours[1]):
                    await share(ours, theirs)
                await until(lambda: len(ours[0].consumer.assignment()) == PARTITIONS, "having all again")
                values = [int(record.value or b"") for member in ours for record in member.records] + theirs.values
        else:
            async with foreigner(kafka.bootstrap, topic, topic, protocol) as theirs:
                await until(lambda: len(theirs.assignment()) == PARTITIONS, "having all")
                async with members_of(*ours):
                    await share(ours, theirs)
                await until(lambda: len(theirs.assignment()) == PARTITIONS, "having all again")
            values = [int(record.value or b"") for member in ours for record in member.records] + theirs.values
        assert sorted(values) == list(range(60)), "each record once"
        assert [error for member in ours for error in member.errors] == []

    async def share(ours: list[Member], theirs: Foreigner) -> None:
        def is_even() -> bool:
            parts = [*(member.consumer.assignment() for member in ours), theirs.assignment()]
            return [len(part) for part in parts] == [2, 2, 2] and set().union(*parts) == whole(topic, PARTITIONS)

        await until(is_even, "sharing evenly")
        produce(kafka.bootstrap, topic, PARTITIONS, range(60))
        await until(
            lambda: sum(len(member.records) for member in ours) + len(theirs.values) == 60, "reading all, together"
        )
        assert all(member.records for member in ours)
        assert theirs.values

    asyncio.run(run())
