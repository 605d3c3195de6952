"""Subscriptions by regular expression: checked at once, resolved beside requests, refreshed together."""

from collections.abc import Sequence

from ottla.common.error_code import ErrorCode
from ottla.group.consumer import topic_regex
from ottla.group.consumer.regex_subscriptions import REGEX_BATCH_REFRESH_MIN_INTERVAL_MS
from ottla.group.records import ConsumerGroupRegularExpressionKey
from tests.group.consumer_world import GROUP, World, assigned, durable_state, refused


def test_an_expression_is_resolved_beside_requests() -> None:
    world = World()
    t, u = world.create_topic("t1", 1), world.create_topic("t2", 1)
    world.create_topic("other", 1)
    joined = world.join("a", regex="t.*")
    assert (joined.member_epoch, assigned(joined)) == (1, {})
    world.advance(100)
    assert world.group.state_name == "Assigning"
    resolved = world.heartbeat("a", 1)
    assert (resolved.member_epoch, assigned(resolved)) == (2, {t: {0}, u: {0}})
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2")
    assert world.group.is_subscribed_to_topic("t1")
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)


def test_the_whole_name_has_to_match() -> None:
    world = World()
    world.create_topic("at", 1)
    world.create_topic("ta", 1)
    t = world.create_topic("t", 1)
    world.join("a", regex="t")
    world.advance(100)
    assert assigned(world.heartbeat("a", 1)) == {t: {0}}


def test_what_is_no_expression_is_refused() -> None:
    world = World()
    assert refused(lambda: world.join("a", regex="[")) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert world.groups == {}


def test_names_and_an_expression_together() -> None:
    world = World()
    t, u = world.create_topic("t", 1), world.create_topic("u", 1)
    world.join("a", topics=["u"], regex="t")
    world.advance(100)
    assert assigned(world.heartbeat("a", 2)) == {u: {0}, t: {0}}
    assert world.heartbeat("a", 3, regex="").member_epoch == 3
    assert assigned(world.heartbeat("a", 3, topics=[], regex="t")) is not None


def test_the_second_member_with_an_expression_rebalances_at_once() -> None:
    world = World()
    world.create_topic("t", 2)
    world.join("a", regex="t")
    world.advance(100)
    world.heartbeat("a", 1)
    assert world.join("b", regex="t").member_epoch == 3
    assert world.group.subscriptions.regexes == {"t": 2}
    world.heartbeat("a", -1)
    assert world.group.subscriptions.resolved.keys() == {"t"}, "the other still reads it"
    world.heartbeat("b", -1)
    assert world.group.subscriptions.resolved == {}
    assert world.group.subscriptions.topics == {}
    tombstone = world.serde.encode(
        next(r for r in reversed(world.records_since(0)) if isinstance(r.key, ConsumerGroupRegularExpressionKey))
    )
    assert tombstone[1] is None


def test_dropping_an_expression_takes_its_topics_away() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", regex="t")
    world.advance(100)
    assert assigned(world.heartbeat("a", 1)) == {t: {0, 1}}
    dropped = world.heartbeat("a", 2, regex="")
    assert assigned(dropped) == {}
    assert world.group.subscriptions.resolved == {}
    assert world.heartbeat("a", 2, owned={}).member_epoch == 3
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)


def test_another_expression_takes_topics_away_before_it_is_resolved() -> None:
    world = World()
    world.create_topic("t", 2)
    u = world.create_topic("u", 2)
    world.join("a", regex="t")
    world.advance(100)
    world.heartbeat("a", 1)
    changed = world.heartbeat("a", 2, regex="u")
    assert assigned(changed) == {}
    assert world.heartbeat("a", 2, owned={}).assignment is None  # now nothing is resolved, and that is a reason
    world.advance(100)
    assert assigned(world.heartbeat("a", 2)) == {u: {0, 1}}


def test_who_turns_to_an_expression_without_topics_leaves_its_partitions_to_others() -> None:
    """In Apache nobody gets them before the next rebalance."""
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", regex="t")
    world.advance(100)
    world.heartbeat("a", 1)
    world.join("b", regex="t")
    kept = assigned(world.heartbeat("a", 2))[t]
    world.heartbeat("a", 2, owned={t: kept})
    world.heartbeat("b", 3)
    world.advance(REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)
    world.heartbeat("b", 3, regex="nothing")
    world.advance(100)
    world.heartbeat("b", 3, owned={})
    assert assigned(world.heartbeat("a", 3)) == {t: {0, 1}}


