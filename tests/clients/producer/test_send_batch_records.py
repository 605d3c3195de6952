"""``send_batch`` against a broker: records of all kinds arrive where and as ``send`` would have them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ottla.clients.producer import send_batch
from ottla.clients.producer.batch_record import BatchRecord
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.partitioner import RoundRobinPartitioner, partition_for_key
from ottla.common.topic_partition import TopicPartition
from tests.clients.producer.produced import make_topic, run, stored, values
from tests.clients.producer.row_batches import numbered, producer, read_numbers
from tests.node import Node

pytestmark = pytest.mark.usefixtures("way")


def test_a_table_arrives_as_it_was_given_and_offsets_say_where(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 3)
    keys = [None if n % 7 == 0 else b"key %d" % (n % 50) for n in range(1000)]
    table = pa.table(
        {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([None if n % 11 == 0 else f"wert {n}" for n in range(1000)], pa.string()),
            "timestamp": pa.array([1_700_000_000_000 + n for n in range(1000)], pa.timestamp("ms")),
            "partition": pa.array([2 if n % 13 == 0 else None for n in range(1000)], pa.int32()),
            "headers": pa.array([[("n", b"%d" % n)] * (n % 3) for n in range(1000)], pa.map_(pa.string(), pa.binary())),
        }
    )

    async def send() -> None:
        async with producer(kafka) as client:
            metadata = await (await client.send_batch(topic, table))
            found = {(record.partition, record.offset): record for record in stored(kafka, topic)}
            assert metadata.count == len(found) == 1000
            offsets, partitions = metadata.offsets(), metadata.partition_numbers()
            for n in range(1000):
                record = found[int(partitions[n]), int(offsets[n])]
                assert record.key == keys[n]
                assert record.value == (None if n % 11 == 0 else b"wert %d" % n)
                assert record.timestamp_ms == 1_700_000_000_000 + n
                assert record.headers == (("n", b"%d" % n),) * (n % 3)
                if n % 13 == 0:
                    assert record.partition == 2
                elif (key := keys[n]) is not None:
                    assert record.partition == partition_for_key(key, 3)
            assert sum(share.records_count for share in metadata.partitions.values()) == 1000
            for partition in range(3):
                rows = np.flatnonzero(partitions == partition)
                share = metadata.partitions[TopicPartition(topic, partition)]
                assert (share.first_offset, share.last_offset) == (offsets[rows[0]], offsets[rows[-1]])
                assert (np.diff(offsets[rows]) > 0).all(), "not in the order of the rows"

    run(send())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_back(kafka: Node, topic: str, codec: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        async with producer(kafka, compression_type=codec) as client:
            delivery = await client.send_batch(topic, numbered(0, 6000))
            assert (await delivery).offsets().tolist() == list(range(6000))
            assert client.metrics()["buffer-available-bytes"] == client.metrics()["buffer-total-bytes"]
            assert (client.metrics()["compression-rate-avg"] > 0) == (codec != "none")

    run(send())
    assert read_numbers(kafka, topic) == list(range(6000))


def test_iterables_of_all_kinds_and_serializers(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    def serialize(_topic: str, data: str) -> bytes:
        return data.upper().encode()

    async def send() -> None:
        async with producer(kafka) as client:
            await (await client.send_batch(topic, (b"%d" % n for n in range(300))))
            await (await client.send_batch(topic, [(b"k", b"pair")] * 100))
            items = [{"value": b"dict"}, BatchRecord(b"record", b"k", {"h": b"1"}, 0, 5), (None, b"pair")]
            await (await client.send_batch(topic, items, partition=0))
            empty = await client.send_batch(topic, [])
            assert empty.done()
            assert (await empty).partitions == {}
            assert (await (await client.send_batch(topic, numbered(0, 0)))).count == 0
        async with producer(kafka, value_serializer=serialize) as client:
            await (await client.send_batch(topic, ["text", (b"k", "more"), {"value": "dict"}]))
            await (await client.send_batch(topic, pa.table({"value": ["not for tables"]})))

    run(send())
    expected = [b"%d" % n for n in range(300)] + [b"pair"] * 100 + [b"dict", b"record", b"pair"]
    assert values(kafka, topic) == [*expected, b"TEXT", b"MORE", b"DICT", b"not for tables"]


def test_order_holds_among_sends_and_batches(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        async with producer(kafka, linger_ms=1000) as client:
            at = 0
            for turn in range(8):
                for _ in range(3):
                    await client.send(topic, b"%d" % at)
                    at += 1
                size = 10 + 3000 * (turn % 3)
                records: Any = numbered(at, at + size) if turn % 2 else [b"%d" % n for n in range(at, at + size)]
                await client.send_batch(topic, records)
                at += size
            await client.flush()

    run(send())
    found = read_numbers(kafka, topic)
    assert found == list(range(len(found)))
    assert len(found) == 24 + 8 * 10 + 3000 * (0 + 1 + 2 + 0 + 1 + 2 + 0 + 1)


def test_records_without_a_key_go_to_all_partitions_by_whole_batches(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 4)

    async def send() -> None:
        async with producer(kafka) as client:
            metadata = await (await client.send_batch(topic, numbered(0, 60_000)))
            assert set(metadata.partitions) == {TopicPartition(topic, number) for number in range(4)}
            changes = int(np.count_nonzero(np.diff(metadata.partition_numbers())))
            assert changes <= 60_000 * 110 // send_batch.BATCH_BYTES + 16

    run(send())
    found = stored(kafka, topic)
    assert len(found) == 60_000
    for partition in range(4):
        mine = [int((r.value or b"").rstrip(b".")) for r in found if r.partition == partition]
        assert mine == sorted(mine)


def test_partitions_are_those_of_send_also_by_a_partitioner(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 3)
    keys = [b"key %d" % n for n in range(200)]

    async def send() -> None:
        async with producer(kafka) as client:
            one_by_one = [(await (await client.send(topic, b"", key=key))).partition for key in keys]
            metadata = await (await client.send_batch(topic, pa.table({"key": keys})))
            assert metadata.partition_numbers().tolist() == one_by_one
        async with producer(kafka, partitioner=RoundRobinPartitioner()) as client:
            metadata = await (await client.send_batch(topic, pa.table({"key": keys})))
            assert metadata.partition_numbers().tolist() == [n % 3 for n in range(200)]
        async with producer(kafka, partitioner_ignore_keys=True) as client:
            metadata = await (await client.send_batch(topic, pa.table({"key": keys})))
            assert len(metadata.partitions) == 1
        async with producer(kafka, partitioner=lambda *_: 7) as client:
            with pytest.raises(ValueError, match="partition 7 of 3"):
                await client.send_batch(topic, [b""])

    run(send())


def test_interceptors_see_each_record(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)
    seen: list[object] = []

    class Interceptor:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return record._replace(value=record.value + b"!")

        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            seen.append((None if metadata is None else metadata.offset, error))

    async def send() -> None:
        async with producer(kafka, interceptors=[Interceptor()]) as client:
            metadata = await (await client.send_batch(topic, [b"a", (b"k", b"b")]))
            assert metadata.offsets().tolist() == [0, 1]
            metadata = await (await client.send_batch(topic, pa.table({"value": ["c"]}), partition=0))
            assert metadata.offsets().tolist() == [2]

    run(send())
    assert values(kafka, topic) == [b"a!", b"b!", b"c!"]
    assert seen == [(0, None), (1, None), (2, None)]
