"""Apache Kafka's broker: one combined KRaft node on loopback."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.apache import driver
from tests.apache.properties import Ports
from tests.node import Node


class RunsKafka(driver.Runs, Protocol):
    """The part of Oracle that a broker needs."""

    def command(self, main_class: str, *args: str, log4j: str, jvm_args: Sequence[str] = ()) -> list[str]:
        """Return a command line."""
        ...


class ApacheBroker(Node):
    """A single node. `with oracle.broker(tmp_path) as broker:` starts and kills it."""

    ready_text = "Kafka Server started"
    repeats_after_kill = True

    def __init__(
        self, oracle: RunsKafka, directory: Path, properties: Mapping[str, str], ports: Ports | None = None
    ) -> None:
        super().__init__(directory, properties, ports)
        self._oracle = oracle

    def command(self, properties: Path) -> list[str]:
        """Run kafka.Kafka in a small heap."""
        return self._oracle.command(
            "kafka.Kafka", str(properties), log4j="broker-log4j2.properties", jvm_args=("-Xms128m", "-Xmx512m")
        )

    def format_storage(self, arguments: Sequence[str]) -> None:
        """Run Apache's StorageTool."""
        done = self._oracle.run("kafka.tools.StorageTool", "format", *arguments)
        assert done.returncode == 0, f"formatting failed:\n{done.stdout}\n{done.stderr}"

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
