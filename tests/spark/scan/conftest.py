"""A node for the scan's tests: Ottla's and, where OTTLA_APACHE_HALF=1, Apache's."""

from collections.abc import Iterator

import pytest

from tests.interop.cluster import CLUSTERS, running_node, select_halves, unused_topic
from tests.node import Node

PROPERTIES = {
    "auto.create.topics.enable": "true",  # a scan must not make what was deleted
    "num.partitions": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.cleaner.backoff.ms": "100",
    "log.segment.delete.delay.ms": "100",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted; a module stays on one worker, as its node does."""
    for item in select_halves(config, items, "kafka"):
        if "tests/spark/scan/" in item.nodeid and "spark" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker for all tests of a module; a test that stops it has it running again at its end."""
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used."""
    return unused_topic(request)
