"""What tests of the consumer need of a cluster: topics and records, by confluent-kafka."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.common.topic_partition import TopicPartition as Partition

BOUND_S = 60
Record = ConsumerRecord[Any, Any]


def make_topic(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> str:
    """Make a topic; underscores in configuration keys are dots."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(BOUND_S)
    return topic


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(BOUND_S)


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(topic, total)])[topic].result(BOUND_S)


def delete_records(bootstrap: str, topic: str, partition: int, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    place = TopicPartition(topic, partition, before)
    for future in admin.delete_records([place]).values():
        future.result(BOUND_S)


def write(bootstrap: str, topic: str, values: Iterable[bytes], *, partition: int = 0, **settings: Any) -> None:
    """Write values, in order, and wait for them."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5}
        | {key.replace("_", "."): value for key, value in settings.items()}
    )
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(BOUND_S) == 0


def numbered(count: int, first: int = 0) -> list[bytes]:
    return [b"value-%d" % number for number in range(first, first + count)]


def written(bootstrap: str, topic: str, count: int) -> Partition:
    """The one partition of a new topic with so many numbered values in it."""
    make_topic(bootstrap, topic)
    write(bootstrap, topic, numbered(count))
    return Partition(topic, 0)


@asynccontextmanager
async def reading(bootstrap: str, *partitions: Any, **settings: Any) -> AsyncIterator[Consumer[Any, Any]]:
    """A consumer of these partitions, from their beginning."""
    given: dict[str, Any] = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 100} | settings
    consumer: Consumer[Any, Any] = Consumer(bootstrap_servers=bootstrap, **given)
    if partitions:
        consumer.assign(partitions)
    async with consumer:
        yield consumer


async def read(consumer: Consumer[Any, Any], count: int) -> list[Record]:
    """Exactly so many records; fails if they do not come."""
    records: list[Record] = []
    deadline = time.monotonic() + BOUND_S
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came: {consumer.health()}"
        records += await consumer.poll(500)
    assert len(records) == count
    return records


async def poll_until(consumer: Consumer[Any, Any], condition: Callable[[], bool]) -> list[Record]:
    """Poll, and keep what comes, until the condition holds."""
    records: list[Record] = []
    deadline = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < deadline, f"it does not come to pass: {consumer.health()}"
        records += await consumer.poll(50)
    return records


async def until(condition: Callable[[], bool]) -> None:
    """Wait without polling."""
    deadline = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
