"""A node for the source's tests: Ottla's and, where OTTLA_APACHE_HALF=1, Apache's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.cluster import CLUSTERS, running_node, select_halves, unused_topic
from tests.node import Node

HERE = Path(__file__).parent
PROPERTIES = {
    "auto.create.topics.enable": "false",
    "num.partitions": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.retention.ms": "-1",  # many records are of 1970
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted; a module without Spark stays on one worker, as its node does."""
    select_halves(config, items, "brokers")
    for item in select_halves(config, items, "kafka"):
        if HERE in item.path.parents and "spark" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker for all tests of a module (`kafka.bootstrap`)."""
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used; there is no such topic yet."""
    return unused_topic(request)
