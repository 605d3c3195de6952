"""What the Python workers of a real session hold at most, as it writes and reads rows of all sizes in turns."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.consumer.writing import make_topic
from tests.node import Node

BYTES_MAX = 400_000_000
"""Of two workers and the daemon that they are forked from, pages that they share counted once."""
_BOUND_S = 600
_ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, os, sys
from ottla.clients.consumer.arrow_columns import compile_all
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.spark.session import spark_session
from tests.spark.memory import MemoryWatch, task_worker_bytes

compile_all()  # workers find them on disk, but for the first that an installation ever has
KERNELS.load()
bootstrap, topics = sys.argv[1], sys.argv[2:]
conf = {"spark.ui.enabled": "false", "spark.driver.memory": "1g"}
spark = spark_session("memory", master="local[2]", conf=conf)
peaks = {}

def watched(name, action):
    with MemoryWatch(os.getpid(), of=task_worker_bytes, pause_s=0.1) as watch:
        action()
    peaks[name] = watch.peak_bytes

for topic, value_bytes in zip(topics, (100, 1_024, 10_240), strict=True):
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "subscribe": topic, "startingOffsets": "earliest"}
    value = f"CAST(rpad(CAST(id AS STRING), {value_bytes}, 'abcdefghij') AS BINARY) AS value"
    rows = spark.range(0, 300_000_000 // value_bytes, 1, 4).selectExpr(value)
    sink = {name: options[name] for name in ("kafka.bootstrap.servers", "topic")}
    source = {name: options[name] for name in ("kafka.bootstrap.servers", "subscribe", "startingOffsets")}
    watched(f"writing {value_bytes} B", rows.write.format("ottla").mode("append").options(**sink).save)
    read = spark.read.format("ottla").options(**source).load()
    watched(f"reading {value_bytes} B", read.write.format("noop").mode("overwrite").save)
spark.stop()
print(json.dumps(peaks))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says which pages are in memory, and shared")
def test_two_workers_stay_below_400_mb_each_way(kafka: Node, topic: str) -> None:
    topics = [f"{topic}-{number}" for number in range(3)]
    for each in topics:
        make_topic(kafka.bootstrap, each, partitions=4)
    command = [sys.executable, "-c", PROGRAM, kafka.bootstrap, *topics]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_BOUND_S, check=False)
    assert done.returncode == 0, done.stderr
    peaks = json.loads(done.stdout)
    assert len(peaks) == 6 and min(peaks.values()) > 50_000_000
    assert max(peaks.values()) <= BYTES_MAX, peaks
