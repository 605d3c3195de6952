"""Twenty members in one group."""

from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared
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
    kinds,
    member,
)

SESSION_MS = 5000


@kinds(
    [CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER, JAVA_UNIFORM],
    [CONFLUENT_RANGE, AIOKAFKA, KAFKA_PYTHON, JAVA_RANGE, JAVA_COOPERATIVE],
)
def test_twenty_members(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """They come at once; five leave, five crash, and five others come while that happens."""
    partitions = admin.create_topic(topic, 40)
    admin.set_group_config(topic, {"consumer.session.timeout.ms": str(SESSION_MS)})
    spec = member(kind, topic, session_timeout_ms=SESSION_MS)
    doomed_host = crew.own_host(kind.library)
    fleet = [crew.join(spec) for _ in range(15)]
    doomed = [crew.join(spec, doomed_host) for _ in range(5)]
    admin.produce(partitions, 5)
    await_shared(fleet + doomed, partitions)
    await_processed(crew.members, admin.ends)
    for each in fleet[:5]:
        each.begin_to_leave()
    doomed_host.kill()
    fleet = fleet[5:] + [crew.join(spec) for _ in range(5)]
    admin.produce(partitions, 5)
    await_shared(fleet, partitions)
    await_processed(crew.members, admin.ends)
    described = admin.await_described(topic, lambda each: each.state == "STABLE", "stable")
    assert {frozenset(each.owned) for each in fleet} == set(described.members.values())
    admin.await_committed(topic)
    for each in fleet:
        each.begin_to_leave()
    admin.await_described(topic, lambda each: each.state == "EMPTY", "all have left")
    assert_never_shared(crew.members)
    assert admin.committed(topic) == admin.ends
