"""``run`` and ``land`` on a standalone master with two workers whose Python has no Ottla: skewed records, many of them,
in bounded memory, with the driver and an executor killed on the way.

OTTLA_SPARK_RECORDS says how many; 20 million by default.
"""

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.terminal import command
from tests.clients.conftest import PROPERTIES
from tests.ottla_broker import OttlaBroker
from tests.spark.memory import MemoryWatch
from tests.spark.skewed import committed_batches, fill_skewed, sum_of_n, user_of
from tests.spark.standalone import StandaloneCluster, bare_python

pytestmark = pytest.mark.spark_full

RECORDS = int(os.environ.get("OTTLA_SPARK_RECORDS", "20000000"))
A_BATCH = RECORDS // 10
BOUND_S = 3600
MEMORY_MAX = 6 << 30
"""Driver, two executors, a master, two workers and all of their Python processes."""
PROGRAM = """
from ottla.spark.pipeline import Json, Topic, pipeline

@pipeline(
    source=Topic("skewed", Json("user string not null, n bigint"), options={"maxOffsetsPerTrigger": "A_BATCH"}),
    sink=Topic("doubled", key="user"),
    dead_letters="skewed.dead",
)
def doubled(frame):
    return frame.selectExpr("user", "n * 2 AS n")
"""


class World(NamedTuple):
    """What the tests run on."""

    servers: str
    cluster: StandaloneCluster
    python: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, java_home: str) -> Iterator[World]:
    scratch = tmp_path_factory.mktemp("cluster")
    python = bare_python(scratch / "bare")
    with (
        OttlaBroker(scratch / "broker", PROPERTIES) as broker,
        StandaloneCluster(scratch / "spark", java_home) as cluster,
    ):
        fill_skewed(broker.bootstrap, "skewed", RECORDS)
        yield World(broker.bootstrap, cluster, python)


def start(world: World, *line: str, log: Path) -> "subprocess.Popen[bytes]":
    settings = {
        "spark.pyspark.python": world.python,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "768m",
        "spark.sql.shuffle.partitions": "2",
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    connection = ["--bootstrap-server", world.servers, "--master", world.cluster.master, "--once"]
    with log.open("ab") as out:
        return subprocess.Popen(
            command("pipeline", *line, *connection, *conf), stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )


def run_with_kills(world: World, *line: str, log: Path, query: str) -> int:
    """Run to the end, with the driver killed after its second batch, and later an executor; the peak of memory."""
    with MemoryWatch(*world.cluster.pids()) as memory:
        process = start(world, *line, log=log)
        memory.watch(process.pid)
        wait_for(process, log, rf"{query}: batch [1-9]")
        process.send_signal(signal.SIGKILL)
        process.wait()
        log.rename(log.with_suffix(".killed"))
        process = start(world, *line, log=log)
        memory.watch(process.pid)
        wait_for(process, log, rf"{query}: batch [1-9]")
        world.cluster.kill_executor()
        assert process.wait(BOUND_S) == 0, log.read_text()
    return memory.peak_bytes


def wait_for(process: "subprocess.Popen[bytes]", log: Path, pattern: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not re.search(pattern, log.read_text()):
        assert process.poll() is None, f"it ended:\n{log.read_text()}"
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)


def test_land_takes_all_records_once(world: World, tmp_path: Path) -> None:
    import pyarrow.compute
    import pyarrow.dataset

    table = tmp_path / "table"
    line = ("land", "--topic", "skewed", "--to", str(table), "--format", "parquet", "--max-offsets", str(A_BATCH))
    peak = run_with_kills(world, *line, log=tmp_path / "land.log", query="land-skewed")
    # What the killed run left is swept away: a reader that knows nothing of Spark sees each record once.
    files = [str(each) for each in table.rglob("*.parquet")]
    landed = pyarrow.dataset.dataset(files)
    places: set[int] = set()
    total = count = 0
    for batch in landed.to_batches(columns=["n", "kafka_partition", "kafka_offset"]):
        count += batch.num_rows
        total += pyarrow.compute.sum(batch["n"]).as_py() or 0
        place = pyarrow.compute.add(
            pyarrow.compute.multiply(batch["kafka_partition"].cast("int64"), 1 << 40), batch["kafka_offset"]
        )
        places.update(place.to_numpy().tolist())
    assert (count, len(places), total) == (RECORDS, RECORDS, sum_of_n(RECORDS))
    print(f"peak of memory: {peak / (1 << 20):.0f} MB")
    assert peak < MEMORY_MAX


def test_run_takes_all_records_once(world: World, tmp_path: Path) -> None:
    program = tmp_path / "double.py"
    program.write_text(PROGRAM.replace("A_BATCH", str(A_BATCH)))
    line = ("run", str(program), "--checkpoint", str(tmp_path / "checkpoint"))
    peak = run_with_kills(world, *line, log=tmp_path / "run.log", query="doubled")
    found: Counter[str] = Counter()
    for batch in committed_batches(world.servers, "doubled"):
        for pair in batch["key"].value_counts():
            found[pair["values"].as_py().decode()] += pair["counts"].as_py()
    block = Counter(map(user_of, range(50_000)))
    expected = Counter({user: count * (RECORDS // 50_000) for user, count in block.items()})
    expected.update(map(user_of, range(RECORDS % 50_000)))
    assert found == expected
    print(f"peak of memory: {peak / (1 << 20):.0f} MB")
    assert peak < MEMORY_MAX
