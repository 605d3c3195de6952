"""What reading the records of every batch would cost: in place, in a thread, and in a worker process.

The default reads none (docs/validation.md); these figures are why. Of the CPU only that of the reactor's thread counts,
which is what a broker has one of; the compiled walk in a thread stands for the best that could be had with numba.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import NamedTuple

from bench.broker.nodes import COMPILED
from bench.measure import Row, print_table

_SHAPES = {"1 record of 100 B": (1, 100), "160 records, 16 KB": (160, 100), "600 records, 60 KB": (600, 100)}
_CODECS = ("none", "lz4", "zstd")
_ROUNDS = 5
_ROUND_S = 0.2


class _Cost(NamedTuple):
    """Of one batch, in µs: of the reactor's CPU, and until the records are known."""

    reactor_us: float
    wall_us: float


def run() -> list[Row]:
    paths = [str(COMPILED)] if COMPILED.is_dir() else []
    done = subprocess.run(
        [sys.executable, "-m", "bench.validation"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.getcwd()])},
        stdout=subprocess.PIPE,
        check=True,
    )
    rows = [
        Row(
            f"{shape}, {codec}",
            f"default {default[0]:.1f}; in place {in_place[0]:.0f}; in a thread {thread[0]:.0f} ({thread[1]:.0f}); "
            f"in a process {process[0]:.0f} ({process[1]:.0f})",
            "",
        )
        for shape, codec, default, in_place, thread, process in json.loads(done.stdout)
    ]
    print_table("Reading every batch's records, µs of the reactor's CPU (µs until they are known)", rows)
    return rows


async def _measure() -> list[tuple[object, ...]]:
    import numpy as np

    from ottla.records.append_origin import AppendOrigin
    from ottla.records.append_policy import AppendPolicy
    from ottla.records.batch import RecordBatch
    from ottla.records.builder import build_batch
    from ottla.records.compression import compression_for_name
    from ottla.records.inspection import inspect_bytes
    from ottla.records.record import SimpleRecord, records_payload
    from ottla.records.validator import validate_and_assign_offsets
    from ottla.records.walk_numba import COLUMNS, walk_records
    from ottla.runtime.live import AsyncioRuntime

    runtime, now_ms = AsyncioRuntime(), int(time.time() * 1000)
    default, strict = AppendPolicy(), AppendPolicy(strict=True)
    rows = np.zeros((1 << 12, COLUMNS), np.int64)
    found: list[tuple[object, ...]] = []
    for codec in _CODECS:
        for shape, (count, value_bytes) in _SHAPES.items():
            values = [os.urandom(value_bytes // 2) + bytes(value_bytes - value_bytes // 2) for _ in range(count)]
            records = [SimpleRecord(now_ms, None, value) for value in values]
            batch = bytes(build_batch(records, compression=compression_for_name(codec)))

            def validate(policy: AppendPolicy, batch: bytes = batch) -> None:
                validate_and_assign_offsets(
                    bytearray(batch), policy, next_offset=0, leader_epoch=0, now_ms=now_ms, origin=AppendOrigin.CLIENT
                )

            def walk(batch: bytes = batch, count: int = count) -> None:
                payload = records_payload(RecordBatch(batch))
                assert walk_records(np.frombuffer(payload, np.uint8), 0, len(payload), count, rows) == len(payload)

            async def in_default() -> None:
                validate(default)

            async def in_place() -> None:
                validate(strict)

            async def in_thread() -> None:
                await runtime.blocking(walk)

            async def in_process() -> None:
                await runtime.compute(inspect_bytes, batch, strict, now_ms)  # noqa: B023

            costs = [await _cost(way) for way in (in_default, in_place, in_thread, in_process)]
            found.append((shape, codec, *costs))
    await runtime.stop()
    return found


async def _cost(way: Callable[[], Awaitable[None]]) -> _Cost:
    """The median of rounds, after one that warms up."""
    costs: list[_Cost] = []
    for number in range(_ROUNDS + 1):
        calls, begun, cpu = 0, time.perf_counter(), time.thread_time()
        while time.perf_counter() - begun < _ROUND_S:
            await way()
            calls += 1
        if number:
            costs.append(_Cost((time.thread_time() - cpu) / calls * 1e6, (time.perf_counter() - begun) / calls * 1e6))
    return _Cost(median(cost.reactor_us for cost in costs), median(cost.wall_us for cost in costs))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_measure())))
