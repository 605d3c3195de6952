"""A cluster of three for clients that have to find the right broker, and to find it again when it dies.

Ottla's own cluster is to be the second half of these tests; until there is one they are of `make interop` only.
"""

from collections.abc import Iterator

import pytest

from ottla.clients.sync.admin import Admin
from tests.clients.admin.waiting import eventually
from tests.clients.conftest import PROPERTIES
from tests.clients.three_brokers.replicas import are_in_sync
from tests.interop.cluster import running_cluster, select_halves
from tests.node_cluster import NodeCluster

KINDS = ("apache",)
SIZE = 3
REPLICATED = {
    "auto.create.topics.enable": "false",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
    "auto.leader.rebalance.enable": "false",  # leaders move when a test says so
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    # Who is killed is missed soon, be it a broker, the active controller, or both.
    "broker.session.timeout.ms": "2000",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "300",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect Apache's half unless it is wanted, and mark it."""
    for item in select_halves(config, items, "three_nodes"):
        if item.callspec.params["three_nodes"] == "apache":  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.oracle)
            item.add_marker(pytest.mark.xdist_group("oracle"))


@pytest.fixture(scope="session", params=KINDS)
def three_nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeCluster]:
    """The processes, for all tests here."""
    with running_cluster(request, tmp_path_factory, PROPERTIES | REPLICATED, SIZE) as cluster:
        yield cluster


@pytest.fixture
def brokers(three_nodes: NodeCluster) -> NodeCluster:
    """A cluster of three of which all run, and all replicas are in sync; a test may leave it otherwise."""
    three_nodes.start()
    with Admin(bootstrap_servers=three_nodes.bootstrap) as admin:
        eventually(lambda: are_in_sync(admin, three_nodes))
    return three_nodes


@pytest.fixture
def admin(brokers: NodeCluster) -> Iterator[Admin]:
    """An admin client."""
    with Admin(bootstrap_servers=brokers.bootstrap) as admin:
        yield admin
