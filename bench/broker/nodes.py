"""The brokers as their users run them: Apache's with the flags of its start script, Ottla as an installed package."""

import compileall
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import ottla
from bench.broker import wire
from bench.broker.board import APACHE, BEFORE
from bench.broker.load import read_frame
from tests.apache.broker import ApacheBroker
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

# bin/kafka-server-start.sh and bin/kafka-run-class.sh of 4.3.1
APACHE_FLAGS = (
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
PROPERTIES = {
    "log.segment.delete.delay.ms": "100",
    "log.retention.check.interval.ms": "3600000",
    "group.consumer.assignment.interval.ms": "0",  # a rebalance waits for nothing, as in classic groups
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
    "broker.session.timeout.ms": "3600000",  # a node that stands still while the other runs keeps its session
}
COMPILED = Path(__file__).parents[2] / "build/compiled"
COPY_PROPERTIES = {"ottla.send.mode": "copy"}
"""Ottla's fetch answers through memory."""
_LOOPBACK = "127.0.0.1"
_POLL_S = 0.001
_START_BOUND_S = 60


class BenchedApache(ApacheBroker):
    """Apache's broker, with its own choice of collector, compilers and heap."""

    def __init__(self, oracle: Oracle, directory: Path, properties: Mapping[str, str]) -> None:
        super().__init__(oracle, directory, {**PROPERTIES, **properties})
        self._java, self._classpath = oracle.java, oracle.classpath

    def command(self, properties: Path) -> list[str]:
        """Run it without what the tests say to a JVM of seconds."""
        log4j = Path(__file__).parents[2] / "tests/apache/programs/broker-log4j2.properties"
        flags = [*APACHE_FLAGS, f"-Dlog4j2.configurationFile={log4j}"]
        return [self._java, *flags, "-cp", self._classpath, "kafka.Kafka", str(properties)]


class BenchedOttla(OttlaBroker):
    """Ottla's server as a wheel installs it: its hot path compiled (`make build/compiled`), if that could be built."""

    def __init__(self, directory: Path, properties: Mapping[str, str], package: Path = COMPILED) -> None:
        super().__init__(directory, {**PROPERTIES, **properties})
        self._package = package

    def environment(self) -> dict[str, str]:
        """Find the compiled package before the sources."""
        paths = [str(self._package)] if self._package.is_dir() else []
        return {**super().environment(), "PYTHONPATH": os.pathsep.join(paths)}


def compile_ottla() -> None:
    """Write the byte code of all modules, as an installation does."""
    compileall.compile_dir(COMPILED if COMPILED.is_dir() else Path(ottla.__file__).parent, quiet=1)


class Contenders:
    """Who is measured: Apache's broker, this Ottla, and Ottla as another package has it."""

    def __init__(self, oracle: Oracle | None = None, before: Path | None = None) -> None:
        self._oracle = oracle
        self._before = before

    def node(self, name: str, directory: Path, properties: Mapping[str, str] | None = None) -> Node:
        """Return a node that is not started."""
        if name == APACHE:
            assert self._oracle is not None
            return BenchedApache(self._oracle, directory, properties or {})
        if name == BEFORE:
            assert self._before is not None
            return BenchedOttla(directory, properties or {}, self._before)
        return BenchedOttla(directory, properties or {})


def seconds_to_first_answer(node: Node) -> float:
    """Spawn a formatted node and return how long it takes to answer an ApiVersions request."""
    node.format()
    begun = time.perf_counter()
    node.spawn()
    request = wire.api_versions_frame()
    while True:
        try:
            with socket.create_connection((_LOOPBACK, node.ports.broker), _START_BOUND_S) as connection:
                connection.sendall(request)
                read_frame(connection)
                return time.perf_counter() - begun
        except ConnectionError:
            if time.perf_counter() - begun > _START_BOUND_S:
                raise
            time.sleep(_POLL_S)


@contextmanager
def standing_still(others: Sequence[Node]) -> Iterator[None]:
    """Stop these nodes (SIGSTOP) meanwhile."""
    for other in others:
        os.kill(other.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for other in others:
            os.kill(other.pid, signal.SIGCONT)
