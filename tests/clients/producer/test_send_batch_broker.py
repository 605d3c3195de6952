"""``send_batch`` against a broker: everything that ``send`` promises, for tables and lists, compiled and plain."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ottla.clients.errors import (
    BufferExhaustedError,
    ClientClosedError,
    IllegalStateError,
    InvalidTimestampError,
    KafkaTimeoutError,
    RecordTooLargeError,
    SerializationError,
)
from ottla.clients.producer import send_batch
from ottla.clients.producer.batch_record import BatchRecord
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.producer.kernel_loader import KERNELS, KernelLoader
from ottla.clients.producer.partitioner import RoundRobinPartitioner, partition_for_key
from ottla.clients.producer.producer import Producer
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.common.topic_partition import TopicPartition
from tests.clients.producer.produced import make_topic, run, stored, values
from tests.node import Node

_numbers = count()


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How records are encoded."""
    if request.param == "compiled":
        assert KERNELS.load()
    monkeypatch.setattr(KERNELS, "is_loaded", request.param == "compiled")
    monkeypatch.setattr(KERNELS, "_is_asked", True)
    found: str = request.param
    return found


def producer(kafka: Node, **config: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, **config)


def numbered(first: int, last: int, size: int = 100) -> pa.Table:
    return pa.table({"value": pa.array([b"%d" % n + b"." * (size - len(b"%d" % n)) for n in range(first, last)])})


def read_numbers(kafka: Node, topic: str) -> list[int]:
    return [int((value or b"").rstrip(b".")) for value in values(kafka, topic)]


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


PLAIN_PROGRAM = """
import asyncio, sys
for name in ("numba", "numpy", "pyarrow"):
    sys.modules[name] = None
from ottla.clients import BatchRecord, Producer

async def send():
    async with Producer(bootstrap_servers=sys.argv[1]) as client:
        delivery = await client.send_batch(sys.argv[2], (b"%d" % n for n in range(30_000)))
        (placed,) = {placed.partition for placed in (await delivery).placements()}
        print(placed.partition, (await delivery).partitions[placed])
        await (await client.send_batch(sys.argv[2], [BatchRecord(b"30000", b"key", headers={"a": b"b"})] ))

asyncio.run(send())
"""


def test_iterables_need_nothing_that_is_not_always_installed(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_PROGRAM, kafka.bootstrap, topic], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "0 PartitionDelivery(first_offset=0, last_offset=29999, records_count=30000)\n"
    assert read_numbers(kafka, topic) == list(range(30_001))


def test_without_memory_in_time_the_rest_fails_and_is_named(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        async with producer(kafka, buffer_memory=100_000, batch_size=16_384, max_block_ms=100) as client:
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


@pytest.mark.parametrize("version", [1, 2])
def test_transactions(kafka: Node, topic: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(kafka, topic, 2)
    if version == 1:  # a producer that never hears of version 2
        monkeypatch.setattr(TransactionCaller, "_note_version", lambda _self, _coordinator: None)

    async def send() -> None:
        async with producer(kafka, transactional_id=f"batches-{next(_numbers)}", max_request_size=100_000) as client:
            with pytest.raises(IllegalStateError):
                await client.send_batch(topic, [b"too soon"])
            await client.init_transactions()
            async with client.transaction():
                await client.send_batch(topic, numbered(0, 3_000))
                await client.send(topic, b"3000")
            with pytest.raises(ZeroDivisionError):
                async with client.transaction():
                    await (await client.send_batch(topic, numbered(10_000, 13_000)))
                    raise ZeroDivisionError
            # A row that was not taken spoils the transaction, even if nobody looks at the delivery.
            with pytest.raises(RecordTooLargeError):
                async with client.transaction():
                    await client.send_batch(topic, [b"20000", b"x" * 200_000])
            async with client.transaction():
                await client.send_batch(topic, [b"%d" % n for n in range(3_001, 3_100)])

    run(send())
    assert sorted(read_numbers(kafka, topic)) == list(range(3_100))  # librdkafka reads what is committed


def test_acks_0_and_callbacks(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        called: list[object] = []
        async with producer(kafka, acks=0, enable_idempotence=False) as client:
            delivery = await client.send_batch(topic, [b"a", b"b"])
            delivery.add_done_callback(called.append)
            with pytest.raises(IllegalStateError):
                delivery.result()
            metadata = await delivery
            assert metadata.offsets().tolist() == [-1, -1]
            delivery.add_done_callback(called.append)
            while len(called) < 2:
                await asyncio.sleep(0)
            assert called == [delivery, delivery]

    run(send())
    assert values(kafka, topic) == [b"a", b"b"]


def test_compiled_code_is_loaded_when_many_rows_have_come(
    kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(kafka, topic, 1)
    loader = KernelLoader()
    for name in ("send_batch", "record_rows"):
        monkeypatch.setattr(f"ottla.clients.producer.{name}.KERNELS", loader)

    def rows() -> Iterator[bytes]:
        yield from (b"%d" % n for n in range(30_000))

    async def send() -> None:
        async with producer(kafka) as client:
            await client.send_batch(topic, [b"few"])
            assert not loader.is_loaded
            await (await client.send_batch(topic, rows()))
            while not loader.is_loaded:
                await asyncio.sleep(0)
            await (await client.send_batch(topic, (b"%d" % n for n in range(30_000, 31_000))))

    run(send())
    assert values(kafka, topic) == [b"few", *(b"%d" % n for n in range(31_000))]
