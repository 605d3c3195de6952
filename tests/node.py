"""A single Kafka node in a process of its own, Apache's or Ottla's: one server.properties, one way to start and end."""

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from tests.apache.properties import Ports, free_ports, server_properties

CLUSTER_ID = "b3R0bGEtb3JhY2xlLTAwMQ"
START_BOUND_S = 90
STOP_BOUND_S = 60
_POLL_S = 0.02


class Node(ABC):
    """A combined broker and controller, formatted at its first start. As a context manager it is started and killed.

    new → start() → running → stop() or kill() → stopped → start() → …; what lies in `log_dir` may be changed while it
    is stopped. `properties` override server.properties; with controller.quorum.voters among them the cluster's voters
    are static, else it is formatted --standalone. `ports` are those of another node that has used this directory.
    """

    ready_text: str
    """What the node writes when it serves."""

    repeats_after_kill = False
    """Whether a producer's batches that were on their way when it was killed may be written twice (decision 0020)."""

    def __init__(self, directory: Path, properties: Mapping[str, str], ports: Ports | None = None) -> None:
        self._directory = directory
        self._properties = dict(properties)
        self._process: subprocess.Popen[bytes] | None = None
        self.ports = ports or free_ports()  # kept over restarts: the metadata log names the controller's
        self.log_dir = directory / "data"
        self.server_log = directory / "server.log"
        self.bootstrap = f"127.0.0.1:{self.ports.broker}"
        self.bootstrap_controller = f"127.0.0.1:{self.ports.controller}"

    @abstractmethod
    def command(self, properties: Path) -> list[str]:
        """Return the command line that runs the node."""

    @abstractmethod
    def format_storage(self, arguments: Sequence[str]) -> None:
        """Run `storage format` with `arguments`."""

    def environment(self) -> dict[str, str] | None:
        """Return the process's environment; None for this process's own."""
        return None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not stopped or killed since."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The running process's id."""
        return self._running().pid

    def format(self) -> None:
        """Format the data directory, as the first start would."""
        voters = () if "controller.quorum.voters" in self._properties else ("--standalone",)
        self.format_storage(["--config", str(self.write_properties()), "--cluster-id", CLUSTER_ID, *voters])

    def start(self) -> None:
        """Format the data directory if nobody has, start the node and return when it serves."""
        seen = self.spawn()
        self.await_started(seen)

    def spawn(self) -> int:
        """Start the process without waiting; returns where its output begins in `server_log`."""
        assert self._process is None, "the node runs already"
        properties = self.write_properties()
        if not (self.log_dir / "meta.properties").exists():
            self.format()
        command, environment = self.command(properties), self.environment()
        with self.server_log.open("ab") as log:
            seen = log.tell()
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment
            )
        return seen

    def stop(self) -> None:
        """Shut down cleanly (SIGTERM) and wait: every log is flushed and closed, the clean-shutdown marker written."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_BOUND_S)
        self._process = None

    def kill(self) -> None:
        """Kill it (SIGKILL), if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it stand still (SIGSTOP): connections stay, nobody answers. It does when this returns."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)  # its threads stop one after the other

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let it stand still meanwhile."""
        self.pause()
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def partition_dir(self, topic: str, partition: int = 0) -> Path:
        """Return the partition's directory."""
        return self.log_dir / f"{topic}-{partition}"

    def log_lines(self) -> list[str]:
        """Return the node's log, of all its starts."""
        return self.server_log.read_text(errors="replace").splitlines()

    def write_properties(self) -> Path:
        """Write server.properties and return its path."""
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / "server.properties"
        settings = {**server_properties(self.log_dir, self.ports), **self._properties}
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    def await_started(self, seen: int) -> None:
        """Return when the node that ``spawn`` started serves."""
        process = self._running()
        deadline = time.monotonic() + START_BOUND_S
        with ExitStack() as on_failure:
            on_failure.callback(self.kill)
            while True:
                with self.server_log.open("rb") as log:
                    log.seek(seen)
                    output = log.read().decode(errors="replace")
                if self.ready_text in output:
                    break
                tail = "\n".join(output.splitlines()[-30:])
                assert process.poll() is None, f"the node ended with {process.returncode}:\n{tail}"
                assert time.monotonic() < deadline, f"the node did not start within {START_BOUND_S} s:\n{tail}"
                time.sleep(_POLL_S)
            on_failure.pop_all()

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the node does not run"
        return self._process