def test_new_topics_are_found_but_not_too_often() -> None:
    world = World()
    world.create_topic("t1", 1)
    world.join("a", regex="t.*")
    world.advance(100)
    world.heartbeat("a", 1)
    world.create_topic("t2", 1)
    world.heartbeat("a", 2)
    world.advance(100)
    assert world.heartbeat("a", 2).member_epoch == 2, "the last refresh was a moment ago"
    world.advance(REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)
    world.heartbeat("a", 2)
    world.advance(100)
    assert world.heartbeat("a", 2).member_epoch == 3
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2")


def test_a_refresh_of_the_future_does_not_keep_the_next_one_waiting() -> None:
    """Its time is in the log, and the wall clock has been set back since."""
    world = World()
    world.create_topic("t1", 1)
    world.join("a", regex="t.*")
    world.advance(100)
    world.heartbeat("a", 1)
    world.create_topic("t2", 1)
    world.clock.set_now_ms(world.now_ms - 5 * 3_600_000)
    world.heartbeat("a", 2)
    world.advance(100)
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2")
    world.create_topic("t3", 1)
    world.heartbeat("a", world.group.members["a"].member_epoch)
    world.advance(100)
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2"), "that one was a moment ago"


def test_expressions_are_refreshed_now_and_again() -> None:
    world = World()
    t = world.create_topic("t1", 1)
    world.create_topic("t2", 1)
    world.join("a", regex="t.*")
    world.advance(100)
    world.heartbeat("a", 1)
    first_ms = world.group.subscriptions.resolved["t.*"].timestamp_ms
    world.delete_topic("t2")
    world.heartbeat("a", 2)
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2"), "deleted topics wait for a refresh"
    for _ in range(world.config.group_consumer_regex_refresh_interval_ms // 30_000 + 1):
        world.advance(30_000)
        world.heartbeat("a", world.group.members["a"].member_epoch, owned={t: [0]})
    world.advance(100)
    resolved = world.group.subscriptions.resolved["t.*"]
    assert resolved.timestamp_ms > first_ms
    assert resolved.topics == ("t1",)


def test_a_load_refreshes_because_topics_may_have_come() -> None:
    world = World()
    world.create_topic("t1", 1)
    world.join("a", regex="t.*")
    world.advance(100)
    world.create_topic("t2", 1)
    world.reload()
    world.advance(REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)
    world.heartbeat("a", 1)
    world.advance(100)
    assert world.group.subscriptions.resolved["t.*"].topics == ("t1", "t2")


def test_topics_that_a_member_may_not_know_of_are_left_out() -> None:
    asked: list[Sequence[str]] = []

    def describable(topics: Sequence[str]) -> list[str]:
        asked.append(topics)
        return [topic for topic in topics if topic != "secret"]

    world = World(describable=describable)
    world.create_topic("secret", 1)
    t = world.create_topic("shown", 1)
    world.join("a", regex="s.*")
    world.advance(100)
    assert assigned(world.heartbeat("a", 1)) == {t: {0}}
    assert asked


def test_many_topics_are_looked_at_in_slices() -> None:
    world = World()
    for index in range(4):
        world.create_topic(f"t{index}", 1)
    slices_before = topic_regex.MATCHES_A_SLICE
    topic_regex.MATCHES_A_SLICE = 1
    try:
        world.join("a", regex="t.*")
        world.advance(2)
        assert world.group.subscriptions.resolved == {}
        assert refused(lambda: world.heartbeat("x", 1)) is ErrorCode.UNKNOWN_MEMBER_ID, "others are served meanwhile"
        world.advance(10)
        assert len(world.group.subscriptions.resolved["t.*"].topics) == 4
    finally:
        topic_regex.MATCHES_A_SLICE = slices_before


def test_what_comes_too_late_is_ignored() -> None:
    world = World()
    world.create_topic("t", 1)
    world.join("a", regex="t")
    world.heartbeat("a", -1)
    written = len(world.log)
    world.advance(100)
    assert not [r for r in world.records_since(written) if isinstance(r.key, ConsumerGroupRegularExpressionKey)]
