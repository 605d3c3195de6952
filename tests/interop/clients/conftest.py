"""Every test here runs against a cluster of Ottla's and, where OTTLA_APACHE_HALF=1 says so, against Apache's."""

from collections.abc import Callable, Iterator

import pytest

from tests.interop.clients.aiokafka_client import Aiokafka
from tests.interop.clients.client import Client, TailingClient
from tests.interop.clients.confluent_client import Confluent
from tests.interop.clients.java_client import Java
from tests.interop.clients.kafka_python_client import KafkaPython
from tests.interop.cluster import CLUSTERS, running_node, unused_topic
from tests.node import Node

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


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker, for all tests of a module; it must stop by itself when asked to."""
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture(params=[*PYTHON_CLIENTS, "java"])
def client(request: pytest.FixtureRequest, kafka_cluster: Node) -> Client:
    """Each client library in turn."""
    if request.param == "java":
        return Java(request.getfixturevalue("oracle"), kafka_cluster.bootstrap)
    return PYTHON_CLIENTS[request.param](kafka_cluster.bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used."""
    return unused_topic(request)
