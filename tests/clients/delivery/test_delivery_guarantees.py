"""At most once, at least once and exactly once (seed 002, 10.3): what each loses or repeats when something fails."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka import TopicPartition as ConfluentPartition

from ottla.clients.errors import KafkaError
from ottla.clients.producer.producer import Producer
from tests.clients.delivery.copier import BATCH, Plan
from tests.node import Node

BOUND_S = 90
VALUES = [b"%04d" % number for number in range(5 * BATCH)]
LAST = VALUES[-1]
_ROOT = Path(__file__).parents[3]
WAYS = pytest.mark.parametrize(("read_by", "write_by"), [("poll", "send"), ("arrow", "send_batch")])


def fill(kafka: Node, topic: str) -> None:
    producer = ConfluentProducer({"bootstrap.servers": kafka.bootstrap})
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(BOUND_S) == 0


def read(kafka: Node, topic: str) -> Counter[bytes]:
    """All committed records, and how often each is there."""
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        numbers = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([ConfluentPartition(topic, number, 0) for number in numbers])
        found: Counter[bytes] = Counter()
        left = len(numbers)
        while left:
            message = consumer.poll(BOUND_S)
            assert message is not None
            if message.error() is None:
                found[message.value() or b""] += 1
            else:
                left -= 1
        return found
    finally:
        consumer.close()


def run_copier(plan: Plan) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "tests.clients.delivery.copier", plan.to_json()],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def copied(kafka: Node, topic: str, guarantee: str, die_at: str, read_by: str, write_by: str) -> Counter[bytes]:
    """What is in the copy after one copier was killed and another has finished."""
    fill(kafka, topic)
    target = f"{topic}-copy"
    plan = Plan(kafka.bootstrap, topic, target, f"group-{topic}", guarantee, LAST.decode(), read_by, write_by, die_at)
    assert run_copier(plan) == -signal.SIGKILL
    assert run_copier(replace(plan, die_at="")) == 0
    return read(kafka, target)


# -- the consumer's side: killed between its two steps ---------------------------------------------------------------


@WAYS
def test_at_most_once_loses_what_was_committed_and_not_processed(
    kafka: Node, topic: str, read_by: str, write_by: str
) -> None:
    found = copied(kafka, topic, "at most once", "committed", read_by, write_by)
    assert set(found.values()) == {1}
    assert set(VALUES) - set(found) == set(VALUES[BATCH : 2 * BATCH])


@WAYS
def test_at_least_once_repeats_what_was_processed_and_not_committed(
    kafka: Node, topic: str, read_by: str, write_by: str
) -> None:
    found = copied(kafka, topic, "at least once", "written", read_by, write_by)
    assert set(found) == set(VALUES)
    assert {value for value, times in found.items() if times > 1} == set(VALUES[BATCH : 2 * BATCH])


@WAYS
def test_exactly_once_neither_loses_nor_repeats(kafka: Node, topic: str, read_by: str, write_by: str) -> None:
    found = copied(kafka, topic, "exactly once", "written", read_by, write_by)
    assert found == Counter(VALUES)


# -- the producer's side: a broker that is away, or answers too late --------------------------------------------------


def produce(kafka: Node, topic: str, write_by: str, **config: Any) -> list[int]:
    """Send while the broker stands still for longer than a request may take; returns who was told of a failure."""

    async def story() -> list[int]:
        failed = []
        async with (
            Producer(bootstrap_servers=kafka.bootstrap) as patient,
            Producer(
                bootstrap_servers=kafka.bootstrap, linger_ms=0, request_timeout_ms=500, retry_backoff_ms=50, **config
            ) as producer,
        ):
            # Without retries an answer that takes half a second is a failure: only one record is to have that.
            steady = patient if config.get("retries") == 0 else producer
            await steady.send_and_wait(topic, b"first", partition=0)
            await _connected(producer, topic)
            with kafka.paused():
                if write_by == "send":
                    delivery: Any = await producer.send(topic, b"late", partition=0)
                else:
                    delivery = await producer.send_batch(topic, [b"late"], partition=0)
                await asyncio.wait((asyncio.ensure_future(_settle(delivery)),), timeout=1.5)
            try:
                await delivery
            except KafkaError:
                failed.append(1)
            await steady.send_and_wait(topic, b"last", partition=0)
        return failed

    async def bounded() -> list[int]:
        async with asyncio.timeout(BOUND_S):
            return await story()

    return asyncio.run(bounded())


async def _connected(producer: Producer, topic: str) -> None:
    """Return when the producer knows the topic and has a connection to its leader."""
    await producer.partitions_for(topic)
    while True:
        try:
            await producer.send_and_wait(f"{topic}-unread", b"")
        except KafkaError:
            continue
        return


async def _settle(delivery: Any) -> None:
    try:
        await delivery
    except KafkaError:
        return


@pytest.mark.parametrize("write_by", ["send", "send_batch"])
def test_a_retry_may_repeat_a_record(kafka: Node, topic: str, write_by: str) -> None:
    """The broker takes the request that was given up, and the one that was sent in its place."""
    assert produce(kafka, topic, write_by, acks="all", enable_idempotence=False) == []
    found = read(kafka, topic)
    assert set(found) == {b"first", b"late", b"last"}
    assert found[b"late"] > 1


@pytest.mark.parametrize("write_by", ["send", "send_batch"])
def test_an_idempotent_producer_repeats_nothing(kafka: Node, topic: str, write_by: str) -> None:
    assert produce(kafka, topic, write_by) == []
    assert read(kafka, topic) == Counter({b"first": 1, b"late": 1, b"last": 1})


@pytest.mark.parametrize("write_by", ["send", "send_batch"])
def test_without_retries_a_failure_is_told_and_nothing_repeated(kafka: Node, topic: str, write_by: str) -> None:
    """At most once: whether the record is there is for the broker to know."""
    assert produce(kafka, topic, write_by, acks="1", enable_idempotence=False, retries=0) == [1]
    found = read(kafka, topic)
    assert found[b"first"] == found[b"last"] == 1
    assert found[b"late"] <= 1


@pytest.mark.parametrize("write_by", ["send", "send_batch"])
def test_without_acknowledgements_records_are_lost_in_silence(kafka: Node, topic: str, write_by: str) -> None:
    async def story() -> None:
        async with Producer(
            bootstrap_servers=kafka.bootstrap, acks="0", enable_idempotence=False, retries=0, linger_ms=0
        ) as producer:
            await producer.send_and_wait(topic, b"first", partition=0)
            await asyncio.to_thread(read_until, kafka, topic, b"first")
            kafka.pause()
            if write_by == "send":
                await producer.send_and_wait(topic, b"lost", partition=0)
            else:
                await (await producer.send_batch(topic, [b"lost"], partition=0))
            await asyncio.to_thread(kafka.kill)
        await asyncio.to_thread(kafka.start)

    asyncio.run(story())
    assert read(kafka, topic) == Counter({b"first": 1})


def read_until(kafka: Node, topic: str, value: bytes) -> None:
    """Nobody says when a record without acknowledgement is there."""
    for _ in range(200):
        if value in read(kafka, topic):
            return
    raise AssertionError(f"{value!r} is not there")
