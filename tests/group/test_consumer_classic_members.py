"""Members that speak the classic protocol in a consumer group: an epoch is a generation to them."""

import pytest

from ottla.common.error_code import ErrorCode
from tests.group.consumer_clients import ClassicConsumer, Consumer
from tests.group.consumer_world import (
    CLASSIC_SESSION_MS,
    GROUP,
    REBALANCE_MS,
    World,
    assigned,
    durable_state,
    refused,
    synced,
)


def mixed(partitions: int = 4) -> tuple[World, Consumer, str]:
    """A consumer with all partitions, and the id of a classic member that has just joined."""
    world = World()
    world.create_topic("t", partitions)
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    member_id = world.classic_join()[0].member_id
    (joined,) = world.classic_join(member_id)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 3)
    assert (joined.protocol_type, joined.protocol_name, joined.leader) == ("consumer", "range", "")
    return world, consumer, member_id


def test_a_classic_member_first_gets_an_id() -> None:
    world = World()
    world.join("a", topics=[])
    (answer,) = world.classic_join()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id
    assert world.group.num_members == 1
    (old,) = world.classic_join(version=3)
    assert old.error_code == ErrorCode.NONE


def test_partitions_pass_between_the_protocols() -> None:
    world, consumer, member_id = mixed()
    (t,) = world.image.topics.by_id
    assert world.group.num_classic_members == 1
    assert synced(world.classic_sync(member_id, 3)) == {}
    assert world.classic_heartbeat(member_id, 3) == ErrorCode.NONE, "it waits for others"
    consumer.beat(world)  # is told
    consumer.beat(world)  # has let go
    assert world.classic_heartbeat(member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS, "they are free"
    (joined,) = world.classic_join(member_id)
    assert joined.generation_id == 3
    got = synced(world.classic_sync(member_id, 3))["t"]
    assert len(got) == 2
    assert got | consumer.owned[t] == {0, 1, 2, 3}
    assert world.classic_heartbeat(member_id, 3) == ErrorCode.NONE
    assert world.group.state_name == "Stable"
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)


@pytest.mark.parametrize("is_cooperative", [False, True])
def test_a_classic_member_gives_up_by_joining_again(is_cooperative: bool) -> None:
    world = World()
    world.create_topic("t", 4)
    world.join("idle", topics=[])
    classic = ClassicConsumer(["t"], is_cooperative=is_cooperative)
    for _ in range(3):
        classic.step(world)
    assert classic.owned == {"t": {0, 1, 2, 3}}
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    assert assigned_count(consumer) == 0
    for _ in range(6):
        classic.step(world)
        consumer.beat(world)
    world.heartbeat("idle", 1, owned={})
    (t,) = world.image.topics.by_id
    assert len(classic.owned["t"]) == assigned_count(consumer) == 2
    assert classic.owned["t"] | consumer.owned[t] == {0, 1, 2, 3}
    assert world.group.state_name == "Stable"


def assigned_count(consumer: Consumer) -> int:
    return sum(len(partitions) for partitions in consumer.owned.values())


def test_who_may_speak_for_a_classic_member() -> None:
    world, _, member_id = mixed()
    assert world.classic_heartbeat(member_id, 2) == ErrorCode.ILLEGAL_GENERATION
    assert world.classic_heartbeat("x", 3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.classic_heartbeat("new", 2) == ErrorCode.UNKNOWN_MEMBER_ID, "it speaks the other protocol"
    assert world.classic_heartbeat(member_id, 3, "i") == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: world.classic_sync(member_id, 2)) is ErrorCode.ILLEGAL_GENERATION
    assert refused(lambda: world.classic_sync("new", 2)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: world.classic_sync("x", 2)) is ErrorCode.UNKNOWN_MEMBER_ID
    other = lambda: world.classic_sync(member_id, 3, protocol_name="roundrobin")  # noqa: E731
    assert refused(other) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert synced(world.classic_sync(member_id, 3, protocol_name="range")) == {}


def test_sync_when_there_is_a_newer_target() -> None:
    world, _, member_id = mixed()
    world.join("third", topics=["t"])
    assert refused(lambda: world.classic_sync(member_id, 3)) is ErrorCode.REBALANCE_IN_PROGRESS
    world.advance(REBALANCE_MS)
    assert not world.group.has_member(member_id), "it never joined again"


def test_protocols_must_have_one_in_common_and_be_readable() -> None:
    world, _, _ = mixed()
    for options in (
        {"protocols": ("roundrobin",)},
        {"protocol_type": "connect"},
        {"metadata": b"\x00", "version": 3},
        {"protocols": ()},
    ):
        assert refused(lambda options=options: world.classic_join(**options)) is (  # type: ignore[misc]
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        )
    (answer,) = world.classic_join(protocols=("roundrobin", "range"), version=3)
    assert answer.error_code == ErrorCode.NONE
    assert answer.protocol_name == "roundrobin"
    assert world.group.classic_protocols == {"range": 2, "roundrobin": 1}


