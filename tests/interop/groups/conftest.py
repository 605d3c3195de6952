"""Groups of foreign clients on a cluster of Ottla's and, where OTTLA_APACHE_HALF=1 says so, of Apache's.

Members of groups run in processes of their own (member_host.py, tests/java/GroupMembers.java), so that they can crash
and stall; tests wait for what the members tell.
"""

from collections.abc import Iterator

import pytest

from tests.interop.cluster import CLUSTERS, running_node, unused_topic
from tests.interop.groups.crew import Crew, Hosts
from tests.interop.groups.group_admin import GroupAdmin
from tests.node import Node
from tests.oracle import Oracle

PROPERTIES = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.regex.refresh.interval.ms": "10000",
    "offsets.topic.num.partitions": "3",
    "offsets.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    # A broker that was killed is let in again when its session is over.
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}


@pytest.fixture(scope="package")
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    """Processes for members; a JVM only where a test wants one."""

    def oracle() -> Oracle:
        found: Oracle = request.getfixturevalue("oracle")
        return found

    hosts = Hosts(oracle)
    yield hosts
    hosts.close()


@pytest.fixture(scope="package", params=CLUSTERS)
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node of one broker for all tests here, but for those that restart it; it has to stop when asked to."""
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture
def crew(kafka_cluster: Node, hosts: Hosts) -> Iterator[Crew]:
    """The members of a test."""
    with Crew(kafka_cluster.bootstrap, hosts) as crew:
        yield crew


@pytest.fixture
def admin(kafka_cluster: Node) -> GroupAdmin:
    """Topics, records and what the cluster says about groups."""
    return GroupAdmin(kafka_cluster.bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody has used; the group is mostly called so, too."""
    return unused_topic(request)
