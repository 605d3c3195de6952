"""``send_batch`` and the memory of its producer: its bound, and what happens when there is none left."""

import asyncio
import threading

import pytest

from ottla.clients.errors import (
    BufferExhaustedError,
    ClientClosedError,
)
from tests.clients.producer.produced import make_topic, run, until_done
from tests.clients.producer.row_batches import numbered, producer, read_numbers
from tests.node import Node

pytestmark = pytest.mark.usefixtures("way")


def test_memory_stays_within_its_bound(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 2)

    async def send() -> None:
        async with producer(kafka, buffer_memory=100_000, batch_size=4_000) as client:
            least = 100_000

            async def watch() -> None:
                nonlocal least
                while True:
                    least = min(least, int(client.metrics()["buffer-available-bytes"]))
                    await asyncio.sleep(0)

            watching = asyncio.create_task(watch())
            delivery = await client.send_batch(topic, numbered(0, 20_000), partition=1)
            watching.cancel()
            assert 0 <= least < 60_000
            assert (await delivery).offsets().tolist() == list(range(20_000))
            assert client.metrics()["buffer-available-bytes"] == 100_000

    run(send())
    assert read_numbers(kafka, topic) == list(range(20_000))


@pytest.mark.uncompiled  # it looks into the accumulator
def test_a_call_that_is_cancelled_gives_its_memory_back(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        began, go_on = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()
        async with producer(kafka, compression_type="zstd") as client:
            compress = client._accumulator.compress

            def slowly(payload: bytes) -> bytes:
                loop.call_soon_threadsafe(began.set)
                go_on.wait()
                return compress(payload)

            client._accumulator.compress = slowly  # type: ignore[method-assign]
            sending = asyncio.create_task(client.send_batch(topic, numbered(0, 1_000)))
            await began.wait()
            assert client.metrics()["buffer-available-bytes"] < client.metrics()["buffer-total-bytes"]
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            go_on.set()
            assert client.metrics()["buffer-available-bytes"] == client.metrics()["buffer-total-bytes"]
            client._accumulator.compress = compress  # type: ignore[method-assign]
            await (await client.send_batch(topic, numbered(0, 10)))

    run(send())
    assert read_numbers(kafka, topic) == list(range(10))


def test_without_memory_in_time_the_rest_fails_and_is_named(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        async with producer(kafka, buffer_memory=100_000, batch_size=16_384, max_block_ms=100) as client:
            await until_done(lambda: client.partitions_for(topic))
            await client.send_and_wait(topic, b"0")
            with kafka.paused():
                delivery = await client.send_batch(topic, numbered(1, 5_001))
                assert not delivery.done()
            with pytest.raises(BufferExhaustedError) as caught:
                await delivery
            failed = [row for failure in delivery.failures() for row in failure.rows]
            first = failed[0]
            assert failed == list(range(first, 5_000))
            assert first > 0
            assert caught.value.__notes__ == [
                f"{5000 - first} of 5000 rows were not delivered: "
                + ", ".join(str(row) for row in range(first, first + 10))
                + f" and {5000 - first - 10} more"
            ]
            assert read_numbers(kafka, topic) == list(range(first + 1))

    run(send())


def test_closing_fails_what_was_not_taken(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        client = producer(kafka, buffer_memory=50_000, batch_size=4_000)
        await client.start()
        sending = asyncio.create_task(client.send_batch(topic, numbered(0, 50_000)))
        while not client._accumulator.incomplete:
            await asyncio.sleep(0)
        await client.close()
        delivery = await sending
        with pytest.raises(ClientClosedError):
            await delivery
        failed = [row for failure in delivery.failures() for row in failure.rows]
        assert failed == list(range(failed[0], 50_000))
        assert read_numbers(kafka, topic) == list(range(failed[0]))

    run(send())
