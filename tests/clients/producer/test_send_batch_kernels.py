"""``send_batch`` with and without what compiles it."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ottla.clients.producer.kernel_loader import ROWS_MIN, KernelLoader
from tests.clients.producer.produced import make_topic, run, values
from tests.clients.producer.row_batches import producer, read_numbers
from tests.node import Node

pytestmark = pytest.mark.usefixtures("way")


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


def test_compiled_code_is_loaded_when_many_rows_have_come(
    kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_topic(kafka, topic, 1)
    loader = KernelLoader()
    for name in ("send_batch", "record_rows"):
        monkeypatch.setattr(f"ottla.clients.producer.{name}.KERNELS", loader)

    def rows() -> Iterator[bytes]:
        yield from (b"%d" % n for n in range(ROWS_MIN))

    async def send() -> None:
        async with producer(kafka) as client:
            await client.send_batch(topic, [b"few"])
            assert not loader.is_loaded
            await (await client.send_batch(topic, rows()))
            while not loader.is_loaded:
                await asyncio.sleep(0)
            await (await client.send_batch(topic, (b"%d" % n for n in range(ROWS_MIN, ROWS_MIN + 1_000))))

    run(send())
    assert values(kafka, topic) == [b"few", *(b"%d" % n for n in range(ROWS_MIN + 1_000))]
