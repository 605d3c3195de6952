"""A standalone Spark master with two workers on loopback, from PySpark's own package, and a Python without Ottla."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import pyspark

BOUND_S = 120
BARE_PACKAGES = (
    *("pyspark", "py4j", "pyarrow", "pandas", "numpy", "numpy.libs", "dateutil", "pytz", "tzdata", "six.py"),
    *("google", "packaging"),
)
"""What PySpark itself needs of an executor's Python."""


def bare_python(directory: Path) -> str:
    """Make an environment whose Python has PySpark and what it needs, and neither Ottla nor what Ottla needs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, timeout=BOUND_S)
    python = str(directory / "bin" / "python")
    here, there = (_site_packages(each) for each in (sys.executable, python))
    for name in BARE_PACKAGES:
        if (here / name).exists():
            (there / name).symlink_to(here / name)
    for missing in ("ottla", "crc32c", "cramjam", "xxhash", "zstandard", "numba"):
        done = subprocess.run([python, "-c", f"import {missing}"], capture_output=True, text=True, check=False)
        assert "ModuleNotFoundError" in done.stderr, f"{missing} can be imported by the bare Python"
    subprocess.run([python, "-c", "import pyspark, pandas, pyarrow"], check=True, timeout=BOUND_S)
    return python


def _site_packages(python: str) -> Path:
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip())


class StandaloneCluster:
    """As a context manager: a master and two workers of one core each, with their logs and work in ``directory``."""

    def __init__(self, directory: Path, java_home: str, *, workers: int = 2, memory: str = "1g") -> None:
        self._directory = directory
        self._java_home = java_home
        self._worker_count = workers
        self._memory = memory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = 0

    @property
    def master(self) -> str:
        """What ``--master`` takes."""
        return f"spark://127.0.0.1:{self._port}"

    @property
    def work(self) -> Path:
        """Where executors run."""
        return self._directory / "work"

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = _free_port()
        common = ["--host", "127.0.0.1", "--webui-port", "0"]
        self._start("master", ["org.apache.spark.deploy.master.Master", *common, "--port", str(self._port)])
        self._wait_for("master", r"I have been elected leader|Starting Spark master")
        for number in range(self._worker_count):
            sizes = ["--cores", "1", "--memory", self._memory, "--work-dir", str(self.work / str(number))]
            self._start(f"worker-{number}", ["org.apache.spark.deploy.worker.Worker", *common, *sizes, self.master])
        for number in range(self._worker_count):
            self._wait_for(f"worker-{number}", "Successfully registered with master")
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def pids(self) -> list[int]:
        """The processes of the master and the workers, below which executors run."""
        return [process.pid for process in self._processes]

    def executors(self) -> list[int]:
        """The process ids of the executors that run now: they work below ``work``."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and _is_executor(entry, str(self.work)):
                found.append(int(entry.name))
        return found

    def kill_executor(self) -> None:
        """End one executor with SIGKILL; its worker starts another."""
        os.kill(self.executors()[0], signal.SIGKILL)

    def _start(self, name: str, arguments: Sequence[str]) -> None:
        # Nothing of this process's Python reaches the executors by the environment.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYSPARK"))}
        environment |= {"JAVA_HOME": self._java_home, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        with (self._directory / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                )
            )

    def _wait_for(self, name: str, pattern: str) -> None:
        deadline = time.monotonic() + BOUND_S
        path = self._directory / f"{name}.log"
        while not re.search(pattern, path.read_text(errors="replace")):
            assert time.monotonic() < deadline, f"{name} did not start:\n{path.read_text(errors='replace')}"
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_executor(entry: Path, work: str) -> bool:
    try:
        line, directory = (entry / "cmdline").read_bytes(), os.readlink(entry / "cwd")
    except OSError:  # it has ended
        return False
    return b"CoarseGrainedExecutorBackend" in line and directory.startswith(work)
