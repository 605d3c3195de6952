"""What a broker's process takes of the machine, from /proc, with its child processes."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_UTIME, _CSTIME = 11, 14  # in what follows the name in /proc/<pid>/stat


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and of its children, running or ended."""
    total = 0
    for each in _family(pid):
        with suppress(OSError):  # it has ended meanwhile, and is counted with its parent
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[_UTIME : _CSTIME + 1]))
    return total / _TICKS


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and its children now."""
    total = 0
    for each in _family(pid):
        for line in Path(f"/proc/{each}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) * 1024
    return total


def _family(pid: int) -> list[int]:
    family = [pid]
    for each in family:
        for task in _tasks(each):
            with suppress(OSError):
                family += map(int, (task / "children").read_text().split())
    return family


def _tasks(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []
