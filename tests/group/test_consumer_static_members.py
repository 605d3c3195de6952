"""Static members of consumer groups: they leave for a while and come back without a rebalance."""

from ottla.common.error_code import ErrorCode
from tests.group.consumer_world import GROUP, SESSION_MS, World, assigned, durable_state, refused


def two_static_members() -> tuple[World, dict[str, set[int]]]:
    """Members with instance ids, stable, and the partitions of each."""
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"], instance_id="i")
    world.join("b", topics=["t"], instance_id="j")
    kept = assigned(world.heartbeat("a", 2, instance_id="i"))[t]
    world.heartbeat("a", 2, instance_id="i", owned={t: kept})
    world.heartbeat("b", 3, instance_id="j")
    assert world.group.state_name == "Stable"
    return world, {"i": kept, "j": {0, 1} - kept}


def test_a_static_member_comes_back_to_what_it_had() -> None:
    world, has = two_static_members()
    (t,) = world.image.topics.by_id
    epoch = world.group.group_epoch
    left = world.heartbeat("a", -2, instance_id="i")
    assert (left.member_id, left.member_epoch) == ("a", -2)
    assert world.group.num_members == 2
    back = world.join("a2", topics=["t"], instance_id="i")
    assert (back.member_id, back.member_epoch, assigned(back)) == ("a2", 3, {t: has["i"]})
    assert world.group.group_epoch == epoch
    assert world.group.static_members == {"i": "a2", "j": "b"}
    assert world.group.state_name == "Stable"
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)
    assert refused(lambda: world.heartbeat("a", 3, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert refused(lambda: world.heartbeat("a", -1, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert refused(lambda: world.heartbeat("a", -2, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID


def test_it_may_come_back_under_its_old_id() -> None:
    world, has = two_static_members()
    (t,) = world.image.topics.by_id
    world.heartbeat("a", -2, instance_id="i")
    assert assigned(world.join("a", topics=["t"], instance_id="i")) == {t: has["i"]}
    world.advance(SESSION_MS - 1)
    assert world.group.has_member("a")


def test_nobody_gets_its_partitions_while_it_is_away() -> None:
    world, has = two_static_members()
    (t,) = world.image.topics.by_id
    world.heartbeat("a", -2, instance_id="i")
    world.advance(SESSION_MS - 1)
    assert world.heartbeat("b", 3, instance_id="j").assignment is None
    world.advance(1)
    assert not world.group.has_member("a")
    assert assigned(world.heartbeat("b", 3, instance_id="j")) == {t: has["i"] | has["j"]}


def test_partitions_of_a_member_that_left_for_a_while_are_not_free() -> None:
    world, has = two_static_members()
    (t,) = world.image.topics.by_id
    world.heartbeat("a", -2, instance_id="i")
    world.add_partitions("t", 5)  # a rebalance that gives others its place, perhaps
    world.join("c", topics=["t"])
    world.heartbeat("b", 3, instance_id="j")
    for member_id in ("b", "c"):
        got = world.group.members[member_id].assigned_partitions.get(t, {})
        assert not has["i"] & got.keys()


def test_an_instance_id_in_use_is_not_released() -> None:
    world, _ = two_static_members()
    assert refused(lambda: world.join("x", topics=["t"], instance_id="i")) is ErrorCode.UNRELEASED_INSTANCE_ID
    assert refused(lambda: world.join("a", topics=["t"], instance_id="i")) is ErrorCode.UNRELEASED_INSTANCE_ID
    assert refused(lambda: world.heartbeat("x", 3, instance_id="i")) is ErrorCode.FENCED_INSTANCE_ID
    assert refused(lambda: world.heartbeat("x", 3, instance_id="k")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: world.heartbeat("x", -2, instance_id="k")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_has_left_for_a_while_is_fenced_at_any_epoch() -> None:
    world, _ = two_static_members()
    world.heartbeat("a", -2, instance_id="i")
    assert refused(lambda: world.heartbeat("a", 3, instance_id="i")) is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_static_member_that_leaves_for_good_is_gone() -> None:
    world, _ = two_static_members()
    world.heartbeat("a", -1, instance_id="i")
    assert world.group.static_members == {"j": "b"}
    assert world.group.state_name == "Assigning"


def test_a_static_member_that_comes_back_with_another_subscription_makes_a_rebalance() -> None:
    world, _ = two_static_members()
    u = world.create_topic("u", 1)
    world.heartbeat("a", -2, instance_id="i")
    back = world.join("a2", topics=["u"], instance_id="i")
    assert back.member_epoch == 4
    assert assigned(back) == {u: {0}}
    assert world.group.subscriptions.topics.keys() == {"t", "u"}
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)


def test_a_group_that_is_full_takes_nobody_in_whatever_its_instance_id() -> None:
    world = World(group_consumer_max_size=1)
    world.join("a", topics=[], instance_id="i")
    world.heartbeat("a", -2, instance_id="i")
    assert refused(lambda: world.join("a2", topics=[], instance_id="i")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    world.join("a", topics=[], instance_id="i")


def test_a_lost_replacement_leaves_the_member_that_was_there() -> None:
    world, _ = two_static_members()
    world.heartbeat("a", -2, instance_id="i")
    before = durable_state(world.group)
    world.appends_fail = True
    assert refused(lambda: world.join("a2", topics=["t"], instance_id="i")) is ErrorCode.NOT_COORDINATOR
    world.appends_fail = False
    assert durable_state(world.group) == before
    world.advance(SESSION_MS)
    assert world.group.static_members == {}
