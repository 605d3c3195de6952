"""What ends a membership: silence, slowness; and what timers do after a load."""

from ottla.common.error_code import ErrorCode
from tests.group.consumer_world import REBALANCE_MS, SESSION_MS, World, assigned, refused


def test_a_silent_member_is_removed() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.advance(SESSION_MS - 1)
    world.heartbeat("a", 2)
    world.join("b", topics=["t"])
    world.advance(SESSION_MS - 1)
    world.heartbeat("b", 3)
    world.advance(1)
    assert list(world.group.members) == ["b"]
    assert assigned(world.heartbeat("b", 3)) == {t: {0, 1}}
    assert refused(lambda: world.heartbeat("a", 2)) is ErrorCode.UNKNOWN_MEMBER_ID


def keep_alive(world: World, elapsed_ms: int, **epochs: int) -> None:
    """Members heartbeat without ever saying what they own."""
    for _ in range(elapsed_ms // 5_000):
        world.advance(5_000)
        for member_id, epoch in epochs.items():
            world.heartbeat(member_id, epoch)


def test_a_member_that_does_not_let_go_in_time_is_removed() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    world.heartbeat("a", 2)
    keep_alive(world, REBALANCE_MS - 5_000, a=2, b=3)
    world.advance(4_999)
    assert world.group.has_member("a")
    world.advance(1)
    assert list(world.group.members) == ["b"]
    assert assigned(world.heartbeat("b", 3)) == {t: {0, 1}}


def test_a_member_that_lets_go_in_time_stays() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    kept = assigned(world.heartbeat("a", 2))[t]
    keep_alive(world, REBALANCE_MS - 5_000, a=2, b=3)
    world.heartbeat("a", 2, owned={t: kept})
    keep_alive(world, REBALANCE_MS, a=3, b=3)
    assert world.group.state_name == "Stable"


def test_sessions_and_rebalances_begin_anew_when_the_partition_is_loaded() -> None:
    world = World()
    world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    world.heartbeat("a", 2)
    world.advance(SESSION_MS - 1)
    world.reload()
    keep_alive(world, REBALANCE_MS - 5_000, a=2, b=3)
    world.advance(4_999)
    assert world.group.has_member("a")
    world.advance(1)
    assert list(world.group.members) == ["b"]
    world.advance(SESSION_MS)
    assert world.group.state_name == "Empty"


def test_a_timer_whose_record_was_lost_tries_again() -> None:
    world = World()
    world.join("a", topics=[])
    world.appends_fail = True
    world.advance(SESSION_MS)
    assert world.group.has_member("a")
    world.appends_fail = False
    world.advance(SESSION_MS)
    assert not world.group.has_member("a")


def test_the_timers_of_ids_that_look_alike_are_their_own() -> None:
    world = World()
    world.join("b-c", topics=[], group_id="a")
    world.advance(SESSION_MS - 1)
    world.join("c", topics=[], group_id="a-b")
    world.advance(1)
    assert world.groups["a"].is_empty
    assert not world.groups["a-b"].is_empty
