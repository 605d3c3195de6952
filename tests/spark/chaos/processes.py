"""The processes of a Spark job: its driver and what hangs beneath it, found in /proc."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

EXECUTOR = "CoarseGrainedExecutorBackend"
PYTHON_DAEMONS = ("pyspark.daemon", "ottla.spark.task_daemon")
"""Spark's own, and that of the tasks of a session on one machine."""


class Process(NamedTuple):
    """A running process."""

    pid: int
    parent_pid: int
    command: str


def descendants(root_pid: int) -> list[Process]:
    """All that ``root_pid`` has started, children before grandchildren; not itself."""
    children: dict[int, list[Process]] = {}
    for process in _running():
        children.setdefault(process.parent_pid, []).append(process)
    found = []
    waiting = [root_pid]
    while waiting:
        own = children.get(waiting.pop(0), [])
        found += own
        waiting += [process.pid for process in own]
    return found


def executors(root_pid: int) -> list[int]:
    """Executors in processes of their own, as a cluster has them."""
    return [process.pid for process in descendants(root_pid) if EXECUTOR in process.command]


def python_workers(root_pid: int) -> list[int]:
    """Python processes that run tasks, plan, or commit: forks of Spark's daemons."""
    found = [process for process in descendants(root_pid) if any(name in process.command for name in PYTHON_DAEMONS)]
    daemons = {process.pid for process in found}
    return [process.pid for process in found if process.parent_pid in daemons]


def kill(pid: int) -> None:
    """Kill it, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _running() -> list[Process]:
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            stat = (directory / "stat").read_text()
            command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        parent_pid = int(stat.rpartition(")")[2].split()[1])
        found.append(Process(int(directory.name), parent_pid, command))
    return found
