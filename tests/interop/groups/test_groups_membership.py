"""Members of every library come, go, crash and stall: every record is processed, partitions are shared evenly."""

from tests.interop.groups.crew import Crew, assert_never_shared, await_processed, await_shared, times_processed
from tests.interop.groups.group_admin import GroupAdmin
from tests.interop.groups.host import await_until
from tests.interop.groups.kinds import (
    AIOKAFKA,
    CONFLUENT_CONSUMER,
    CONFLUENT_COOPERATIVE,
    CONFLUENT_RANGE,
    JAVA_COOPERATIVE,
    JAVA_RANGE,
    JAVA_UNIFORM,
    KAFKA_PYTHON,
    KAFKA_PYTHON_COOPERATIVE,
    KINDS,
    Kind,
    kinds,
    member,
)

SESSION_MS = 6000


@kinds([*KINDS, KAFKA_PYTHON_COOPERATIVE])
def test_members_come_and_go(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """Nobody fails, so nothing is processed twice."""
    partitions = admin.create_topic(topic, 6)
    admin.produce(partitions)
    spec = member(kind, topic)
    first = crew.join(spec)
    await_shared([first], partitions)
    await_processed(crew.members, admin.ends)
    second, third = crew.join(spec), crew.join(spec)
    admin.produce(partitions)
    await_shared([first, second, third], partitions)
    await_processed(crew.members, admin.ends)
    first.leave()
    admin.produce(partitions)
    await_shared([second, third], partitions)
    await_processed(crew.members, admin.ends)
    third.leave()
    fourth = crew.join(spec)
    admin.produce(partitions)
    await_shared([second, fourth], partitions)
    await_processed(crew.members, admin.ends)
    admin.await_committed(topic)
    second.leave()
    fourth.leave()
    assert_never_shared(crew.members)
    assert set(times_processed(crew.members).values()) == {1}
    assert admin.committed(topic) == admin.ends
    described = admin.describe(topic)
    assert (described.state, described.kind, described.members) == ("EMPTY", kind.protocol.upper(), {})


@kinds([CONFLUENT_COOPERATIVE, CONFLUENT_CONSUMER, AIOKAFKA, KAFKA_PYTHON, JAVA_UNIFORM], KINDS)
def test_members_crash_and_stall(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """One is killed and one stands still till both are put out; the one that stood still comes back."""
    partitions = admin.create_topic(topic, 6)
    admin.set_group_config(topic, {"consumer.session.timeout.ms": str(SESSION_MS)})
    spec = member(kind, topic, session_timeout_ms=SESSION_MS)
    steady = crew.join(spec)
    crashing, stalling = crew.join(spec, crew.own_host(kind.library)), crew.join(spec, crew.own_host(kind.library))
    admin.produce(partitions)
    await_shared([steady, crashing, stalling], partitions)
    await_processed(crew.members, admin.ends)
    crashing.crash()
    stalling.host.freeze()
    admin.produce(partitions)
    await_shared([steady], partitions)
    await_processed(crew.members, admin.ends)
    stalling.host.thaw()
    await_until(lambda: not {"revoked", "lost"}.isdisjoint(stalling.kinds()), "it hears of its loss", crew.members)
    await_shared([steady, stalling], partitions)
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    assert_never_shared(crew.members)
    admin.await_committed(topic)
    steady.leave()
    stalling.leave()
    assert admin.committed(topic) == admin.ends


@kinds([CONFLUENT_RANGE, AIOKAFKA, JAVA_RANGE], KINDS)
def test_a_member_stops_polling(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """It lives and sends heartbeats, and leaves when max.poll.interval.ms is over; polling again, it joins again."""
    partitions = admin.create_topic(topic, 4)
    spec = member(kind, topic)
    steady = crew.join(spec)
    lazy = crew.join(member(kind, topic, max_poll_interval_ms=SESSION_MS, session_timeout_ms=SESSION_MS))
    await_shared([steady, lazy], partitions)
    lazy.stop_polling()
    admin.produce(partitions)
    await_shared([steady], partitions)
    await_processed([steady], admin.ends)
    lazy.poll_again()
    await_until(lambda: not {"revoked", "lost"}.isdisjoint(lazy.kinds()), "it hears of its loss", crew.members)
    await_shared([steady, lazy], partitions)
    admin.produce(partitions)
    await_processed(crew.members, admin.ends)
    assert_never_shared(crew.members)


@kinds([JAVA_RANGE], [JAVA_COOPERATIVE])
def test_a_member_is_closed_without_leaving(crew: Crew, admin: GroupAdmin, topic: str, kind: Kind) -> None:
    """Its partitions are others' when its session is over, and not before: it could come back."""
    partitions = admin.create_topic(topic, 4)
    steady, gone = (crew.join(member(kind, topic, session_timeout_ms=SESSION_MS)) for _ in range(2))
    await_shared([steady, gone], partitions)
    gone.abandon()
    assert len(admin.describe(topic).members) == 2
    admin.produce(partitions)
    await_shared([steady], partitions)
    await_processed([steady], admin.ends)
    assert set(admin.describe(topic).members) == {steady.member_id}
    assert_never_shared(crew.members)
