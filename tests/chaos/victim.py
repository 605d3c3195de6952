"""A writer process and its death: start it, listen to it, kill it at a chosen moment, know its workers."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from tests.readiness import readable

LIFE_SECONDS_MAX = 4.0
WORKERS_SECONDS_MAX = 10.0
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

AIMS = (
    *("loaded",) * 4,
    *("starting", "rolling", "snapshot", "checkpointing", "removing", "stopping", "truncate"),
    *("swapping", "retiring", "swapped in", "cleaning") * 2,
)
STOPS_AFTER_TURNS = 150


class Plan(NamedTuple):
    """Kill ``delay_seconds`` after the ``number``-th report of ``aim``."""

    aim: str
    number: int
    delay_seconds: float

    @classmethod
    def draw(cls, rng: Random) -> "Plan":
        """Somewhere in an ordinary life, during a start or a stop, or right after a file got another name."""
        aim = rng.choice(AIMS)
        if aim == "loaded":
            return cls(aim, 1, rng.uniform(0, 0.7))
        if aim in ("starting", "stopping", "cleaning"):
            return cls(aim, 1, rng.uniform(0, 0.15))
        return cls(aim, rng.randint(1, 8), rng.uniform(0, 0.004))


class Victim:
    """One writer. ``on_report`` hears everything that it said, also what it said before it died."""

    def __init__(self, directory: str, seed: int, epoch: int, plan: Plan, on_report: Callable[[Any], None]) -> None:
        self._plan = plan
        self._on_report = on_report
        self._aimed = 0
        self._kill_at = time.monotonic() + LIFE_SECONDS_MAX
        self._rest = b""
        reading, writing = os.pipe()
        stop_after = STOPS_AFTER_TURNS if plan.aim == "stopping" else 0
        arguments = [directory, *map(str, (seed, epoch, stop_after, writing))]
        self._errors = open(f"{directory}.stderr", "w+b")  # noqa: SIM115  closed when it is dead
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.writer", *arguments],
            cwd=REPOSITORY,
            pass_fds=(writing,),
            stderr=self._errors,
        )
        os.close(writing)
        self._reports = reading

    def live_and_die(self) -> bool:
        """Listen until the moment has come, kill, hear the last words; False if it came to its own end before."""
        try:
            while time.monotonic() < self._kill_at:
                if readable([self._reports], self._kill_at - time.monotonic()) and not self._hear():
                    break
            killed = self._process.poll() is None
            workers = self._kill() if killed else []
            while self._hear():
                pass
            code = self._process.wait()
            self._errors.seek(0)
            assert code in (0, -signal.SIGKILL), f"the writer failed: {self._errors.read().decode()[-3000:]}"
            await_death(workers)
            return killed
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._reports)
            self._errors.close()

    def _hear(self) -> bool:
        """Take what is in the pipe; False at its end."""
        data = os.read(self._reports, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            report = json.loads(line)
            if self._plan.aim in (report["kind"], report.get("name")):
                self._aimed += 1
                if self._aimed == self._plan.number:
                    self._kill_at = min(self._kill_at, time.monotonic() + self._plan.delay_seconds)
            self._on_report(report)
        return bool(data)

    def _kill(self) -> list[int]:
        """Kill it; returns the worker processes that it had. It is stopped first, so that it starts no more."""
        self._process.send_signal(signal.SIGSTOP)
        workers = children(self._process.pid)
        self._process.kill()
        return workers


def children(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for name in os.listdir("/proc"):
        status = _status(int(name)) if name.isdigit() else None
        if status is not None and status[1] == parent:
            found.append(int(name))
    return found


def _status(pid: int) -> tuple[str, int] | None:
    """State and parent of a process, None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b") ")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state.decode(), int(parent)


def await_death(workers: list[int]) -> None:
    """A worker that outlives its broker would write into the directory of the next one."""
    give_up = time.monotonic() + WORKERS_SECONDS_MAX
    for pid in workers:
        while (status := _status(pid)) is not None and status[0] not in "ZX":
            assert time.monotonic() < give_up, f"worker {pid} lives on after its parent was killed"
            time.sleep(0.005)
