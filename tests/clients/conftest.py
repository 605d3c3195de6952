"""Every test of the clients that needs a broker runs against Ottla's and, where OTTLA_APACHE_HALF=1, Apache's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.cluster import CLUSTERS, running_node, sample_oracle, select_halves, unused_topic
from tests.node import Node

PROPERTIES = {
    "auto.create.topics.enable": "true",
    "num.partitions": "2",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.min.session.timeout.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    # A broker that was killed is let in again when its session is over.
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}


BESIDE_APACHE = 4
"""How many tests of a module that need Apache in any case `make test` runs; `make interop` runs all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted, and keep a module on one worker of xdist: it shares a node."""
    sample_oracle(config, items, Path(__file__).parent, BESIDE_APACHE)
    left = select_halves(config, items, "kafka")
    beside_apache = {item.path for item in left if "oracle" in getattr(item, "fixturenames", ())}
    for item in left:
        if item.callspec.params["kafka"] == "apache":  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))
        elif item.path not in beside_apache:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        elif "oracle" not in getattr(item, "fixturenames", ()):  # the others get that group anyway
            item.add_marker(pytest.mark.xdist_group("oracle"))


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker for all tests of a module (`kafka.bootstrap`).

    A test that stops, kills or pauses it has it running again at its end.
    """
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used; the broker makes the topic, of two partitions, when it is asked for."""
    return unused_topic(request)
