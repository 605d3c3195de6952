"""How much memory a process and all below it use, at most."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

_PAUSE_S = 0.5
_TASK_WORKER = b"\0pyspark.worker\0"


def resident_bytes(pid: int) -> int:
    """What is in memory of this process and of all that it started, shared pages counted by their share."""
    return sum(map(_own_bytes, _family(pid)))


def task_worker_bytes(pid: int) -> int:
    """The same of the Python workers of Spark's tasks below this process, and of the daemon that they fork from."""
    return sum(_own_bytes(each) for each in _family(pid) if _command(each).endswith(_TASK_WORKER))


def _family(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    family = [pid]
    for each in family:
        family += children.get(each, [])
    return family


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _own_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines.splitlines() if line.startswith("Pss:"))


class MemoryWatch:
    """As a context manager: ``peak_bytes`` of a tree of processes while it is open."""

    def __init__(self, *pids: int, of: Callable[[int], int] = resident_bytes, pause_s: float = _PAUSE_S) -> None:
        """``of`` says what a tree uses now."""
        self._pids = list(pids)
        self._of = of
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak_bytes = 0

    def watch(self, pid: int) -> None:
        """This tree counts, too."""
        self._pids.append(pid)

    def __enter__(self) -> "MemoryWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.peak_bytes = max(self.peak_bytes, sum(map(self._of, list(self._pids))))
            time.sleep(self._pause_s)
