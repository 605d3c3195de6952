"""What a process keeps of what it freed, and when it gives it back."""

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
from ottla.spark.freed_memory import give_back_freed_memory, keep_freed_memory

def resident_bytes():
    with open("/proc/self/statm") as line:
        return int(line.read().split()[1]) * 4096

assert keep_freed_memory()
before = resident_bytes()
blocks = [bytes([1]) * 200_000 for _ in range(300)]
above_them = bytes([1]) * 200_000  # so that the heap cannot shrink
del blocks
kept = resident_bytes() - before
give_back_freed_memory(moved_bytes=1_000_000)
kept_after_a_small_task = resident_bytes() - before
give_back_freed_memory(moved_bytes=60_000_000)
kept_after_a_large_task = resident_bytes() - before
print(kept, kept_after_a_small_task, kept_after_a_large_task)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this is glibc's")
def test_it_is_kept_during_tasks_and_after_small_ones() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    kept, kept_after_a_small_task, kept_after_a_large_task = map(int, done.stdout.split())
    assert kept > 50_000_000
    assert kept_after_a_small_task > 50_000_000
    assert kept_after_a_large_task < 10_000_000
