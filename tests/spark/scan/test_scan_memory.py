"""A worker's memory while it reads far more than it may hold: what is on its way, decompressed and built is bounded."""

import json
import subprocess
import sys
from itertools import repeat

import pytest

from tests.clients.consumer.writing import make_topic, write
from tests.node import Node

BYTES = 200_000_000
GROWTH_BYTES_MAX = 48 * 1024 * 1024
"""Three answers of 4 MB, a run of batches decompressed, the columns built of two, and what the allocator keeps."""

PROGRAM = """
import json, sys, time
from ottla.spark.columns import DEFAULT_COLUMNS
from ottla.spark.scan.builders import BUILDERS, OFFSETS_WORTH_WAITING
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.range_reader import read_ranges
from ottla.spark.scan.scan_options import ScanOptions

bootstrap, topic, records = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = ScanOptions({"bootstrap.servers": bootstrap}, DEFAULT_COLUMNS)

def read(end):
    seen = 0
    for batch in read_ranges([OffsetRange(topic, 0, 0, end)], options):
        seen += batch.num_rows
        time.sleep(0.02)  # slower than the broker
    return seen, peak_bytes()

def peak_bytes():  # not getrusage: that knows what the parent had before exec
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

BUILDERS.expect(OFFSETS_WORTH_WAITING)
_, before = read(100)
seen, after = read(records)
print(json.dumps({"seen": seen, "growth": after - before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process had at most")
@pytest.mark.parametrize("value_bytes", [100, 1_000, 50_000])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_memory_does_not_grow_with_what_is_read(kafka: Node, topic: str, codec: str, value_bytes: int) -> None:
    make_topic(kafka.bootstrap, topic)
    records = min(BYTES // value_bytes, 1_000_000)
    write(
        kafka.bootstrap,
        topic,
        repeat(bytes(value_bytes), records),
        compression_type=codec,
        batch_size=500_000,
        linger_ms=20,
        queue_buffering_max_messages=records,
        queue_buffering_max_kbytes=1_000_000,
    )
    command = [sys.executable, "-c", PROGRAM, kafka.bootstrap, topic, str(records)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert found["seen"] == records
    assert found["growth"] < GROWTH_BYTES_MAX, f"{found['growth']:,} bytes for {records * value_bytes:,}"
