"""A broker that restarts, cleanly or not, under groups that live: offsets survive, and the groups go on."""

from collections.abc import Iterator

import pytest

from tests.interop.cluster import CLUSTERS, new_node
from tests.interop.groups.conftest import PROPERTIES
from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared, times_processed
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.kinds import (
    AIOKAFKA,
    CONFLUENT_CONSUMER,
    CONFLUENT_COOPERATIVE,
    CONFLUENT_RANGE,
    JAVA_COOPERATIVE,
    JAVA_RANGE,
    JAVA_UNIFORM,
    KAFKA_PYTHON,
    Kind,
    in_the_long_run,
    member,
)
from tests.node import Node

SESSION_MS = 30_000
"""Longer than a restart takes on however busy a machine."""


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node of these tests' own, which they stop and start."""
    with new_node(request.param, request, tmp_path_factory.mktemp("restarted"), PROPERTIES) as node:
        yield node


@pytest.mark.parametrize("end", ["kill", *in_the_long_run(pytest.param("stop", marks=pytest.mark.oracle))])
@pytest.mark.parametrize(
    "family",
    [
        pytest.param([CONFLUENT_RANGE, CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER, AIOKAFKA, KAFKA_PYTHON], id="python"),
        pytest.param([JAVA_RANGE, JAVA_COOPERATIVE, JAVA_UNIFORM], id="jvm", marks=pytest.mark.oracle),
    ],
)
def test_groups_go_on(
    kafka_cluster: Node, crew: Crew, admin: GroupAdmin, topic: str, family: list[Kind], end: str
) -> None:
    """Two members of each kind read on; one more of each kind joins after the restart, and all leave."""
    partitions = admin.create_topic(topic, 3)
    admin.produce(partitions)
    specs = [member(kind, topic, f"{kind}-{topic}", session_timeout_ms=SESSION_MS) for kind in family]
    for spec in specs:
        admin.set_group_config(spec.group, {"consumer.session.timeout.ms": str(SESSION_MS)})
    pairs = [[crew.join(spec), crew.join(spec)] for spec in specs]
    for pair in pairs:
        await_shared(pair, partitions)
        await_processed(pair, admin.ends)
        admin.await_committed(pair[0].spec.group)

    getattr(kafka_cluster, end)()
    kafka_cluster.start()
    admin = admin.anew(spec.group for spec in specs)
    for spec in specs:
        assert admin.committed(spec.group) == admin.ends
        described = admin.describe(spec.group)
        assert (described.kind, len(described.members)) == (spec.protocol.upper(), 2)
    admin.produce(partitions)
    for pair in pairs:
        await_processed(pair, admin.ends)
        await_shared(pair, partitions)
        assert_never_shared(pair)
        assert set(times_processed(pair).values()) == {1}
    groups = [[*pair, crew.join(spec)] for pair, spec in zip(pairs, specs, strict=True)]
    for group in groups:
        await_shared(group, partitions)
        admin.await_committed(group[0].spec.group)
        for each in group:
            each.begin_to_leave()
        admin.await_described(group[0].spec.group, lambda each: each.state == "EMPTY", "all have left")
        assert admin.committed(group[0].spec.group) == admin.ends


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_a_broker_remembers(kafka_cluster: Node, admin: GroupAdmin, topic: str, end: str) -> None:
    """Offsets of groups without members, changed, deleted and not."""
    partitions = admin.create_topic(topic, 2)
    kept, changed, deleted = f"{topic}-kept", f"{topic}-changed", f"{topic}-deleted"
    for group in (kept, changed, deleted):
        admin.alter_offsets(group, dict.fromkeys(partitions, 5))
    admin.alter_offsets(changed, {partitions[0]: 6})
    admin.delete_group(deleted)
    getattr(kafka_cluster, end)()
    kafka_cluster.start()
    admin = admin.anew([kept, changed, deleted])
    assert admin.committed(kept) == dict.fromkeys(partitions, 5)
    assert admin.committed(changed) == {partitions[0]: 6, partitions[1]: 5}
    assert admin.committed(deleted) == {}
    groups = admin.groups()
    assert groups[kept] == groups[changed] == ("EMPTY", "CLASSIC")
    assert deleted not in groups