def test_a_full_group_takes_no_classic_member_either() -> None:
    world = World(group_consumer_max_size=1)
    world.join("a", topics=[])
    assert refused(lambda: world.classic_join(version=3)) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_where_groups_keep_their_protocol_classic_members_are_refused() -> None:
    world = World(group_consumer_migration_policy="disabled")
    world.join("a", topics=[])
    assert refused(world.classic_join) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_silent_classic_member_is_removed_after_its_own_session() -> None:
    world, _, member_id = mixed()
    world.classic_sync(member_id, 3)
    world.advance(CLASSIC_SESSION_MS - 1)
    assert world.group.has_member(member_id)
    world.advance(1)
    assert not world.group.has_member(member_id)


def test_a_classic_member_that_never_syncs_or_never_joins_again_is_removed() -> None:
    world, consumer, member_id = mixed()
    for _ in range(REBALANCE_MS // 5_000):
        assert world.group.has_member(member_id)
        assert world.classic_heartbeat(member_id, 3) in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
        world.advance(5_000)
        consumer.beat(world, reconciles=False)
    assert not world.group.has_member(member_id)


def test_sessions_of_classic_members_are_their_own_after_a_load() -> None:
    world, consumer, member_id = mixed()
    world.reload()
    world.advance(CLASSIC_SESSION_MS - 1)
    assert world.group.has_member(member_id)
    world.advance(1)
    assert not world.group.has_member(member_id)
    consumer.beat(world)
    assert world.group.has_member("new")


def test_members_of_either_protocol_leave_by_leave_group() -> None:
    world, _, member_id = mixed()
    world.join("static", topics=[], instance_id="i")
    world.join("other", topics=[], instance_id="j")
    response = world.classic_leave((member_id, None), ("x", None), ("", "i"), ("x", "j"), ("", "k"), (member_id, None))
    assert [member.error_code for member in response.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
    ]
    assert list(world.group.members) == ["new", "other"]
    written = len(world.log)
    world.classic_leave(("x", None))
    assert len(world.log) == written


def test_a_classic_member_of_an_empty_group_is_unknown() -> None:
    world = World()
    world.join("a", topics=[])
    world.heartbeat("a", -1)
    (answer,) = world.classic_sync("a", 1)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_classic_member_comes_back() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("idle", topics=[])
    (joined,) = world.classic_join(instance_id="i")
    first = joined.member_id
    assert synced(world.classic_sync(first, 2, instance_id="i")) == {"t": {0, 1}}
    (joined,) = world.classic_join(instance_id="i")
    assert joined.member_id != first
    assert joined.generation_id == 2
    assert synced(world.classic_sync(joined.member_id, 2, instance_id="i")) == {"t": {0, 1}}
    assert world.classic_heartbeat(first, 2, "i") == ErrorCode.FENCED_INSTANCE_ID
    assert refused(lambda: world.classic_join(first, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert refused(lambda: world.classic_join("x", instance_id="j")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group.group_epoch == 2
    (member,) = (member for member in world.group.members.values() if member.instance_id == "i")
    assert member.assigned_partitions == {t: {0: 2, 1: 2}}


def test_a_failed_append_is_told_to_whoever_joins() -> None:
    world, _, member_id = mixed()
    before = durable_state(world.group)
    world.appends_fail = True
    assert refused(lambda: world.classic_join(member_id, topics=["t", "u"])) is ErrorCode.NOT_COORDINATOR
    world.appends_fail = False
    assert durable_state(world.group) == before


def test_a_join_is_answered_when_it_is_committed() -> None:
    world, _, member_id = mixed()
    world.holds_commits = True
    answers = world.classic_join(member_id, topics=["t", "u"])
    assert answers == []
    world.commit()
    assert len(answers) == 1


def test_old_subscriptions_say_nothing_of_what_is_owned() -> None:
    world, consumer, member_id = mixed()
    from tests.group.consumer_world import subscription

    (answer,) = world.classic_join(member_id, metadata=subscription(["t"], {}, 0))
    assert answer.error_code == ErrorCode.NONE
    consumer.beat(world)
    consumer.beat(world)
    world.classic_join(member_id, metadata=subscription(["t"], {}, 0))
    (synced_answer,) = world.classic_sync(member_id, 3)
    assert synced_answer.assignment[:2] == b"\x00\x00", "in the version of its subscription"
    assert assigned(world.heartbeat("new", 3, topics=["t"], owned=consumer.owned, rebalance_timeout_ms=1))
