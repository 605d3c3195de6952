"""Tests of the sink that need a broker run against Ottla's and, where OTTLA_APACHE_HALF=1, Apache's."""

from collections.abc import Iterator

import pytest

from tests.clients.conftest import PROPERTIES
from tests.interop.cluster import CLUSTERS, running_node, select_halves, unused_topic
from tests.node import Node

SINK_PROPERTIES = {
    **PROPERTIES,
    # A transaction whose time is over is aborted at once.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted, and keep a module on one worker of xdist: it shares a node."""
    for item in select_halves(config, items, "kafka"):
        if item.get_closest_marker("xdist_group") is not None:
            continue
        if item.callspec.params["kafka"] == "apache":  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))
        elif "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
        else:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker for all tests of a module (`kafka.bootstrap`)."""
    with running_node(request, tmp_path_factory, SINK_PROPERTIES) as node:
        yield node


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used; the broker makes the topic, of two partitions, when it is asked for."""
    return unused_topic(request)
