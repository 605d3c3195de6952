"""What a process holds: memory and open files, over the time of a run."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median


def resident_kib(pid: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError(f"process {pid} has no memory")


def open_files(pid: int) -> int:
    """How many file descriptors a process has."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def growth(samples: Sequence[int], *, since_start: bool = False) -> float:
    """By what share the last third of the samples lies above the one before it, or above the first.

    Memory warms up in the first third: topics are made, APIs are compiled, caches fill. Files come and go with topics
    from the beginning on. Medians, so that one peak says nothing.
    """
    third = len(samples) // 3
    assert third > 0, "too few samples to compare"
    before = samples[:third] if since_start else samples[-2 * third : -third]
    return median(samples[-third:]) / median(before) - 1
