"""How much memory a process and all below it use, at most."""

import threading
import time
from pathlib import Path

_PAUSE_S = 0.5


def resident_bytes(pid: int) -> int:
    """What is in memory of this process and of all that it started, shared pages counted by their share."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    total, left = 0, [pid]
    while left:
        each = left.pop()
        left += children.get(each, [])
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines.splitlines() if line.startswith("Pss:"))
    return total


class MemoryWatch:
    """As a context manager: ``peak_bytes`` of a tree of processes while it is open."""

    def __init__(self, *pids: int) -> None:
        self._pids = list(pids)
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
            self.peak_bytes = max(self.peak_bytes, sum(resident_bytes(pid) for pid in list(self._pids)))
            time.sleep(_PAUSE_S)
