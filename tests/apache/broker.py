"""Apache Kafka's broker: one combined KRaft node on loopback."""

import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, Self

from tests.apache import driver
from tests.apache.jvm import Finished

CLUSTER_ID = "b3R0bGEtb3JhY2xlLTAwMQ"
START_BOUND_S = 90
STOP_BOUND_S = 60
_STARTED = "Kafka Server started"
_POLL_S = 0.05


class RunsKafka(driver.Runs, Protocol):
    """The part of Oracle that a broker needs."""

    def command(self, main_class: str, *args: str, log4j: str, jvm_args: Sequence[str] = ()) -> list[str]:
        """Return a command line."""
        ...


class ApacheBroker:
    """A single node, formatted at its first start. `with oracle.broker(tmp_path) as broker:` starts and kills it.

    new → start() → running → stop() or kill() → stopped → start() → …; what lies in `log_dir` may be changed while it
    is stopped. `properties` override server.properties.
    """

    def __init__(self, oracle: RunsKafka, directory: Path, properties: Mapping[str, str]) -> None:
        self._oracle = oracle
        self._directory = directory
        self._properties = dict(properties)
        self._process: subprocess.Popen[bytes] | None = None
        self._ports: list[int] = []
        self.log_dir = directory / "data"
        self.server_log = directory / "server.log"
        self.bootstrap = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Format the data directory if nobody has, start the broker on free ports and return when it serves."""
        assert self._process is None, "the broker runs already"
        self._directory.mkdir(parents=True, exist_ok=True)
        if not self._ports:
            self._ports = _free_ports(2)  # kept over restarts: the metadata log names the controller's
        self.bootstrap = f"127.0.0.1:{self._ports[0]}"
        properties = self._directory / "server.properties"
        settings = {**self._defaults(*self._ports), **self._properties}
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        if not (self.log_dir / "meta.properties").exists():
            self._format(properties)
        command = self._oracle.command(
            "kafka.Kafka", str(properties), log4j="broker-log4j2.properties", jvm_args=("-Xms128m", "-Xmx512m")
        )
        with self.server_log.open("ab") as log:
            seen = log.tell()
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self._await_started(seen)

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

    def drive(self, operations: Sequence[driver.Operation], *, timeout_s: float = 120) -> list[dict[str, Any]]:
        """Do `operations` (tests/apache/driver.py) with Apache's clients and return their answers."""
        return driver.drive(self._oracle, self.bootstrap, operations, timeout_s=timeout_s)

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create a topic."""
        self.drive([driver.create_topic(topic, partitions, configs)])

    def consume(
        self, topic: str, partition: int = 0, *, isolation: str = "read_uncommitted"
    ) -> list[driver.ConsumedRecord]:
        """Return all records of a partition as Apache's consumer sees them."""
        return driver.consumed(self.drive([driver.consume(topic, partition, isolation=isolation)])[0])

    def partition_dir(self, topic: str, partition: int = 0) -> Path:
        """Return the partition's directory."""
        return self.log_dir / f"{topic}-{partition}"

    def log_lines(self) -> list[str]:
        """Return the broker's log, of all its starts."""
        return self.server_log.read_text().splitlines()

    def _defaults(self, broker_port: int, controller_port: int) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{broker_port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_dir),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
        }

    def _format(self, properties: Path) -> None:
        done: Finished = self._oracle.run(
            "kafka.tools.StorageTool",
            "format",
            "--config",
            str(properties),
            "--cluster-id",
            CLUSTER_ID,
            "--standalone",
        )
        assert done.returncode == 0, f"formatting failed:\n{done.stdout}\n{done.stderr}"

    def _await_started(self, seen: int) -> None:
        process = self._running()
        deadline = time.monotonic() + START_BOUND_S
        with ExitStack() as on_failure:
            on_failure.callback(self.kill)
            while True:
                with self.server_log.open("rb") as log:
                    log.seek(seen)
                    output = log.read().decode(errors="replace")
                if _STARTED in output:
                    break
                tail = "\n".join(output.splitlines()[-30:])
                assert process.poll() is None, f"the broker ended with {process.returncode}:\n{tail}"
                assert time.monotonic() < deadline, f"the broker did not start within {START_BOUND_S} s:\n{tail}"
                time.sleep(_POLL_S)
            on_failure.pop_all()

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None, "the broker does not run"
        return self._process


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
