"""Static members: they come back under their name, and nobody else notices."""

import pytest

from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import Member, await_until
from tests.interop.groups.kinds import (
    AIOKAFKA,
    CONFLUENT_CONSUMER,
    CONFLUENT_COOPERATIVE,
    CONFLUENT_RANGE,
    JAVA_RANGE,
    JAVA_UNIFORM,
    KINDS,
    Kind,
    kinds,
    member,
)

SESSION_MS = 30_000
"""Longer than a restart takes on however busy a machine."""


@kinds([CONFLUENT_RANGE, CONFLUENT_CONSUMER, AIOKAFKA, JAVA_RANGE, JAVA_UNIFORM], KINDS)
def test_a_rolling_restart_causes_no_rebalance(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """One after another is closed and started again; the last is killed, where another may take its place at once."""
    partitions = admin.create_topic(topic, 6)
    admin.set_group_config(topic, {"consumer.session.timeout.ms": str(SESSION_MS)})

    def join(number: int, **where: object) -> Member:
        spec = member(kind, topic, instance_id=f"instance-{number}", session_timeout_ms=SESSION_MS)
        return crew.join(spec, **where)  # type: ignore[arg-type]

    fleet = [join(0), join(1), join(2, host=crew.own_host(kind.library))]
    await_shared(fleet, partitions)
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    before = {each.name: (each.status(), set(each.owned)) for each in fleet}
    generations = {generation for (generation, _), _ in before.values()}
    assert len(generations) == 1

    for number, old in enumerate(fleet):
        others = [each for each in fleet if each is not old]
        seen = {each.name: len(each.events) for each in others}
        if number == 2 and kind.protocol == "classic":
            old.crash()
        else:
            old.leave()
        admin.produce(partitions)
        fleet[number] = join(number)
        await_until(lambda new=fleet[number]: bool(new.owned), f"{number} is back", crew.members)  # type: ignore[misc]
        await_processed(crew.members, admin.ends)
        assert fleet[number].owned == before[old.name][1]
        before[fleet[number].name] = before[old.name]
        for other in others:
            assert {"assigned", "revoked", "lost"}.isdisjoint(other.kinds(seen[other.name])), other
            assert other.status()[0] == before[other.name][0][0], other
        assert fleet[number].status()[0] in generations
    admin.await_committed(topic)
    assert_never_shared(crew.members)
    described = admin.await_described(topic, lambda each: each.state == "STABLE", "stable")
    assert described.instance_ids == {"instance-0", "instance-1", "instance-2"}


@pytest.mark.parametrize(
    ("kind", "loser", "error"),
    [
        pytest.param(CONFLUENT_COOPERATIVE, "old", "Static consumer fenced", id="confluent-classic"),
        pytest.param(JAVA_RANGE, "old", "FencedInstanceIdException", id="java-classic", marks=pytest.mark.oracle),
        pytest.param(JAVA_UNIFORM, "new", "UnreleasedInstanceIdException", id="java", marks=pytest.mark.oracle),
    ],
)
def test_two_of_one_name(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind, loser: str, error: str) -> None:
    """Under the classic protocol the new one takes the name away; under the consumer protocol it cannot."""
    partitions = admin.create_topic(topic, 2)
    spec = member(kind, topic, instance_id="the-one", session_timeout_ms=SESSION_MS)
    old = crew.join(spec)
    await_shared([old], partitions)
    new = crew.join(spec)
    refused, served = (old, new) if loser == "old" else (new, old)
    await_until(
        lambda: any(error in event.get("error", "") for event in refused.events), f"{error} for the {loser}", [served]
    )
    admin.produce(partitions)
    await_processed([served], admin.ends)
    assert len(admin.describe(topic).members) == 1
