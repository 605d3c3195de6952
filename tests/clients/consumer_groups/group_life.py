"""Consumers of a group that live in one event loop, and what tests do to them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any, Final

from confluent_kafka import Producer as ForeignProducer

from ottla.clients.admin.admin import Admin
from ottla.clients.admin.configs import AlterConfigOp, ConfigResource, ConfigResourceType
from ottla.clients.admin.topics import NewTopic
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from tests.node import Node

BOUND_S: Final = 40
PROTOCOLS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky", "consumer")


def settings(protocol: str) -> dict[str, Any]:
    """What makes a consumer use an assignor of the classic protocol, or the consumer protocol."""
    if protocol == "consumer":
        return {"group_protocol": "consumer"}
    return {
        "partition_assignment_strategy": protocol,
        "heartbeat_interval_ms": 150,
        "session_timeout_ms": 6_000,
    }


def consumer(kafka: Node, group_id: str, protocol: str = "range", **keywords: Any) -> Consumer[Any, Any]:
    """A consumer that is not started, and whose test polls it."""
    given = {"auto_offset_reset": "earliest"} | settings(protocol) | keywords
    return Consumer(bootstrap_servers=kafka.bootstrap, group_id=group_id, **given)


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition; AssertionError when it takes too long."""
    try:
        async with asyncio.timeout(BOUND_S):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{what} did not happen within {BOUND_S} s") from None


class Member:
    """A consumer with a task that polls it, and everything it was told."""

    def __init__(self, bootstrap: str, group_id: str, *topics: str, protocol: str = "range", **keywords: Any) -> None:
        subscribe = keywords.pop("subscribe", None)
        self.consumer: Consumer[Any, Any] = Consumer(
            bootstrap_servers=bootstrap,
            group_id=group_id,
            auto_offset_reset="earliest",
            metadata_max_age_ms=keywords.pop("metadata_max_age_ms", 300),
            **{**settings(protocol), **keywords},
        )
        if topics:
            self.consumer.subscribe(topics, listener=self)
        elif subscribe is not None:
            self.consumer.subscribe(**subscribe, listener=self)
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []
        self.records: list[ConsumerRecord[Any, Any]] = []
        self.errors: list[KafkaError] = []
        self._task: asyncio.Task[None] | None = None

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Note what came, which must not be there already."""
        assert self.assigned.isdisjoint(partitions), "assigned twice"
        self.events.append(("assigned", partitions))

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """Note what goes, which must be there."""
        assert self.assigned.issuperset(partitions), "revoked what was not assigned"
        self.events.append(("revoked", partitions))

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Note what is lost, which must be there."""
        assert self.assigned.issuperset(partitions), "lost what was not assigned"
        self.events.append(("lost", partitions))

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """What the listener was told of."""
        has: frozenset[TopicPartition] = frozenset()
        for event, partitions in self.events:
            has = has | partitions if event == "assigned" else has - partitions
        return has

    def told(self, event: str) -> list[TopicPartition]:
        """All partitions that an event named."""
        return [partition for kind, partitions in self.events for partition in partitions if kind == event]

    async def start(self) -> "Member":
        """Connect and begin to poll."""
        await self.consumer.start()
        self.resume()
        return self

    def resume(self) -> None:
        """Poll, in a task."""
        self._task = asyncio.get_running_loop().create_task(self._poll())

    async def stall(self) -> None:
        """Stop polling; everything else goes on."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]

    async def close(self) -> None:
        """Leave."""
        await self.stall()
        await self.consumer.close()

    async def crash(self) -> None:
        """Be gone without a word, as a process that is killed."""
        await self.stall()
        core = self.consumer._core
        membership: Any = core.membership
        for task in (*membership._requests, membership._task):
            task.cancel()
        membership._is_closed = True
        core.is_closed = True
        assert core.fetcher is not None
        await core.fetcher.close()
        await core.cluster.close()

    async def _poll(self) -> None:
        while True:
            try:
                self.records += await self.consumer.poll(timeout_ms=500)
            except KafkaError as error:
                self.errors.append(error)
                if not error.retriable:
                    return


def whole(topic: str, count: int) -> set[TopicPartition]:
    """All partitions of a topic."""
    return {TopicPartition(topic, index) for index in range(count)}


def shared(members: Collection[Member], partitions: Collection[TopicPartition]) -> bool:
    """Whether the members have all partitions, each by one of them, as evenly as can be, and know it."""
    owned = [partition for member in members for partition in member.consumer.assignment()]
    return len(owned) == len(set(owned)) and set(owned) == set(partitions)


async def shared_by(members: Collection[Member], partitions: Collection[TopicPartition]) -> None:
    """Wait until the members share all partitions and each of them has some, if there are enough."""

    def is_so() -> bool:
        if not shared(members, partitions):
            return False
        return len(partitions) < len(members) or all(member.consumer.assignment() for member in members)

    await until(is_so, f"sharing {len(partitions)} partitions")
    for member in members:
        assert member.assigned == member.consumer.assignment()


@asynccontextmanager
async def members_of(*made: Member) -> AsyncIterator[list[Member]]:
    """Start members one after the other; close at the end those who still live."""
    started: list[Member] = []
    try:
        for member in made:
            started.append(await member.start())
        yield started
    finally:
        for member in started:
            await member.close()


async def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Make a topic."""
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(topic, partitions)])


async def shorten_session(bootstrap: str, group_id: str) -> None:
    """Let members of a consumer group die of a silence of one second."""
    resource = ConfigResource(ConfigResourceType.GROUP, group_id)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.alter_configs(
            {
                resource: [
                    AlterConfigOp("consumer.session.timeout.ms", "1000"),
                    AlterConfigOp("consumer.heartbeat.interval.ms", "300"),
                ]
            }
        )


def produce(bootstrap: str, topic: str, partitions: int, values: range) -> None:
    """Write numbers, to one partition after the other."""
    producer = ForeignProducer({"bootstrap.servers": bootstrap, "log_level": 2})
    for value in values:
        producer.produce(topic, str(value).encode(), partition=value % partitions)
    assert producer.flush(BOUND_S) == 0
