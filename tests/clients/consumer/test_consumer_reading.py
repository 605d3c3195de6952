"""Records of partitions that are assigned by hand, in every way to read them."""

import asyncio
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.health import HealthState
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.record_errors import RecordDeserializationError
from ottla.clients.errors import ClientClosedError, IllegalStateError, InvalidGroupIdError
from ottla.clients.sync.consumer import Consumer as SyncConsumer
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import TimestampType
from tests.clients.consumer.writing import (
    BOUND_S,
    add_partitions,
    make_topic,
    numbered,
    poll_until,
    read,
    reading,
    write,
    written,
)
from tests.node import Node


def test_all_ways_give_the_same_records(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 20})
        for number in range(300):
            producer.produce(
                topic,
                value=None if number % 10 == 3 else b"%s-%d" % (codec.encode(), number) * (number % 4),
                key=None if number % 3 else b"k%d" % number,
                headers=[("a", b"1"), ("ü", None)] if number % 7 == 0 else None,
                partition=number % 2,
                timestamp=1_700_000_000_000 + number,
            )
        assert producer.flush(BOUND_S) == 0
    partitions = [TopicPartition(topic, 0), TopicPartition(topic, 1)]

    async def run() -> None:
        async with reading(kafka.bootstrap, *partitions, max_poll_records=97) as consumer:
            polled = await read(consumer, 1500)
            await consumer.seek_to_beginning()
            one_by_one = []
            async for record in consumer:
                one_by_one.append(record)
                if len(one_by_one) == 1500:
                    break
            await consumer.seek_to_beginning()
            columns: list[dict[str, Any]] = []
            async for batch in consumer.arrow(max_rows=111):
                assert batch.num_rows <= 111
                batch.validate(full=True)
                times = batch.column("timestamp").cast(pa.int64()).to_pylist()
                columns += [row | {"timestamp": at} for row, at in zip(batch.to_pylist(), times, strict=True)]
                if len(columns) == 1500:
                    break
            await consumer.seek_to_beginning()
            consumed = await consumer.consume(1500, BOUND_S * 1000)
        for partition in partitions:
            mine = [record for record in polled if record.topic_partition == partition]
            assert [record.offset for record in mine] == list(range(750))
            assert [record for record in one_by_one if record.topic_partition == partition] == mine
            assert [record for record in consumed if record.topic_partition == partition] == mine
            rows = [row for row in columns if row["partition"] == partition.partition]
            assert len(rows) == len(mine)
            for row, record in zip(rows, mine, strict=True):
                names = ("topic", "offset", "timestamp", "timestamp_type", "key", "value")
                assert [row[name] for name in names] == [
                    *(record.topic, record.offset, record.timestamp_ms, record.timestamp_type),
                    *(record.key, record.value),
                ]
                assert [(header["key"], header["value"]) for header in row["headers"]] == list(record.headers)
        first = polled[0]
        assert first.timestamp_type is TimestampType.CREATE_TIME
        assert first.headers == (("a", b"1"), ("ü", None))

    asyncio.run(run())


def test_log_append_time(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, message_timestamp_type="LogAppendTime")
    write(kafka.bootstrap, topic, numbered(3))

    async def run() -> None:
        async with reading(kafka.bootstrap, TopicPartition(topic, 0)) as consumer:
            records = await read(consumer, 3)
        assert {record.timestamp_type for record in records} == {TimestampType.LOG_APPEND_TIME}
        assert all(record.timestamp_ms > 1_600_000_000_000 for record in records)
        assert all(record.leader_epoch >= 0 for record in records)

    asyncio.run(run())


def test_positions_follow_what_is_handed_out(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 20)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition) as consumer:
            assert await consumer.position(partition) == 0
            async for record in consumer:
                assert await consumer.position(partition) == record.offset + 1
                if record.offset == 6:
                    break
            assert [record.offset for record in await consumer.poll(0)] == list(range(7, 20))
            assert await consumer.lag(partition) == 0
            consumer.seek(partition, 15)
            assert await consumer.position(partition) == 15
            assert [record.offset for record in await read(consumer, 5)] == list(range(15, 20))

    asyncio.run(run())


