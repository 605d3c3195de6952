"""A broker that is killed and started again under ``send_batch``: every row once, in order, and all of them named."""

import asyncio
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ottla.clients.errors import KafkaTimeoutError
from ottla.clients.producer.batch_delivery import BatchDelivery
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.clients.producer.producer import Producer
from tests.clients.producer.produced import make_topic, run, stored
from tests.node import Node

PARTITIONS = 2
ROWS = 3_000
PATIENT: dict[str, Any] = {"request_timeout_ms": 2_000, "retry_backoff_ms": 20, "reconnect_backoff_max_ms": 100}


def table(first: int, last: int) -> pa.Table:
    return pa.table(
        {
            "value": pa.array([(b"%d" % n).ljust(100, b".") for n in range(first, last)]),
            "partition": pa.array([n % PARTITIONS for n in range(first, last)], pa.int32()),
        }
    )


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_every_row_is_there_once_and_in_order(kafka: Node, topic: str, end: str, codec: str) -> None:
    assert KERNELS.load()
    make_topic(kafka, topic, PARTITIONS)

    def trouble() -> None:
        (kafka.kill if end == "kill" else kafka.stop)()
        kafka.start()

    async def send() -> None:
        async with Producer(
            bootstrap_servers=kafka.bootstrap,
            compression_type=codec,
            buffer_memory=1 << 20,
            max_in_flight_requests_per_connection=1 if end == "kill" and kafka.repeats_after_kill else 5,
            **PATIENT,
        ) as client:
            deliveries = await send_during(client, topic, trouble)
            for turn, delivery in enumerate(deliveries):
                metadata = await delivery
                offsets = metadata.offsets()
                for partition in range(PARTITIONS):
                    first = turn * ROWS // PARTITIONS
                    assert offsets[partition::PARTITIONS].tolist() == list(range(first, first + ROWS // PARTITIONS))
            assert client.metrics()["buffer-available-bytes"] == 1 << 20
        found = [(record.partition, int((record.value or b"").rstrip(b"."))) for record in stored(kafka, topic)]
        count = ROWS * len(deliveries)
        expected = [(p, number) for p in range(PARTITIONS) for number in range(p, count, PARTITIONS)]
        assert len(found) == count
        assert found == expected

    run(send())


async def send_during(client: Producer, topic: str, trouble: Callable[[], None]) -> list[BatchDelivery]:
    """Send tables until the trouble, which runs in a thread, is over, and some more."""
    deliveries: list[BatchDelivery] = []

    async def one_more() -> None:
        first = ROWS * len(deliveries)
        deliveries.append(await client.send_batch(topic, table(first, first + ROWS)))

    await one_more()
    await deliveries[0]
    troubled = asyncio.get_running_loop().run_in_executor(None, trouble)
    while not troubled.done() or len(deliveries) < 10:
        await one_more()
        await asyncio.sleep(0.01)
    await troubled
    await one_more()
    return deliveries


def test_rows_fail_when_the_broker_stays_away_for_too_long(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, PARTITIONS)

    async def send() -> None:
        async with Producer(
            bootstrap_servers=kafka.bootstrap, delivery_timeout_ms=1_500, request_timeout_ms=1_000, linger_ms=0
        ) as client:
            await (await client.send_batch(topic, table(0, 10)))
            kafka.kill()
            try:
                delivery = await client.send_batch(topic, table(10, 20))
                with pytest.raises(KafkaTimeoutError) as caught:
                    await delivery
                assert caught.value.__notes__ == ["10 of 10 rows were not delivered: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"]
                assert sorted(int(row) for failure in delivery.failures() for row in failure.rows) == list(range(10))
            finally:
                kafka.start()
            first = 20
            while True:  # a broker that has just started may need longer than that, too
                try:
                    await (await client.send_batch(topic, table(first, first + 10)))
                    break
                except KafkaTimeoutError:
                    first += 10
        found = [int((record.value or b"").rstrip(b".")) for record in stored(kafka, topic)]
        assert len(set(found)) == len(found)
        assert {*range(10), *range(first, first + 10)} <= set(found)
        assert set(found).isdisjoint(range(10, 20))

    run(send())
