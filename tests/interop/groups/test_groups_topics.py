"""What happens to topics under groups: they appear, grow and go."""

import pytest

from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import Member, await_until
from tests.interop.groups.kinds import (
    AIOKAFKA,
    CONFLUENT_CONSUMER,
    CONFLUENT_COOPERATIVE,
    CONFLUENT_RANGE,
    JAVA_COOPERATIVE,
    JAVA_RANGE,
    JAVA_SERVER_RANGE,
    JAVA_UNIFORM,
    KAFKA_PYTHON,
    Kind,
    member,
)
from tests.interop.groups.member_spec import MemberSpec

# All of a family are waited for together: a client's and the broker's refresh of what they know takes seconds.
FAMILIES = pytest.mark.parametrize(
    "family",
    [
        pytest.param([CONFLUENT_RANGE, CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER, AIOKAFKA, KAFKA_PYTHON], id="python"),
        pytest.param(
            [JAVA_RANGE, JAVA_COOPERATIVE, JAVA_UNIFORM, JAVA_SERVER_RANGE], id="jvm", marks=pytest.mark.oracle
        ),
    ],
)


@FAMILIES
def test_a_pattern_finds_new_topics(crew: Crew, admin: GroupAdmin, topic: str, family: list[Kind]) -> None:
    """Two members in a group for each kind, with what is there and with what comes."""
    partitions = admin.create_topic(f"{topic}-a", 2) + admin.create_topic(f"{topic}-b", 2)
    admin.create_topic(f"not-{topic}", 1)
    pairs = [[crew.join(by_pattern(kind, topic)), crew.join(by_pattern(kind, topic))] for kind in family]
    for pair in pairs:
        await_shared(pair, partitions)
    partitions += admin.create_topic(f"{topic}-c", 2)
    admin.produce(partitions)
    for pair in pairs:
        await_shared(pair, partitions)
        await_processed(pair, admin.ends)
        assert_never_shared(pair)


def by_pattern(kind: Kind, topic: str) -> MemberSpec:
    assignors = () if kind.assignor is None else (kind.assignor,)
    # range gives the first partitions of each topic to the first members, so these halve each topic
    return MemberSpec(
        kind.library, f"{kind}-{topic}", pattern=f"^{topic}-.*", protocol=kind.protocol, assignors=assignors
    )


@pytest.mark.oracle
def test_a_pattern_that_is_none(crew: Crew, admin: GroupAdmin, topic: str, kafka_cluster: object) -> None:
    """The broker compiles it, and says what it thinks."""
    admin.create_topic(topic)
    broken = crew.join(MemberSpec("java", topic, pattern="^(", protocol="consumer"))
    await_until(lambda: any("InvalidRegularExpression" in event.get("error", "") for event in broken.events), "refused")


@FAMILIES
def test_partitions_are_added(crew: Crew, admin: GroupAdmin, topic: str, family: list[Kind]) -> None:
    """From two to five, and members get them by themselves."""
    partitions = admin.create_topic(topic, 2)
    admin.produce(partitions)
    pairs = [
        [crew.join(member(kind, topic, f"{kind}-{topic}")), crew.join(member(kind, topic, f"{kind}-{topic}"))]
        for kind in family
    ]
    for pair in pairs:
        await_shared(pair, partitions)
    partitions = admin.create_partitions(topic, 5)
    admin.produce(partitions)
    for pair in pairs:
        await_shared(pair, partitions)
        await_processed(pair, admin.ends)
        assert_never_shared(pair)
    for pair in pairs:
        admin.await_committed(pair[0].spec.group)
        for each in pair:
            each.leave()
        assert admin.committed(pair[0].spec.group) == admin.ends


@FAMILIES
def test_a_topic_is_deleted(crew: Crew, admin: GroupAdmin, topic: str, family: list[Kind]) -> None:
    """Its offsets go, the other topic is read on; a new topic of the old name is read from its start."""
    kept, doomed = f"{topic}-kept", f"{topic}-doomed"
    partitions = admin.create_topic(kept, 2)
    admin.produce([*partitions, *admin.create_topic(doomed, 2)])
    specs = [of_two(kind, kept, doomed) for kind in family]
    pairs = [[crew.join(spec), crew.join(spec)] for spec in specs]
    for pair in pairs:
        await_processed(pair, admin.ends)
    admin.delete_topic(doomed)
    admin.produce(partitions)
    for pair in pairs:
        await_shared(pair, partitions)
        await_processed(pair, admin.ends)
    for spec in specs:
        assert set(admin.committed(spec.group)) <= set(partitions), spec
    again = admin.create_topic(doomed, 3)
    admin.produce(again, 3)
    marks = {each.name: len(each.processed) for each in crew.members}
    for pair in pairs:
        await_anew(pair, marks, {(*partition, offset) for partition in again for offset in range(3)})
    for pair in pairs:
        admin.await_committed(pair[0].spec.group)
        for each in pair:
            each.leave()
        assert admin.committed(pair[0].spec.group) == admin.ends


def of_two(kind: Kind, *topics: str) -> MemberSpec:
    assignors = () if kind.assignor is None else (kind.assignor,)
    return MemberSpec(kind.library, f"{kind}-{topics[0]}", topics, protocol=kind.protocol, assignors=assignors)


def await_anew(pair: list[Member], marks: dict[str, int], records: set[tuple[str, int, int]]) -> None:
    """Wait until the members have processed `records` since the marks."""
    await_until(
        lambda: records <= {record for each in pair for record in each.processed[marks[each.name] :]},
        "the new topic is read",
        pair,
    )
