"""What callers and brokers may do to a producer: odd arguments, deleted topics, cancellation; a scripted broker."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.producer import Producer
from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.produce import ProduceRequest
from tests.clients.producer.produced import until_done
from tests.clients.producer.scripted_kafka import ScriptedKafka, scripted_kafka, scripted_producer

BOUND_S = 20


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, BOUND_S))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"timestamp_ms": 1.5}, TypeError),
        ({"timestamp_ms": 2**63}, ValueError),
        ({"timestamp_ms": -1}, ValueError),
        ({"partition": 0.0}, TypeError),
        ({"partition": -1}, ValueError),
        ({"headers": [("h", 5)]}, TypeError),
        ({"headers": [("h", "text")]}, TypeError),
        ({"headers": [(None, b"x")]}, TypeError),
        ({"headers": [(b"h", b"x")]}, TypeError),
    ],
)
@pytest.mark.parametrize("way", ["first", "second", "batch"])
def test_what_no_record_can_have_is_refused_and_hurts_nobody(options: Any, error: type[Exception], way: str) -> None:
    """Were it taken, it would come to light when its batch, with the records of others, is sealed and sent."""

    async def story() -> None:
        async with scripted_kafka(t=1) as kafka, scripted_producer(kafka, linger_ms=50) as p:
            if way == "second":
                await p.send("t", b"before", timestamp_ms=1)
            with pytest.raises(error):
                if way == "batch":
                    names = {"timestamp_ms": "timestamp"}
                    item = {names.get(name, name): given for name, given in options.items()}
                    await p.send_batch("t", [{"value": b"bad", **item}])
                else:
                    await p.send("t", b"bad", **options)
            await p.send_and_wait("t", b"after", timestamp_ms=2**63 - 1)
            assert b"bad" not in [value for _, _, value in kafka.written]

    run(story())


async def _forgotten(kafka: ScriptedKafka, p: Any, topic: str) -> None:
    """Delete a topic, and wait until the producer has heard of it."""
    del kafka.topics[topic]
    while True:
        p._core.cluster.request_update()
        await p._core.cluster.wait_for_update(1_000)
        known = p._core.cluster.metadata.topics.get(topic)
        if known is None or not known.partitions:
            return


@pytest.mark.parametrize("options", [{"key": b"k"}, {}, {"partition": 0}])
@pytest.mark.parametrize("way", ["send", "send_batch"])
def test_a_deleted_topic_is_waited_for(options: Any, way: str) -> None:
    async def story() -> None:
        async with scripted_kafka(t=2) as kafka, scripted_producer(kafka, max_block_ms=200) as p:
            await until_done(lambda: p.partitions_for("t"))
            await p.send_and_wait("t", b"one")
            await _forgotten(kafka, p, "t")

            async def send() -> Any:
                if way == "send":
                    return await p.send("t", b"two", **options)
                return await p.send_batch("t", [{"value": b"two", **options}])

            with pytest.raises(KafkaTimeoutError):
                await send()
            kafka.topics["t"] = 2
            await (await until_done(send))
            assert [value for _, _, value in kafka.written] == [b"one", b"two"]

    run(story())


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("is_unused", [False, True])
@pytest.mark.parametrize("way", ["send", "send_batch"])
def test_a_topic_that_is_deleted_while_a_record_waits_for_memory(codec: str, is_unused: bool, way: str) -> None:
    """The record goes to the topic as it is when there is memory, not to queues that nobody looks at any more."""

    async def story() -> None:
        async with (
            scripted_kafka(t=2, full=1) as kafka,
            scripted_producer(kafka, buffer_memory=2000, batch_size=2000, compression_type=codec) as p,
        ):
            await p.partitions_for("t")
            await p.send_and_wait("t", b"one")
            kafka.held.add(ProduceRequest)
            await p.send("full", b"x" * 1000)
            if way == "send":
                waiting: asyncio.Future[Any] = asyncio.ensure_future(p.send("t", b"y" * 1500))
            else:
                waiting = asyncio.ensure_future(p.send_batch("t", [b"y" * 1500]))
            await kafka.came(ProduceRequest, 2)
            assert p._accumulator.pool.waiting_count == 1
            if is_unused:  # as after metadata.max.idle.ms
                p._core.cluster._updater.forget("t")
                p._core.cluster.request_update()
                while "t" in p._core.cluster.metadata.topics:
                    await p._core.cluster.wait_for_update(1_000)
            else:
                await _forgotten(kafka, p, "t")
                kafka.topics["t"] = 1
            kafka.release(ProduceRequest)
            await (await waiting)
            assert (kafka.written[-1][0], len(kafka.written[-1][2] or b"")) == ("t", 1500)

    run(story())


def test_a_start_that_fails_leaves_nothing_behind() -> None:
    async def story() -> None:
        async with scripted_kafka() as kafka:
            node = kafka.broker.node
        for _ in range(2):
            with pytest.raises(KafkaTimeoutError):
                async with Producer(
                    bootstrap_servers=f"{node.host}:{node.port}", request_timeout_ms=50, max_block_ms=50
                ):
                    pass
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(story())


def test_a_close_does_not_wait_for_a_name_server() -> None:
    async def story() -> None:
        answered = threading.Event()
        async with scripted_kafka(t=1) as kafka, scripted_producer(kafka) as p:
            runtime = p._core.cluster.runtime
            asking = asyncio.ensure_future(runtime.blocking(answered.wait))
            await asyncio.sleep(0)
            await p.close()
            assert not asking.done()
            answered.set()
            assert await asking

    run(story())


def test_a_close_that_is_cancelled_closes_nevertheless() -> None:
    async def story() -> None:
        async with scripted_kafka(t=1) as kafka, scripted_producer(kafka) as p:
            kafka.held.add(ProduceRequest)
            sent = await p.send("t", b"x")
            closing = asyncio.ensure_future(p.close())
            await kafka.came(ProduceRequest)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert sent.done()
            assert p._core.cluster._refresher._is_closed

    run(story())


def test_what_expires_in_flight_keeps_its_memory_until_the_connection_lets_go_of_it() -> None:
    async def story() -> None:
        async with (
            scripted_kafka(t=1) as kafka,
            scripted_producer(
                kafka,
                buffer_memory=4000,
                batch_size=1000,
                delivery_timeout_ms=60_000,
                request_timeout_ms=59_000,
                linger_ms=0,
            ) as p,
        ):
            kafka.held.add(ProduceRequest)
            pool = p._accumulator.pool
            sent = await p.send("t", b"x" * 900)
            await kafka.came(ProduceRequest)
            p._core.completer.expire(p._core.monotonic_ms() + 60_000)
            assert isinstance(sent.exception(), KafkaTimeoutError)
            assert pool.available_bytes == pool.total_bytes - 1000
            kafka.release(ProduceRequest)
            while pool.available_bytes < pool.total_bytes:
                await asyncio.sleep(0.001)

    run(story())


class _Broken:
    """An interceptor that gives back what is no record."""

    def on_send(self, record: ProducerRecord) -> Any:
        return None if record.value == b"none" else ("too", "short")

    def on_acknowledgement(self, metadata: object, error: object) -> None:
        pass


def test_an_interceptor_that_gives_back_no_record_is_ignored() -> None:
    async def story() -> None:
        async with (
            scripted_kafka(t=1) as kafka,
            scripted_producer(kafka, interceptors=[_Broken(), _Broken()]) as p,
        ):
            await p.send_and_wait("t", b"none")
            await p.send_and_wait("t", b"short")
            assert [value for _, _, value in kafka.written] == [b"none", b"short"]

    run(story())


@pytest.mark.parametrize("code", [code for code in ErrorCode if code > 0])
def test_every_error_of_a_produce_request_ends_in_a_delivery_or_an_error(code: ErrorCode) -> None:
    """And the next record arrives, unless the error is for good."""

    async def story() -> None:
        async with (
            scripted_kafka(t=1) as kafka,
            scripted_producer(kafka, delivery_timeout_ms=2_000, request_timeout_ms=1_000, linger_ms=0) as p,
        ):
            await p.send_and_wait("t", b"first")
            kafka.codes[ProduceRequest].append(code)
            (outcome,) = await asyncio.gather(p.send_and_wait("t", b"second"), return_exceptions=True)
            (after,) = await asyncio.gather(p.send_and_wait("t", b"third"), return_exceptions=True)
            values = [value for _, _, value in kafka.written]
            if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                assert values == [b"first", b"third"]
            elif isinstance(outcome, BaseException):
                assert outcome.code == code  # type: ignore[attr-defined]
                assert values == [b"first", b"third"][: 1 if isinstance(after, BaseException) else 2]
            else:
                assert values == [b"first", b"second", b"third"]

    run(story())
