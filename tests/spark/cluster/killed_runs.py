"""A pipeline command on a cluster, with its driver and an executor killed on the way, and its memory watched."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from tests.cli.terminal import command
from tests.spark.memory import MemoryWatch
from tests.spark.standalone import StandaloneCluster

RECORDS = int(os.environ.get("OTTLA_SPARK_RECORDS", "20000000"))
A_BATCH = RECORDS // 10
BOUND_S = 3600
MEMORY_MAX = 6 << 30
"""Driver, two executors, a master, two workers and all of their Python processes."""


class World(NamedTuple):
    """What the commands run on; ``python`` is the executors'."""

    servers: str
    cluster: StandaloneCluster
    python: str


def start(world: World, *line: str, log: Path) -> "subprocess.Popen[bytes]":
    """Start a command; what it prints comes by a pipe, what it tells people goes to ``log``."""
    settings = {
        "spark.pyspark.python": world.python,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "768m",
        "spark.sql.shuffle.partitions": "2",
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    connection = ["--bootstrap-server", world.servers, "--master", world.cluster.master]
    with log.open("ab") as err:
        return subprocess.Popen(
            command("pipeline", *line, *connection, *conf),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
        )


def run_with_kills(world: World, *line: str, log: Path, query: str) -> str:
    """Run to the end, with the driver killed after its second batch, and an executor later; what was printed.

    All processes together stay within MEMORY_MAX.
    """
    with MemoryWatch(*world.cluster.pids()) as memory:
        process = start(world, *line, log=log)
        memory.watch(process.pid)
        _wait_for_a_batch(process, log, query)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        log.rename(log.with_suffix(".killed"))
        process = start(world, *line, log=log)
        memory.watch(process.pid)
        _wait_for_a_batch(process, log, query)
        world.cluster.kill_executor()
        printed = process.communicate(timeout=BOUND_S)[0].decode()
        assert process.returncode == 0, log.read_text()
    print(f"{line[0]}: peak of memory {memory.peak_bytes / (1 << 20):.0f} MB")
    assert memory.peak_bytes < MEMORY_MAX
    return printed


def _wait_for_a_batch(process: "subprocess.Popen[bytes]", log: Path, query: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not re.search(rf"{query}: batch [1-9]", log.read_text()):
        assert process.poll() is None, f"it ended:\n{log.read_text()}"
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
