"""``send_batch`` and records that are refused, here or by the broker."""

import pyarrow as pa
import pytest

from ottla.clients.errors import (
    ClientClosedError,
    InvalidTimestampError,
    KafkaTimeoutError,
    RecordTooLargeError,
    SerializationError,
)
from tests.clients.producer.produced import make_topic, run, stored, until_done, values
from tests.clients.producer.row_batches import numbered, producer
from tests.node import Node

pytestmark = pytest.mark.usefixtures("way")


def test_a_record_that_is_too_large_fails_alone(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)
    table = pa.table({"value": pa.array([b"a", b"b" * 2_000, b"c", b"d" * 3_000, b"e"])})

    async def send() -> None:
        async with producer(kafka, max_request_size=1_500) as client:
            for records in (table, table["value"].to_pylist()):
                delivery = await client.send_batch(topic, records)
                with pytest.raises(RecordTooLargeError, match=r"2\d\d\d bytes .* max.request.size") as caught:
                    await delivery
                assert caught.value.__notes__ == ["2 of 5 rows were not delivered: 1, 3"]
                assert [list(failure.rows) for failure in delivery.failures()] == [[1], [3]]
                with pytest.raises(RecordTooLargeError):
                    delivery.result()

    run(send())
    assert values(kafka, topic) == [b"a", b"c", b"e"] * 2


def test_a_batch_that_the_broker_finds_too_large_is_split(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1, max_message_bytes="20000")

    async def send() -> None:
        async with producer(kafka) as client:
            metadata = await (await client.send_batch(topic, numbered(0, 5_000)))
            assert metadata.offsets().tolist() == list(range(5_000))
            assert client.metrics()["batch-split-total"] > 0
            assert client.metrics()["buffer-available-bytes"] == client.metrics()["buffer-total-bytes"]
            table = pa.table({"value": pa.array([b"x" * 100] * 300 + [b"y" * 30_000] + [b"z"])})
            delivery = await client.send_batch(topic, table)
            with pytest.raises(RecordTooLargeError) as caught:
                await delivery
            assert caught.value.__notes__ == ["1 of 302 rows were not delivered: 300"]

    run(send())
    assert len(values(kafka, topic)) == 5_301


def test_the_broker_names_the_records_that_it_refuses(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1, message_timestamp_after_max_ms="60000")

    async def send() -> None:
        async with producer(kafka) as client:
            timestamps = pa.array([None, 1 << 50, None, 1 << 50], pa.int64())
            delivery = await client.send_batch(topic, pa.table({"value": [b"x"] * 4, "timestamp": timestamps}))
            with pytest.raises(InvalidTimestampError) as caught:
                await delivery
            # The whole batch is refused, for those two.
            assert caught.value.__notes__ == ["4 of 4 rows were not delivered: 0, 1, 2, 3"]

    run(send())
    assert values(kafka, topic) == []


def test_partitions_that_there_are_not_fail_alone(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 2)

    async def send() -> None:
        async with producer(kafka, max_block_ms=300) as client:
            await until_done(lambda: client.partitions_for(topic))
            table = pa.table({"value": [b"a", b"b", b"c"], "partition": pa.array([1, 5, None], pa.int32())})
            delivery = await client.send_batch(topic, table, partition=0)
            with pytest.raises(KafkaTimeoutError, match="Partition 5") as caught:
                await delivery
            assert caught.value.__notes__ == ["1 of 3 rows were not delivered: 1"]
            with pytest.raises(KafkaTimeoutError, match="Partition 9"):
                await client.send_batch(topic, table, partition=9)

    run(send())
    assert [(r.partition, r.value) for r in stored(kafka, topic)] == [(0, b"c"), (1, b"a")]


def test_what_is_no_record_or_comes_too_late_is_refused(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        client = producer(kafka)
        with pytest.raises(ClientClosedError):
            await client.send_batch(topic, [b""])
        async with client:
            with pytest.raises(ValueError, match="columns"):
                await client.send_batch(topic, pa.table({"a": [1]}))
            with pytest.raises(ValueError, match="Invalid partition"):
                await client.send_batch(topic, [b""], partition=-1)
            with pytest.raises(TypeError, match="tuple"):
                await client.send_batch(topic, [(b"", b"", b"")])
            delivery = await client.send_batch(topic, [b"fine", "text"])
            with pytest.raises(SerializationError):
                await delivery
        with pytest.raises(ClientClosedError):
            await client.send_batch(topic, [b""])

    run(send())
    assert values(kafka, topic) == [b"fine"]
