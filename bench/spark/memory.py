"""What Spark's Python workers hold at most while they read and write."""

import os
from collections.abc import Callable

from bench.measure import Row
from bench.spark.arena import SparkArena
from bench.spark.contenders import OTTLA
from tests.spark.memory import MemoryWatch, task_worker_bytes

BYTES = 500_000_000
SIZES = (100, 1_024, 10_240)
_BAR_BYTES = 400_000_000
_PAUSE_S = 0.1


def memory(arena: SparkArena) -> list[Row]:
    """Of both workers and the daemon that they fork from, shared pages once; the stock connector has none."""
    total = BYTES // 5 if arena.quick else BYTES
    rows: list[Row] = []
    name = arena.names[0]
    print(f"\npeak memory of Spark's Python workers, {total / 1e6:,.0f} MB, on {name}'s broker")
    with arena.alone(name) as node:
        for value_bytes in SIZES:
            with arena.topic(node) as topic:
                records = total // value_bytes

                def write(topic: str = topic, records: int = records, value_bytes: int = value_bytes) -> None:
                    arena.save(OTTLA, node, topic, records, value_bytes)

                def read(topic: str = topic) -> None:
                    arena.load(OTTLA, node, topic).write.format("noop").mode("overwrite").save()

                rows += [_peak(f"writing {value_bytes:,} B", write), _peak(f"reading {value_bytes:,} B", read)]
    return rows


def _peak(what: str, action: Callable[[], None]) -> Row:
    with MemoryWatch(os.getpid(), of=task_worker_bytes, pause_s=_PAUSE_S) as watch:
        action()
    if not watch.peak_bytes:
        raise RuntimeError("no worker of Spark's tasks was seen")
    is_reached = watch.peak_bytes <= _BAR_BYTES
    figure = f"{watch.peak_bytes / 1e6:,.0f} MB"
    print(f"  {what:18} {figure:>8} (bar: {_BAR_BYTES / 1e6:,.0f} MB) {'OK' if is_reached else 'MISS'}", flush=True)
    return Row(f"memory of Spark's workers, {what}", figure, f"≤ {_BAR_BYTES / 1e6:,.0f} MB", is_reached)
