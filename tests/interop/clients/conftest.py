"""Every test here runs against a cluster of Ottla's and, where OTTLA_APACHE_HALF=1 says so, against Apache's.

Apache's half is what shows that a test asks for Kafka's behaviour and not for ours; it takes a while, so
`make interop` runs it and `make test` does not.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.interop.clients.aiokafka_client import Aiokafka
from tests.interop.clients.client import Client, TailingClient
from tests.interop.clients.confluent_client import Confluent
from tests.interop.clients.java_client import Java
from tests.interop.clients.kafka_python_client import KafkaPython
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

CLUSTERS = ("ottla", "apache")
PYTHON_CLIENTS: dict[str, Callable[[str], TailingClient]] = {
    "confluent-kafka": Confluent,
    "aiokafka": Aiokafka,
    "kafka-python": KafkaPython,
}
PROPERTIES = {
    "auto.create.topics.enable": "true",
    "num.partitions": "2",
    "log.retention.check.interval.ms": "3600000",
    "log.segment.delete.delay.ms": "1000",
    # A broker that was killed is let in again when its session is over.
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}
_MEMORY = Path("/dev/shm")
_numbers = count()


def new_node(kind: str, request: pytest.FixtureRequest, directory: Path) -> Node:
    """A node that is not started yet."""
    if kind == "ottla":
        return OttlaBroker(directory, PROPERTIES)
    oracle: Oracle = request.getfixturevalue("oracle")
    return oracle.broker(directory, PROPERTIES)


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker, for all tests of a module; it must stop by itself when asked to."""
    directory = tmp_path_factory.mktemp("cluster")
    if _MEMORY.is_dir():
        directory = Path(tempfile.mkdtemp(prefix="ottla-clients-", dir=_MEMORY))
    with new_node(request.param, request, directory) as node:
        yield node
        node.stop()
    if directory.parent == _MEMORY:
        shutil.rmtree(directory)


@pytest.fixture(params=[*PYTHON_CLIENTS, "java"])
def client(request: pytest.FixtureRequest, kafka_cluster: Node) -> Client:
    """Each client library in turn."""
    if request.param == "java":
        return Java(request.getfixturevalue("oracle"), kafka_cluster.bootstrap)
    return PYTHON_CLIENTS[request.param](kafka_cluster.bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used."""
    return f"{request.node.originalname.removeprefix('test_')[:40]}-{next(_numbers)}"
