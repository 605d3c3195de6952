"""What a consumer sees of transactions: committed ones, and only then; aborted ones never."""

import asyncio
from typing import Any

from confluent_kafka import Producer

from ottla.clients.consumer.health import HealthState
from ottla.common.topic_partition import TopicPartition
from tests.clients.consumer.writing import BOUND_S, make_topic, numbered, poll_until, read, reading, write
from tests.node import Node


def transactional(kafka: Node, name: str) -> Any:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name, "linger.ms": 5})
    producer.init_transactions(BOUND_S)
    return producer


def transaction(producer: Any, topic: str, values: list[bytes], *, end: bool | None) -> None:
    """Write values in a transaction; True commits, False aborts, None leaves it open."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush(BOUND_S)
    if end is True:
        producer.commit_transaction(BOUND_S)
    elif end is False:
        producer.abort_transaction(BOUND_S)


def test_committed_aborted_and_open_transactions(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    one, other = transactional(kafka, topic), transactional(kafka, f"{topic}-other")
    transaction(one, topic, [b"c0", b"c1"], end=True)
    transaction(one, topic, [b"a0", b"a1"], end=False)
    write(kafka.bootstrap, topic, [b"plain"])
    other.begin_transaction()
    other.produce(topic, b"x0", partition=0)
    other.flush(BOUND_S)
    transaction(one, topic, [b"c2"], end=True)
    other.produce(topic, b"x1", partition=0)
    other.flush(BOUND_S)
    other.abort_transaction(BOUND_S)
    transaction(one, topic, [b"c3"], end=True)
    transaction(one, topic, [b"o0"], end=None)
    write(kafka.bootstrap, topic, [b"behind"])
    partition = TopicPartition(topic, 0)
    committed = [b"c0", b"c1", b"plain", b"c2", b"c3"]

    async def run() -> None:
        async with reading(kafka.bootstrap, partition) as consumer:
            everything = [b"c0", b"c1", b"a0", b"a1", b"plain", b"x0", b"c2", b"x1", b"c3", b"o0", b"behind"]
            assert [record.value for record in await read(consumer, len(everything))] == everything
        async with reading(kafka.bootstrap, partition, isolation_level="read_committed") as consumer:
            assert [record.value for record in await read(consumer, len(committed))] == committed
            await poll_until(consumer, lambda: consumer.health().state is HealthState.BEHIND_TRANSACTION)
            assert await consumer.lag(partition) == 0
            position = await consumer.position(partition)
            assert (await consumer.end_offsets([partition]))[partition] == position
            one.commit_transaction(BOUND_S)
            assert [record.value for record in await read(consumer, 2)] == [b"o0", b"behind"]
            await consumer.seek_to_beginning()
            rows: list[bytes] = []
            async for batch in consumer.arrow():
                rows += batch.column("value").to_pylist()
                if len(rows) >= 7:
                    break
            assert rows == [*committed, b"o0", b"behind"]
            await poll_until(consumer, lambda: consumer.health().state is HealthState.AT_END)

    asyncio.run(run())


def test_a_log_that_ends_in_aborted_records_and_markers_is_read_to_its_end(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    producer = transactional(kafka, topic)
    transaction(producer, topic, numbered(3), end=True)
    for _ in range(5):
        transaction(producer, topic, numbered(50), end=False)
    partition = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, isolation_level="read_committed") as consumer:
            assert len(await read(consumer, 3)) == 3
            end = (await consumer.end_offsets([partition]))[partition]
            await poll_until(consumer, lambda: consumer.health().state is HealthState.AT_END)
            assert await consumer.position(partition) == end == 3 + 1 + 5 * 51

    asyncio.run(run())