def test_pause_and_resume(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    for number in (0, 1):
        write(kafka.bootstrap, topic, numbered(5), partition=number)
    one, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def run() -> None:
        async with reading(kafka.bootstrap, one, other) as consumer:
            consumer.pause(one)
            assert {record.topic_partition for record in await read(consumer, 5)} == {other}
            consumer.pause(other)
            assert consumer.paused() == {one, other}
            assert await consumer.poll(300) == []
            assert consumer.health().state is HealthState.ALL_PAUSED
            consumer.resume(one)
            assert {record.topic_partition for record in await read(consumer, 5)} == {one}
            consumer.resume(other)
            await poll_until(consumer, lambda: consumer.health().state is HealthState.AT_END)

    asyncio.run(run())


def test_a_paused_partition_keeps_its_place_and_its_records(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, max_poll_records=3) as consumer:
            seen = await read(consumer, 3)
            consumer.pause(partition)
            assert await consumer.poll(100) == []
            assert await consumer.position(partition) == 3
            consumer.resume(partition)
            seen += await consumer.consume(7, BOUND_S * 1000)
            assert [record.offset for record in seen] == list(range(10))

    asyncio.run(run())


def test_assigning_again_keeps_positions(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(4))
    one = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, one, max_poll_records=2) as consumer:
            await read(consumer, 2)
            add_partitions(kafka.bootstrap, topic, 2)
            write(kafka.bootstrap, topic, numbered(2), partition=1)
            other = TopicPartition(topic, 1)
            consumer.assign([one, other])
            records = await read(consumer, 4)
            assert sorted((record.partition, record.offset) for record in records) == [(0, 2), (0, 3), (1, 0), (1, 1)]
            consumer.assign([other])
            assert consumer.assignment() == {other}
            write(kafka.bootstrap, topic, numbered(1))
            assert await consumer.poll(300) == []

    asyncio.run(run())


def test_a_record_larger_than_a_fetch_is_read(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    for number in (0, 1):
        write(kafka.bootstrap, topic, [b"small", b"x" * 600_000, b"small"], partition=number)
    limits = {"max_partition_fetch_bytes": 1_000, "fetch_max_bytes": 2_000}

    async def run() -> None:
        async with reading(kafka.bootstrap, TopicPartition(topic, 0), TopicPartition(topic, 1), **limits) as consumer:
            records = await read(consumer, 6)
            assert sorted(len(record.value or b"") for record in records) == [5, 5, 5, 5, 600_000, 600_000]

    asyncio.run(run())


def test_what_is_fetched_ahead_is_bounded(kafka: Node, topic: str) -> None:
    """Four megabytes in twenty partitions, of which half of one may wait."""
    make_topic(kafka.bootstrap, topic, 20)
    for number in range(20):
        write(kafka.bootstrap, topic, [b"x" * 50_000] * 4, partition=number, linger_ms=0, batch_num_messages=1)
    partitions = [TopicPartition(topic, number) for number in range(20)]
    bounds = {"fetch_max_bytes": 500_000, "max_partition_fetch_bytes": 100_000}

    async def run() -> None:
        most = 0.0
        async with reading(kafka.bootstrap, *partitions, max_poll_records=1, **bounds) as consumer:
            for _ in range(80):
                records = await consumer.poll(BOUND_S * 1000)
                assert len(records) == 1
                most = max(most, consumer.metrics()["buffered-bytes"])
            assert {(await consumer.position(partition)) for partition in partitions} == {4}
        assert 250_000 < most <= 500_000

    asyncio.run(run())


def test_a_record_that_cannot_be_deserialized_can_be_passed(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, [b"1", b"2", b"three", b"4"])
    partition = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, value_deserializer=int) as consumer:
            assert [record.value for record in await read(consumer, 2)] == [1, 2]
            for _ in range(2):
                with pytest.raises(RecordDeserializationError) as raised:
                    await consumer.poll(1000)
                assert (raised.value.partition, raised.value.offset) == (partition, 2)
            consumer.seek(partition, raised.value.offset + 1)
            assert [record.value for record in await read(consumer, 1)] == [4]

    asyncio.run(run())


