"""The producer against a broker: what is sent is what is stored, and what cannot be sent says why."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from ottla.clients.errors import (
    ClientClosedError,
    IllegalStateError,
    InvalidConfigError,
    InvalidTimestampError,
    InvalidTopicError,
    KafkaError,
    KafkaTimeoutError,
    RecordTooLargeError,
    SerializationError,
)
from ottla.clients.producer.batch_outcome import RecordMetadata
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.partitioner import RoundRobinPartitioner, partition_for_key
from ottla.clients.producer.producer import Producer
from tests.clients.producer.produced import make_topic, run, stored, until_done, values
from tests.node import Node


def producer(kafka: Node, **config: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, **config)


def test_a_record_arrives_with_all_that_was_given(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 3)

    async def send() -> None:
        async with producer(kafka) as client:
            metadata = await client.send_and_wait(
                topic,
                b"value",
                key=b"key",
                headers=[("a", b"1"), ("a", None)],
                partition=2,
                timestamp_ms=1_700_000_000_000,
            )
            assert metadata == RecordMetadata(topic, 2, 0, 1_700_000_000_000, 3, 5)
            empty = await client.send_and_wait(topic, partition=2, headers={})
            assert empty[:3] == (topic, 2, 1)
            assert empty[4:] == (-1, -1)
            assert (await client.send_and_wait(topic, b"", key=b"", partition=2))[4:] == (0, 0)

    run(send())
    first, second, third = stored(kafka, topic)
    assert first == (2, 0, 1_700_000_000_000, b"key", b"value", (("a", b"1"), ("a", None)))
    assert second[3:] == (None, None, ())
    assert third[3:] == (b"", b"", ())


def test_a_topic_may_have_the_times_of_its_broker(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, message_timestamp_type="LogAppendTime")

    async def send() -> None:
        async with producer(kafka) as client:
            first = await client.send_and_wait(topic, b"x", timestamp_ms=5)
            await (await client.send_batch(topic, [{"value": b"y", "timestamp": 5}]))
            one, other = await asyncio.to_thread(stored, kafka, topic)
            assert one.timestamp_ms == first.timestamp_ms > 5
            assert other.timestamp_ms >= first.timestamp_ms

    run(send())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_back(kafka: Node, topic: str, codec: str) -> None:
    sent = [b"%d:" % number + b"the same again and again " * (number % 30) for number in range(2_000)]

    async def send() -> None:
        async with producer(kafka, compression_type=codec) as client:
            deliveries = [await client.send(topic, value, key=b"one partition") for value in sent]
            await client.flush()
            offsets = [delivery.result().offset for delivery in deliveries]
            assert offsets == list(range(len(sent)))
            metrics = client.metrics()
            assert metrics["record-send-total"] == len(sent)
            assert metrics["buffer-available-bytes"] == metrics["buffer-total-bytes"]
            if codec != "none":
                assert metrics["compression-rate-avg"] < 0.5

    run(send())
    assert values(kafka, topic) == sent


def test_a_level_reaches_the_codec(kafka: Node, topic: str) -> None:
    async def send() -> None:
        settings = {"compression.type": "gzip", "compression.gzip.level": 9, "bootstrap.servers": kafka.bootstrap}
        async with Producer(settings) as client:
            await client.send_and_wait(topic, b"x" * 1000)

    run(send())
    assert values(kafka, topic) == [b"x" * 1000]


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(kafka: Node, topic: str, acks: Any) -> None:
    async def send() -> None:
        async with producer(kafka, acks=acks) as client:
            await client.partitions_for(topic)
            deliveries = [await client.send(topic, b"%d" % number, partition=0) for number in range(3_000)]
            await client.flush()
            offsets = [delivery.result().offset for delivery in deliveries]
            assert offsets == ([-1] * 3_000 if acks == 0 else list(range(3_000)))
            # Without answers, what follows on the same connection shows that all went before.
            await client.partitions_for(topic)

    run(send())
    assert values(kafka, topic) == [b"%d" % number for number in range(3_000)]


def test_keys_go_to_javas_partition_and_keep_their_order(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 5)
    keys = [b"key-%d" % (number % 50) for number in range(5_000)]

    async def send() -> None:
        async with producer(kafka, batch_size=1_000) as client:
            for number, key in enumerate(keys):
                await client.send(topic, b"%d" % number, key=key)

    run(send())
    records = stored(kafka, topic)
    assert len(records) == len(keys)
    assert all(record.partition == partition_for_key(record.key or b"", 5) for record in records)
    numbers: dict[bytes | None, list[int]] = {}
    for record in records:
        numbers.setdefault(record.key, []).append(int(record.value or b""))
    assert all(earlier < later for of_key in numbers.values() for earlier, later in pairwise(of_key))


def test_records_without_a_key_stick_to_a_partition_and_move_on(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 4)

    async def send() -> None:
        async with producer(kafka, batch_size=2_000) as client:
            deliveries = [await client.send(topic, bytes(100)) for _ in range(4_000)]
            await client.flush()
            partitions = [delivery.result().partition for delivery in deliveries]
            assert set(partitions) == {0, 1, 2, 3}
            moves = sum(one != other for one, other in pairwise(partitions))
            assert moves <= 4_000 * 112 / 2_000  # a batch at least

    run(send())


def test_keys_can_be_ignored(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 4)

    async def send() -> None:
        async with producer(kafka, partitioner_ignore_keys=True) as client:
            deliveries = [await client.send(topic, b"v", key=b"%d" % number) for number in range(20)]
            assert len({(await delivery).partition for delivery in deliveries}) == 1

    run(send())


def test_round_robin_and_ones_own_partitioner(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 3)
    apaches = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

    async def send() -> None:
        for config in ({"partitioner": RoundRobinPartitioner()}, {"partitioner_class": apaches}):
            async with producer(kafka, **config) as client:
                deliveries = [await client.send(topic, b"v", key=b"same") for _ in range(9)]
                assert [(await delivery).partition for delivery in deliveries] == [0, 1, 2] * 3
        async with producer(kafka, partitioner=lambda *_: 1) as client:
            assert (await client.send_and_wait(topic, b"v")).partition == 1
        async with producer(kafka, partitioner=lambda *_: -5) as client:
            with pytest.raises(ValueError, match="partition -5"):
                await client.send(topic, b"v")

    run(send())


def test_serializers(kafka: Node, topic: str) -> None:
    async def send() -> None:
        async with producer(
            kafka, key_serializer=str.encode, value_serializer=lambda _topic, data: b"%d" % data
        ) as client:
            assert (await client.send_and_wait(topic, 12, key="schlüssel", partition=0)).serialized_value_size == 2
            await client.send_and_wait(topic, None, key=None, partition=0)
            with pytest.raises(SerializationError):
                await client.send(topic, "no number")
        async with producer(kafka) as client:
            await client.send_and_wait(topic, bytearray(b"bytes"), key=memoryview(b"k"), partition=0)
            with pytest.raises(SerializationError, match="str"):
                await client.send(topic, "text")

    run(send())
    assert [(record.key, record.value) for record in stored(kafka, topic)] == [
        ("schlüssel".encode(), b"12"),
        (None, None),
        (b"k", b"bytes"),
    ]


def test_a_record_beyond_max_request_size_is_refused_at_once(kafka: Node, topic: str) -> None:
    async def send() -> None:
        async with producer(kafka, max_request_size=10_000) as client:
            with pytest.raises(RecordTooLargeError, match=r"max\.request\.size"):
                await client.send(topic, bytes(10_000))
            assert (await client.send_and_wait(topic, bytes(9_000))).offset == 0
        async with producer(kafka, buffer_memory=20_000) as client:
            with pytest.raises(RecordTooLargeError, match=r"buffer\.memory"):
                await client.send(topic, bytes(30_000))

    run(send())


def test_batches_that_the_broker_finds_too_large_are_split(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, max_message_bytes="1000")
    sent = [b"%d" % number + bytes(number % 90) for number in range(1_000)]

    async def send() -> None:
        async with producer(kafka, batch_size=16_000) as client:
            deliveries = [await client.send(topic, value) for value in sent]
            await client.flush()
            assert [delivery.result().offset for delivery in deliveries] == list(range(len(sent)))
            assert client.metrics()["batch-split-total"] > 0
            hopeless = await client.send(topic, bytes(2_000))
            with pytest.raises(RecordTooLargeError):
                await hopeless
            assert isinstance(hopeless.exception(), RecordTooLargeError)
            assert (await client.send_and_wait(topic, b"and on")).offset == len(sent)

    run(send())
    assert values(kafka, topic) == [*sent, b"and on"]


def test_a_record_that_the_broker_refuses_says_why(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, message_timestamp_before_max_ms="1000")

    async def send() -> None:
        async with producer(kafka) as client:
            old = await client.send(topic, b"old", timestamp_ms=1)
            with pytest.raises(InvalidTimestampError):
                await old
            assert (await client.send_and_wait(topic, b"new")).offset == 0
            with pytest.raises(ValueError, match="timestamp"):
                await client.send(topic, b"v", timestamp_ms=-1)

    run(send())


def test_a_full_buffer_makes_senders_wait_in_turn_and_loses_nothing(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)

    async def send() -> None:
        async with producer(kafka, buffer_memory=40_000, batch_size=4_000) as client:
            highest = 0.0

            async def some(sender: int) -> None:
                nonlocal highest
                for number in range(100):
                    await client.send(topic, b"%d:%d" % (sender, number) + bytes(500))
                    metrics = client.metrics()
                    highest = max(highest, metrics["buffer-total-bytes"] - metrics["buffer-available-bytes"])

            await asyncio.gather(*(some(sender) for sender in range(20)))
            await client.flush()
            assert highest <= 40_000
            assert client.metrics()["bufferpool-wait-time-ns-total"] > 0

    run(send())
    seen: dict[bytes, list[int]] = {}
    for value in values(kafka, topic):
        sender, _, number = (value or b"").rstrip(b"\0").partition(b":")
        seen.setdefault(sender, []).append(int(number))
    assert seen == {b"%d" % sender: list(range(100)) for sender in range(20)}


def test_an_unknown_topic_is_an_error_after_max_block_ms(kafka: Node) -> None:
    async def send() -> None:
        async with producer(kafka) as client:
            with pytest.raises(InvalidTopicError):
                await client.send("no such topic!", b"v")
        make_topic(kafka, "has-two-partitions", 2)
        async with producer(kafka, max_block_ms=300) as client:
            await until_done(lambda: client.partitions_for("has-two-partitions"))
            with pytest.raises(KafkaTimeoutError, match="Partition 7"):
                await client.send("has-two-partitions", b"v", partition=7)
            with pytest.raises(ValueError, match="partition"):
                await client.send("has-two-partitions", b"v", partition=-1)

    run(send())


def test_interceptors_see_records_and_outcomes_and_cannot_break_a_send(kafka: Node, topic: str) -> None:
    seen: list[object] = []

    class Marking:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return record._replace(value=record.value + b"!")

        def on_acknowledgement(self, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
            seen.append(type(error) if metadata is None else metadata.offset)

    class Broken:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            raise RuntimeError(record.topic)

        def on_acknowledgement(self, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
            raise RuntimeError(metadata, error)

    async def send() -> None:
        async with producer(kafka, interceptors=[Marking(), Broken()], max_request_size=1000) as client:
            await client.send_and_wait(topic, b"v", partition=0)
            with pytest.raises(RecordTooLargeError):
                await client.send(topic, bytes(1000))

    run(send())
    assert values(kafka, topic) == [b"v!"]
    assert seen == [0, RecordTooLargeError]


def test_a_delivery_can_be_awaited_again_asked_and_called_back(kafka: Node, topic: str) -> None:
    async def send() -> None:
        async with producer(kafka, linger_ms=100) as client:
            delivery = await client.send(topic, b"v")
            with pytest.raises(IllegalStateError):
                delivery.result()
            assert not delivery.done()
            called: list[int] = []
            delivery.add_done_callback(lambda done: called.append(done.result().offset))
            waiting = asyncio.ensure_future(_wait(delivery))
            await asyncio.sleep(0)
            waiting.cancel()
            assert (await delivery) == (await delivery)
            assert delivery.done()
            delivery.add_done_callback(lambda done: called.append(-done.result().offset))
            await asyncio.sleep(0)
            assert called == [0, 0]
            assert len(await asyncio.gather(*[await client.send(topic, b"v") for _ in range(3)])) == 3

    run(send())


async def _wait(delivery: Any) -> None:
    await delivery


def test_closing_delivers_what_was_sent(kafka: Node, topic: str) -> None:
    async def send() -> None:
        client = producer(kafka, linger_ms=60_000, delivery_timeout_ms=100_000)
        with pytest.raises(ClientClosedError, match="started"):
            await client.send(topic, b"v")
        await client.start()
        delivery = await client.send(topic, b"v")
        await client.close()
        assert delivery.result().offset == 0
        await client.close()
        for call in (client.send(topic, b"v"), client.flush(), client.partitions_for(topic)):
            with pytest.raises(ClientClosedError):
                await call

    run(send())
    assert values(kafka, topic) == [b"v"]


def test_bad_configurations_are_refused_and_named() -> None:
    for config, match in (
        ({"lingr_ms": 5}, r"linger\.ms"),
        ({"acks": 1, "enable_idempotence": True}, "acks"),
        ({"max_in_flight_requests_per_connection": 6, "enable_idempotence": True}, "in.flight"),
        ({"delivery_timeout_ms": 1, "linger_ms": 5}, r"delivery\.timeout\.ms"),
        ({"compression_type": "brotli"}, "compression"),
        ({"partitioner_class": "org.example.Mine"}, "partitioner"),
    ):
        with pytest.raises(InvalidConfigError, match=match):
            Producer(bootstrap_servers="localhost:1", **config)


def test_nobody_at_the_bootstrap_servers_is_a_timeout() -> None:
    async def start() -> None:
        client = Producer(bootstrap_servers="127.0.0.1:1", request_timeout_ms=100, max_block_ms=300)
        with pytest.raises(KafkaTimeoutError, match=r"within 300 ms.* 127\.0\.0\.1:1"):
            await client.start()
        await client.close()

    run(start())


def test_without_time_to_wait_not_even_metadata_can_be_had(kafka: Node, topic: str) -> None:
    async def send() -> None:
        async with producer(kafka, max_block_ms=0) as client:
            with pytest.raises(KafkaTimeoutError):
                await client.send(topic, b"v")

    run(send())
