"""Where numpy or pyarrow is not installed, what needs it says so in one sentence, with the command that installs it."""

import subprocess
import sys

import pytest

from ottla.common.extras import how_to_install
from tests.node import Node

PROGRAM = """
import asyncio, sys
sys.modules[sys.argv[3]] = None
from ottla import Consumer, Producer

async def tried(what):
    try:
        await what
    except ImportError as error:
        print(type(error).__name__, error)

async def main(server, topic):
    async with Producer(bootstrap_servers=server) as producer:
        placed = await (await producer.send_batch(topic, [b"a", b"b"]))
    for ask in (placed.offsets, placed.partition_numbers):
        await tried(asyncio.to_thread(ask))
    async with Consumer(topic, bootstrap_servers=server, group_id=topic, auto_offset_reset="earliest") as consumer:
        await tried(anext(aiter(consumer.arrow())))

asyncio.run(main(*sys.argv[1:3]))
"""


@pytest.mark.parametrize(
    ("library", "told"),
    [
        ("numpy", ["BatchMetadata.offsets()", "BatchMetadata.partition_numbers()", "Consumer.arrow()"]),
        ("pyarrow", ["Consumer.arrow()"]),
    ],
)
def test_it_is_told_how_to_install_it(kafka: Node, topic: str, library: str, told: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kafka.bootstrap, topic, library], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    way = how_to_install("fast")
    assert done.stdout.splitlines() == [
        f"MissingExtraError {what} needs {library}, which is not installed: {way}" for what in told
    ]
