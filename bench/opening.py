"""Clean start: a thousand partitions, in a process of its own so that its memory can be told."""

import asyncio
import resource
import subprocess
import sys
import time

from bench.measure import Row, print_table
from bench.workload import batch_of, scratch_directory
from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.log.manager import LogManager
from ottla.runtime.live import AsyncioRuntime

_PARTITIONS = 1_000
_BATCHES = 20


def run(rounds: int = 5) -> list[Row]:
    with scratch_directory() as directory:
        asyncio.run(_fill(directory))
        figures = sorted(_open_in_child(directory) for _ in range(rounds))
    seconds, megabytes = figures[rounds // 2]
    rows = [
        Row(f"{_PARTITIONS} clean partitions open in", f"{seconds:.2f} s", "≤ 1.5 s", seconds <= 1.5),
        Row("resident memory then", f"{megabytes:.0f} MB", "≤ 100 MB", megabytes <= 100),
    ]
    print_table("Clean start", rows)
    return rows


async def _fill(directory: str) -> None:
    manager = LogManager(AsyncioRuntime(), BrokerLogConfig(log_dirs=(directory,)))
    await manager.start()
    for partition in range(_PARTITIONS):
        log = manager.get_or_create_log(TopicPartition("bench", partition))
        for _ in range(_BATCHES):
            log.append_as_leader(batch_of(1024), 0)
    await manager.stop()


def _open_in_child(directory: str) -> tuple[float, float]:
    output = subprocess.run(
        [sys.executable, "-m", "bench.opening", directory], check=True, capture_output=True, text=True
    ).stdout
    seconds, megabytes = output.split()
    return float(seconds), float(megabytes)


async def _open(directory: str) -> None:
    manager = LogManager(AsyncioRuntime(), BrokerLogConfig(log_dirs=(directory,)))
    started = time.perf_counter()
    await manager.start()
    seconds = time.perf_counter() - started
    assert len(manager.logs) == _PARTITIONS
    peak_kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await manager.stop()
    print(seconds, peak_kilobytes / 1024)


if __name__ == "__main__":
    asyncio.run(_open(sys.argv[1]))
