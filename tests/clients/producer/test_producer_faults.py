"""A broker that is killed, stands still, starts again or is gone: recovery or the documented error, never a stall."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ottla.clients.errors import BufferExhaustedError, ClientClosedError, KafkaError, KafkaTimeoutError
from ottla.clients.producer.delivery import Delivery
from ottla.clients.producer.producer import Producer
from tests.clients.admin.waiting import eventually
from tests.clients.producer.produced import make_topic, run, until_done, values
from tests.node import Node

PATIENT: dict[str, Any] = {"request_timeout_ms": 2_000, "retry_backoff_ms": 20, "reconnect_backoff_max_ms": 100}


BATCH_BYTES, BATCH_RECORDS_MAX, IN_FLIGHT_MAX = 1_000, 9, 5
"""Records have values of a hundred bytes."""


def producer(kafka: Node, **config: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, **{**PATIENT, **config})


async def send_during(client: Producer, topic: str, trouble: Callable[[], None], partitions: int) -> list[Delivery]:
    """Send numbered records until the trouble, which runs in a thread, is over, and some more."""
    deliveries: list[Delivery] = []

    async def some(count: int) -> None:
        for _ in range(count):
            number = len(deliveries)
            value = b"%d" % number
            deliveries.append(await client.send(topic, value.ljust(100, b"."), partition=number % partitions))
        await asyncio.sleep(0.001)

    await some(500)
    await deliveries[0]
    troubled = asyncio.get_running_loop().run_in_executor(None, trouble)
    while not troubled.done():
        await some(20)
    await troubled
    await some(500)
    return deliveries


def check_all_once_in_order(kafka: Node, topic: str, count: int, partitions: int, *, may_repeat: bool = False) -> None:
    found = [int((value or b"").rstrip(b".")) for value in values(kafka, topic)]
    if may_repeat:  # what was on its way, and no more
        once = list(dict.fromkeys(found))
        assert len(found) - len(once) <= partitions * IN_FLIGHT_MAX * BATCH_RECORDS_MAX
        found = once
    expected = [number for partition in range(partitions) for number in range(partition, count, partitions)]
    assert len(found) == len(expected)
    assert found == expected


@pytest.mark.parametrize("in_flight", [1, 5])
@pytest.mark.parametrize("way", ["kill", "stop", "pause"])
def test_a_broker_that_goes_and_comes_back_under_load_has_every_record_once_and_in_order(
    kafka: Node, topic: str, way: str, in_flight: int
) -> None:
    """But for Apache's broker, killed alone: of several batches that were on their way it knows the last one only."""
    make_topic(kafka, topic, 2)

    def trouble(client: Producer) -> None:
        if way == "pause":
            with kafka.paused():
                # Longer than a request may take, so that connections are given up with requests on them.
                before = client.metrics()["record-retry-total"]
                eventually(lambda: client.metrics()["record-retry-total"] > before)
        else:
            (kafka.kill if way == "kill" else kafka.stop)()
            kafka.start()

    async def send() -> None:
        async with producer(
            kafka, batch_size=BATCH_BYTES, max_in_flight_requests_per_connection=in_flight, buffer_memory=200_000
        ) as client:
            deliveries = await send_during(client, topic, lambda: trouble(client), 2)
            await client.flush()
            for delivery in deliveries:
                assert delivery.exception() is None
            assert client.metrics()["record-error-total"] == 0
            may_repeat = kafka.repeats_after_kill and way == "kill" and in_flight > 1
            check_all_once_in_order(kafka, topic, len(deliveries), 2, may_repeat=may_repeat)

    run(send())


def test_a_broker_that_stays_away_is_a_timeout_after_delivery_timeout_ms(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)

    async def send() -> None:
        config = {"request_timeout_ms": 500, "delivery_timeout_ms": 1_000, "batch_size": 500, "max_block_ms": 800}
        async with producer(kafka, **config, buffer_memory=20_000) as client:
            await until_done(lambda: client.send_and_wait(topic, b"first"))
            with kafka.paused():
                # Some on their way, some waiting.
                deliveries = [await client.send(topic, bytes(100)) for _ in range(40)]
                for delivery in deliveries:
                    with pytest.raises(KafkaTimeoutError, match="has passed since batch creation"):
                        await delivery
                with pytest.raises(BufferExhaustedError, match="allocate"):
                    for _ in range(500):
                        await client.send(topic, bytes(100))
                assert client.metrics()["buffer-exhausted-total"] == 1
            # It goes on where it may: nobody knows which of those that were on their way have arrived.
            metadata = await until_done(lambda: client.send_and_wait(topic, b"last"))
            assert metadata.offset >= 1

    run(send())
    found = values(kafka, topic)
    assert found[0] == b"first"
    assert found[-1] == b"last"


def test_a_close_with_a_timeout_fails_what_is_left(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)

    async def send() -> None:
        client = producer(kafka)
        await client.start()
        await client.send_and_wait(topic, b"first")
        with kafka.paused():
            on_its_way = await client.send(topic, b"lost")
            waiting = asyncio.ensure_future(client.flush())
            await asyncio.sleep(0.05)
            await client.close(timeout_ms=100)
            with pytest.raises(ClientClosedError, match="forcefully"):
                await on_its_way
            await waiting

    run(send())


def test_whoever_waits_for_memory_or_metadata_hears_of_a_close(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)

    async def send() -> None:
        client = producer(kafka, buffer_memory=20_000, max_block_ms=60_000)
        await client.start()
        await client.send_and_wait(topic, b"first")
        with kafka.paused():

            async def fill() -> None:
                while True:
                    await client.send(topic, bytes(1_000))

            async def ask() -> None:
                await client.send("another-topic", b"v")

            waiting = [asyncio.ensure_future(fill()), asyncio.ensure_future(ask())]
            while not client.metrics()["waiting-threads"]:
                await asyncio.sleep(0.01)
            await client.close(timeout_ms=0)
            for each in waiting:
                with pytest.raises(KafkaError):
                    await each

    run(send())


def test_a_topic_that_is_made_anew_is_found_again(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 2)

    async def send() -> None:
        from confluent_kafka.admin import AdminClient

        async with producer(kafka, metadata_max_age_ms=1_000) as client:
            for partition in range(2):
                await client.send_and_wait(topic, b"old", partition=partition)
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
            admin.delete_topics([topic])[topic].result(30)
            # Without an await until the new one is there: the producer would ask for the topic, which makes it.
            eventually(lambda: topic not in admin.list_topics(timeout=30).topics)
            make_topic(kafka, topic, 1)
            assert (await client.send_and_wait(topic, b"new", partition=0)).offset == 0

    run(send())
    assert values(kafka, topic) == [b"new"]


def test_partitions_that_are_added_are_used(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        from confluent_kafka.admin import AdminClient
        from confluent_kafka.cimpl import NewPartitions

        async with producer(kafka) as client:
            await client.send_and_wait(topic, b"v")
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
            admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
            assert (await client.send_and_wait(topic, b"v", partition=2)).offset == 0
            assert len(await client.partitions_for(topic)) == 3

    run(send())
