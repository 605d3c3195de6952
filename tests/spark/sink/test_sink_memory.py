"""A worker's memory while it writes far more than it may hold: one of Spark's batches, and what is on its way."""

import json
import subprocess
import sys

import pytest

from tests.clients.consumer.writing import make_topic
from tests.node import Node

BYTES = 400_000_000
GROWTH_BYTES_MAX = {100: 36 << 20, 1_000: 42 << 20, 10_000: 64 << 20}
"""By the size of values: two of Spark's batches, a producer's 16 MB with its copies, and what allocators keep."""

PROGRAM = """
import json, sys
import pyarrow as pa
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.spark.sink.plain_sink import write_plainly
from ottla.spark.sink.sink_options import parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns

bootstrap, topic, value_bytes, total = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
options = parse_sink_options({"kafka.bootstrap.servers": bootstrap, "topic": topic})

def batches(total):  # as Spark makes them: of 10,000 rows, or fewer that are large
    rows = min(10_000, 20_000_000 // value_bytes)
    for _ in range(-(-total // (rows * value_bytes))):
        ends = pa.array(range(0, (rows + 1) * value_bytes, value_bytes), pa.int32())
        buffers = [None, ends.buffers()[1], pa.py_buffer(bytes(rows * value_bytes))]
        yield pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.binary(), rows, buffers)], ["value"])

def write(total):
    written = write_plainly(batches(total), options, SinkColumns(["value"], topic))
    return written * value_bytes, peak_bytes()

def peak_bytes():  # not getrusage: that knows what the parent had before exec
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))

KERNELS.load()
_, before = write(value_bytes * 100)
written, after = write(total)
print(json.dumps({"written": written, "growth": after - before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process had at most")
@pytest.mark.parametrize("value_bytes", list(GROWTH_BYTES_MAX))
def test_memory_does_not_grow_with_what_is_written(kafka: Node, topic: str, value_bytes: int) -> None:
    make_topic(kafka.bootstrap, topic)
    command = [sys.executable, "-c", PROGRAM, kafka.bootstrap, topic, str(value_bytes), str(BYTES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert found["written"] >= BYTES
    assert found["growth"] < GROWTH_BYTES_MAX[value_bytes], f"{found['growth']:,} bytes for {found['written']:,}"
