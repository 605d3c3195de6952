"""Appending: the CPU time of a batch, beside the machine's own write of the same bytes."""

import os
import shutil
from functools import partial

from bench.measure import Cost, Row, alternate, cost_of, print_table
from bench.workload import batch_of, open_log, scratch_directory

_BUFFERS = 32
"""Batches come from a receive buffer that was just filled: hot in the cache, not the same one each time."""
_BASE_OFFSET = bytes(8)


def run(rounds: int = 9) -> list[Row]:
    rows = []
    for size_bytes, count in ((1024, 20_000), (65_536, 4_000)):
        with scratch_directory() as directory:
            costs = alternate(
                {
                    "append": partial(_append, directory, size_bytes, count),
                    "write": partial(_write, directory, size_bytes, count),
                },
                rounds,
            )
        append_us = costs["append"].cpu_s / count * 1e6
        write_us = costs["write"].cpu_s / count * 1e6
        what = f"append of {size_bytes // 1024} KiB batches (CPU)"
        if size_bytes == 1024:
            rows.append(Row(what, f"{append_us:.1f} µs", "≤ 12 µs", append_us <= 12))
        else:
            ratio = write_us / append_us
            rows.append(
                Row(
                    what, f"{ratio:.2f} × os.write ({append_us:.1f} against {write_us:.1f} µs)", "≥ 0.6 ×", ratio >= 0.6
                )
            )
    print_table("Append", rows)
    return rows


def _append(directory: str, size_bytes: int, count: int) -> Cost:
    buffers = [batch_of(size_bytes) for _ in range(_BUFFERS)]
    log = open_log(f"{directory}/bench-0")

    def append_all() -> None:
        append = log.append_as_leader
        for number in range(count):
            buffer = buffers[number % _BUFFERS]
            append(buffer, 0)
            buffer[0:8] = _BASE_OFFSET  # the log has patched it; a client sends 0

    cost = cost_of(append_all)
    log.close_handlers()
    shutil.rmtree(log.directory)
    return cost


def _write(directory: str, size_bytes: int, count: int) -> Cost:
    buffers = [batch_of(size_bytes) for _ in range(_BUFFERS)]
    path = f"{directory}/plain"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def write_all() -> None:
        write = os.write
        for number in range(count):
            write(descriptor, buffers[number % _BUFFERS])

    cost = cost_of(write_all)
    os.close(descriptor)
    os.unlink(path)
    return cost