def test_interceptors_and_metrics(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(10))
    seen = []

    class Odd:
        def on_consume(self, records: list[Any]) -> list[Any]:
            seen.extend(records)
            return [record for record in records if record.offset % 2]

    async def run() -> None:
        async with reading(kafka.bootstrap, TopicPartition(topic, 0), interceptors=[Odd()]) as consumer:
            assert [record.offset for record in await read(consumer, 5)] == [1, 3, 5, 7, 9]
            metrics = consumer.metrics()
            assert metrics["records-consumed-total"] == 10 == len(seen)
            assert metrics["records-lag-max"] == 0
            assert metrics["fetch-total"] >= 1
            assert metrics["bytes-consumed-total"] > 0
            await consumer.seek_to_beginning()
            found = []
            async for record in consumer:
                found.append(record.offset)
                if record.offset == 9:
                    break
            assert found == [1, 3, 5, 7, 9]

    asyncio.run(run())


def test_commits_without_a_subscription(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)
    settings = {"group_id": topic, "enable_auto_commit": False}

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, **settings) as consumer:
            assert (await consumer.committed(partition))[partition] is None
            async for record in consumer:
                if record.offset == 3:
                    await consumer.commit()
                    break
            committed = (await consumer.committed(partition))[partition]
            assert committed is not None
            assert committed.offset == 4
        async with reading(kafka.bootstrap, partition, **settings) as consumer:
            assert (await read(consumer, 6))[0].offset == 4
            await consumer.commit({partition: OffsetAndMetadata(7, metadata="note")})
            committed = (await consumer.committed(partition))[partition]
            assert committed is not None
            assert (committed.offset, committed.metadata) == (7, "note")

    asyncio.run(run())


def test_what_needs_a_group_or_a_start_says_so(kafka: Node, topic: str) -> None:
    async def run() -> None:
        consumer: Consumer[bytes, bytes] = Consumer(bootstrap_servers=kafka.bootstrap)
        with pytest.raises(IllegalStateError):
            await consumer.poll(0)
        with pytest.raises(InvalidGroupIdError):
            consumer.subscribe([topic])
        async with consumer:
            assert consumer.health().state is HealthState.NOT_SUBSCRIBED
            with pytest.raises(InvalidGroupIdError):
                await consumer.commit()
            with pytest.raises(IllegalStateError):
                consumer.seek(TopicPartition(topic, 0), 0)
            consumer.assign([TopicPartition(topic, 0)])
            polls = await asyncio.gather(consumer.poll(300), consumer.poll(300), return_exceptions=True)
            assert [type(each) for each in polls] == [list, IllegalStateError]
        assert consumer.health().state is HealthState.CLOSED
        with pytest.raises(ClientClosedError):
            await consumer.poll(0)

    asyncio.run(run())


def test_closing_ends_a_loop_over_records(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, numbered(2))

    async def run() -> None:
        async with reading(kafka.bootstrap, TopicPartition(topic, 0)) as consumer:

            async def loop() -> list[int]:
                return [record.offset async for record in consumer]

            task = asyncio.create_task(loop())
            while consumer.metrics()["records-consumed-total"] < 2:
                await asyncio.sleep(0.01)
            await consumer.close()
            assert await task == [0, 1]

    asyncio.run(run())


def test_plain_code(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)
    consumer: SyncConsumer[Any, Any] = SyncConsumer(
        bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", group_id=topic, enable_auto_commit=False
    )
    with consumer:
        consumer.assign([partition])
        for record in consumer:
            if record.offset == 3:
                consumer.commit()
                break
        assert consumer.position(partition) == 4
        assert consumer.committed(partition)[partition] == (4, record.leader_epoch, "")
        assert [record.offset for record in consumer.poll(BOUND_S * 1000)] == list(range(4, 10))
        consumer.seek(partition, 8)
        assert next(consumer.arrow()).column("offset").to_pylist() == [8, 9]
        assert consumer.end_offsets([partition]) == {partition: 10}
        assert consumer.assignment() == {partition}
