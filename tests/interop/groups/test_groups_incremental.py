"""Rebalances that take from members only what others get."""

from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared, times_processed
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import Member
from tests.interop.groups.kinds import (
    CONFLUENT_CONSUMER,
    CONFLUENT_COOPERATIVE,
    JAVA_COOPERATIVE,
    JAVA_SERVER_RANGE,
    JAVA_UNIFORM,
    KAFKA_PYTHON_COOPERATIVE,
    Kind,
    kinds,
    member,
)
from tests.interop.groups.member_spec import Partition


@kinds(
    [CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER, KAFKA_PYTHON_COOPERATIVE, JAVA_COOPERATIVE, JAVA_UNIFORM],
    [JAVA_SERVER_RANGE],
)
def test_only_what_moves_is_revoked(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """1 → 2 → 4 → 3 members over 8 partitions."""
    partitions = admin.create_topic(topic, 8)
    first = crew.join(member(kind, topic))
    await_shared([first], partitions)
    admin.produce(partitions)
    second = crew.join(member(kind, topic))
    await_shared([first, second], partitions)
    sticky = kind is not JAVA_SERVER_RANGE
    if sticky:
        assert len(taken(first)) == 4
    third, fourth = crew.join(member(kind, topic)), crew.join(member(kind, topic))
    await_shared(crew.members, partitions)
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    kept = {each.name: set(each.owned) for each in (first, second, third)}
    seen = {each.name: len(each.events) for each in (first, second, third)}
    fourth.leave()
    await_shared([first, second, third], partitions)
    if sticky:
        for each in (first, second, third):
            assert not taken(each, seen[each.name]), each
            assert kept[each.name] < each.owned or kept[each.name] == each.owned
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    assert_never_shared(crew.members)
    assert set(times_processed(crew.members).values()) == {1}


def taken(of: Member, start: int = 0) -> list[Partition]:
    """What a member had to give up, since an event."""
    return [
        (topic, partition)
        for event in of.events[start:]
        if event["event"] in ("revoked", "lost")
        for topic, partition in event["partitions"]
    ]
