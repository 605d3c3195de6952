"""What tests of the producer need: coroutines with a bound, topics of a shape, and what is in them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar, cast

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from ottla.clients.errors import KafkaTimeoutError
from tests.node import Node
from tests.node_cluster import NodeCluster

BOUND_S = 60
T = TypeVar("T")


class Stored(NamedTuple):
    """A record that was read back."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, which must end in time: a stall is a failure."""

    async def bounded() -> None:
        async with asyncio.timeout(BOUND_S):
            await coroutine

    asyncio.run(bounded())


async def until_done(operation: Callable[[], Awaitable[T]]) -> T:
    """Call an operation again for as long as it takes: what a test allows it may be too little for a busy machine."""
    while True:
        try:
            return await operation()
        except KafkaTimeoutError:
            continue


def make_topic(kafka: Node, topic: str, partitions: int = 1, **config: str) -> str:
    """A topic of this shape."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    settings = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(BOUND_S)
    return topic


def stored(kafka: Node | NodeCluster, topic: str) -> list[Stored]:
    """All records, by partition and offset."""
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "unused", "enable.partition.eof": True, "check.crcs": True}
    )
    try:
        numbers = consumer.list_topics(topic, BOUND_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
        left, found = len(numbers), []
        while left:
            message = consumer.poll(BOUND_S)
            assert message is not None, "the broker has nothing to say"
            if message.error() is not None:
                left -= 1
                continue
            found.append(
                Stored(
                    message.partition() or 0,
                    message.offset() or 0,
                    message.timestamp()[1],
                    message.key(),
                    message.value(),
                    tuple(cast("list[tuple[str, bytes | None]]", message.headers() or [])),
                )
            )
        return sorted(found, key=lambda record: record[:2])
    finally:
        consumer.close()


def values(kafka: Node, topic: str) -> list[bytes | None]:
    """The values, by partition and offset."""
    return [record.value for record in stored(kafka, topic)]
