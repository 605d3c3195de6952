"""Groups whose members do not all use one library, or one protocol."""

import pytest

from tests.interop.groups.crew import (
    LIBRARIES,
    Crew,
    assert_never_shared,
    await_processed,
    await_shared,
    times_processed,
)
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.kinds import (
    CONFLUENT_CONSUMER,
    CONFLUENT_RANGE,
    JAVA_COOPERATIVE,
    JAVA_RANGE,
    JAVA_UNIFORM,
    KAFKA_PYTHON,
    Kind,
    in_the_long_run,
    member,
)
from tests.interop.groups.member_spec import MemberSpec


@pytest.mark.parametrize(
    "libraries",
    [
        pytest.param(LIBRARIES[:3], id="python"),
        pytest.param(LIBRARIES, id="all", marks=pytest.mark.oracle),
    ],
)
def test_libraries_share_a_classic_group(crew: Crew, admin: GroupAdmin, topic: str, libraries: tuple[str, ...]) -> None:
    """Each of them leads it once: the leader leaves and comes back."""
    partitions = admin.create_topic(topic, 8)

    def spec(library: str) -> MemberSpec:
        return MemberSpec(library, topic, (topic,), assignors=("range",))

    fleet = [crew.join(spec(libraries[0]))]
    await_shared(fleet, partitions)
    for library in libraries[1:]:
        fleet.append(crew.join(spec(library)))
    await_shared(fleet, partitions)
    for library in libraries:
        admin.produce(partitions)
        fleet.pop(0).leave()
        await_shared(fleet, partitions)
        fleet.append(crew.join(spec(library)))
        await_shared(fleet, partitions)
        await_processed(crew.members, admin.ends)
    described = admin.describe(topic)
    assert (described.state, described.kind, described.assignor) == ("STABLE", "CLASSIC", "range")
    assert set(described.members) == {each.member_id for each in fleet}
    assert {partition for owned in described.members.values() for partition in owned} == set(partitions)
    admin.await_committed(topic)
    for each in fleet:
        each.leave()
    assert_never_shared(crew.members)
    assert admin.committed(topic) == admin.ends


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(CONFLUENT_RANGE, CONFLUENT_CONSUMER, id="confluent-eager"),
        pytest.param(JAVA_COOPERATIVE, JAVA_UNIFORM, id="java-cooperative", marks=pytest.mark.oracle),
        *in_the_long_run(
            pytest.param(KAFKA_PYTHON, CONFLUENT_CONSUMER, id="kafka-python", marks=pytest.mark.oracle),
            pytest.param(JAVA_RANGE, JAVA_UNIFORM, id="java-eager", marks=pytest.mark.oracle),
        ),
    ],
)
def test_a_group_goes_over_and_back(crew: Crew, admin: GroupAdmin, topic: str, old: Kind, new: Kind) -> None:
    """Members of the classic protocol are replaced, one by one, by those of the consumer protocol, and back.

    librdkafka's cooperative-sticky is not among them: it puts data of its own into assignments, for which a coordinator
    may refuse to change the group.
    """
    partitions = admin.create_topic(topic, 6)
    fleet = [crew.join(member(old, topic)) for _ in range(2)]
    await_shared(fleet, partitions)
    assert admin.describe(topic).kind == "CLASSIC"
    for kind, while_mixed in ((new, "CONSUMER"), (old, "CONSUMER")):
        for number in range(2):
            admin.produce(partitions)
            fleet.append(crew.join(member(kind, topic)))
            await_shared(fleet, partitions)
            assert admin.describe(topic).kind == while_mixed
            admin.produce(partitions)
            fleet.pop(0).leave()
            await_shared(fleet, partitions)
            await_processed(crew.members, admin.ends)
            assert admin.describe(topic).kind == ("CLASSIC" if (kind, number) == (old, 1) else "CONSUMER")
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    assert_never_shared(crew.members)
    admin.await_committed(topic)
    for each in fleet:
        each.leave()
    assert admin.committed(topic) == admin.ends
    assert max(times_processed(crew.members).values()) == 1
