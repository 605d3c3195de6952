"""LLVM's code in memory: it goes when kernels are loaded, and comes back for the next."""

import subprocess
import sys

import pytest

PROGRAM = """
from ottla.clients.consumer.arrow_columns import compile_all

def resident_bytes():
    found, is_code = 0, False
    with open("/proc/self/smaps") as lines:
        for line in lines:
            if line[0].islower() or line[0].isdigit():
                is_code = "libllvmlite" in line and "r-xp" in line
            elif is_code and line.startswith("Rss:"):
                found += int(line.split()[1]) * 1024
    return found

print(resident_bytes() > 10_000_000)
compile_all()
print(resident_bytes())

import numba
print(numba.njit(lambda number: number + 1)(41), resident_bytes() > 10_000_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says which pages are in memory")
def test_it_goes_when_kernels_are_loaded_and_comes_back_for_the_next() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True", "0", "42 True"]
