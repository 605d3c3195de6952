"""ConsumerGroupHeartbeat: joining, staying, leaving, and what is refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.group.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import RequestHeader
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.group.consumer_world import GROUP, REBALANCE_MS, SESSION_MS, World, assigned, durable_state, refused


def test_the_first_member_gets_everything() -> None:
    world = World()
    t = world.create_topic("t", 3)
    response = world.join("a", topics=["t"])
    assert (response.member_id, response.member_epoch, response.heartbeat_interval_ms) == ("a", 2, 5_000)
    assert assigned(response) == {t: {0, 1, 2}}
    assert [type(record.key) for record in world.records_since(0)] == [
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMetadataKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupCurrentMemberAssignmentKey,
    ]
    assert world.group.state_name == "Stable"
    assert world.metrics.consumer_group_rebalances.value == 1


def test_a_member_without_an_id_gets_one() -> None:
    world = World()
    response = world.join("", topics=[])
    assert response.member_id
    assert world.group.has_member(response.member_id)


def test_a_member_that_reads_nothing_makes_no_rebalance() -> None:
    world = World()
    response = world.join("a", topics=[])
    assert response.member_epoch == 1
    assert assigned(response) == {}
    assert world.group.state_name == "Stable"
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)


def test_a_quiet_heartbeat_writes_nothing_and_tells_nothing() -> None:
    world = World()
    world.create_topic("t", 3)
    world.join("a", topics=["t"])
    written = len(world.log)
    response = world.heartbeat("a", 2)
    assert (response.member_epoch, response.assignment) == (2, None)
    assert len(world.log) == written


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        ({"rack_id": "r"}, {"rack_id": "r"}),
        ({"rebalance_timeout_ms": 7}, {"rebalance_timeout_ms": 7}),
        ({"topics": ["t", "u"]}, {"subscribed_topic_names": ["t", "u"]}),
        ({"regex": "t.*"}, {"subscribed_topic_regex": "t.*"}),
        ({"assignor": "range"}, {"server_assignor": "range"}),
    ],
)
def test_whatever_a_member_says_of_itself_is_noted(said: dict[str, Any], noted: dict[str, Any]) -> None:
    world = World()
    world.create_topic("t", 3)
    world.join("a", topics=["t"])
    written = len(world.log)
    world.heartbeat("a", 2, **said)
    (value, *_) = (record.value for record in world.records_since(written))
    assert isinstance(value, ConsumerGroupMemberMetadataValue)
    for name, expected in noted.items():
        assert getattr(value, name) == expected


@pytest.mark.parametrize(
    ("client_id", "address", "noted"),
    [("other", "127.0.0.1", ("other", "/127.0.0.1")), ("client", "127.0.0.2", ("client", "/127.0.0.2"))],
)
def test_a_member_that_speaks_from_elsewhere_is_noted(client_id: str, address: str, noted: tuple[str, str]) -> None:
    world = World()
    world.create_topic("t", 3)
    world.join("a", topics=["t"])
    written = len(world.log)
    peer: Any = SimpleNamespace(client_address=address)
    context = RequestContext(RequestHeader(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 1, client_id), peer)
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=2)
    world.run(world.shard.consumer_group_heartbeat(context, request, world.now_ms))
    (record,) = world.records_since(written)
    assert isinstance(record.value, ConsumerGroupMemberMetadataValue)
    assert (record.value.client_id, record.value.client_host) == noted


def test_a_full_heartbeat_is_told_the_assignment_again() -> None:
    world = World()
    t = world.create_topic("t", 3)
    world.join("a", topics=["t"])
    written = len(world.log)
    full = world.heartbeat("a", 2, topics=["t"], owned={t: [0]}, rebalance_timeout_ms=REBALANCE_MS)
    assert assigned(full) == {t: {0, 1, 2}}
    assert len(world.log) == written
    for almost in ({"topics": ["t"], "owned": {}}, {"owned": {}, "rebalance_timeout_ms": REBALANCE_MS}):
        assert world.heartbeat("a", 2, **almost).assignment is None


def test_a_partition_changes_hands_when_its_owner_has_let_go() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    second = world.join("b", topics=["t"])
    assert second.member_epoch == 3
    assert assigned(second) == {}
    assert world.group.state_name == "Reconciling"
    first = world.heartbeat("a", 2)
    kept = assigned(first)[t]
    assert (first.member_epoch, len(kept)) == (2, 1)
    assert world.heartbeat("a", 2).assignment is None
    assert world.heartbeat("b", 3).assignment is None, "its owner has not let go"
    assert world.heartbeat("a", 2, owned={t: kept}).member_epoch == 3
    assert assigned(world.heartbeat("b", 3)) == {t: {0, 1} - kept}
    assert world.group.state_name == "Stable"


def test_who_leaves_frees_its_partitions_at_once() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    response = world.heartbeat("a", -1)
    assert (response.member_id, response.member_epoch) == ("a", -1)
    assert world.group.state_name == "Assigning"
    assert assigned(world.heartbeat("b", 3)) == {t: {0, 1}}
    world.heartbeat("b", -1)
    assert world.group.state_name == "Empty"
    assert len(world.timers) == 1, "only the clock of expiry is left"


def test_who_is_unknown_is_told_so() -> None:
    world = World()
    assert refused(lambda: world.heartbeat("a", 1)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused(lambda: world.heartbeat("a", -1)) is ErrorCode.GROUP_ID_NOT_FOUND
    world.join("a", topics=[])
    assert refused(lambda: world.heartbeat("b", 1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: world.heartbeat("b", -1)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: world.heartbeat("a", 1, instance_id="i")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_wrong_epoch_is_fenced_but_for_the_last_one() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    world.heartbeat("a", 2, owned={t: []})  # it has lost what it had, and moves on to 3
    (has,) = world.group.members["a"].assigned_partitions.values()
    assert world.group.members["a"].member_epoch == 3
    assert refused(lambda: world.heartbeat("a", 4)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(lambda: world.heartbeat("a", 1)) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(lambda: world.heartbeat("a", 2)) is ErrorCode.FENCED_MEMBER_EPOCH, "it does not say what it owns"
    assert refused(lambda: world.heartbeat("a", 2, owned={t: [0, 1]})) is ErrorCode.FENCED_MEMBER_EPOCH
    assert world.heartbeat("a", 2, owned={t: list(has)}).member_epoch == 3, "it has missed the answer"
    assert world.heartbeat("a", 3).member_epoch == 3


def test_a_member_may_join_again_under_its_id() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    again = world.join("a", topics=["t"])
    assert (again.member_epoch, assigned(again)) == (2, {t: {0, 1}})
    assert world.group.num_members == 1


def test_a_group_may_be_full() -> None:
    world = World(group_consumer_max_size=1)
    world.join("a", topics=[])
    assert refused(lambda: world.join("b", topics=[])) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused(lambda: world.join("", topics=[])) is ErrorCode.GROUP_MAX_SIZE_REACHED
    world.join("a", topics=["t"])


def test_most_members_choose_the_assignor() -> None:
    world = World()
    world.create_topic("t", 4)
    world.create_topic("u", 1)
    world.join("a", topics=["t"], assignor="range")
    assert world.describe().assignor_name == "range"
    world.join("b", topics=["t"], assignor="uniform")
    assert world.describe().assignor_name == "uniform", "of equals, the one configured first"
    a, b = world.group.members["a"], world.group.members["b"]
    assert world.group.preferred_server_assignor(("uniform", "range"), a, a) == "range", "which a alone prefers"
    assert world.group.preferred_server_assignor(("uniform", "range"), b, b) == "uniform"
    world.heartbeat("b", 3, assignor="range")
    assert world.describe().assignor_name == "range"
    assert world.group.server_assignors == {"range": 2}
    world.heartbeat("a", -1)
    assert world.group.server_assignors == {"range": 1}


def test_topics_that_change_make_a_rebalance_with_the_next_heartbeat() -> None:
    world = World()
    t = world.create_topic("t", 1)
    world.join("a", topics=["t", "u"])
    world.add_partitions("t", 3)
    assert world.group.state_name == "Stable"
    grown = world.heartbeat("a", 2)
    assert (grown.member_epoch, assigned(grown)) == (3, {t: {0, 1, 2}})
    u = world.create_topic("u", 1)
    assert assigned(world.heartbeat("a", 3)) == {t: {0, 1, 2}, u: {0}}
    world.create_topic("v", 1)
    assert world.heartbeat("a", 4).member_epoch == 4, "nobody reads it"
    world.delete_topic("t")
    deleted = world.heartbeat("a", 4)
    assert assigned(deleted) == {u: {0}}
    assert world.heartbeat("a", 4, owned={u: [0]}).member_epoch == 5
    again = world.create_topic("t", 1)
    assert assigned(world.heartbeat("a", 5)) == {u: {0}, again: {0}}


def test_a_refresh_whose_record_was_lost_is_done_again() -> None:
    world = World()
    t = world.create_topic("t", 1)
    world.join("a", topics=["t"])
    world.add_partitions("t", 2)
    world.appends_fail = True
    assert refused(lambda: world.heartbeat("a", 2)) is ErrorCode.NOT_COORDINATOR
    world.appends_fail = False
    assert assigned(world.heartbeat("a", 2)) == {t: {0, 1}}


def test_a_change_of_topics_while_the_partition_was_elsewhere_is_seen() -> None:
    world = World()
    t = world.create_topic("t", 1)
    world.join("a", topics=["t"])
    world.add_partitions("t", 2)
    world.reload()
    assert assigned(world.heartbeat("a", 2)) == {t: {0, 1}}


def test_target_assignments_keep_their_interval() -> None:
    world = World(group_consumer_assignment_interval_ms=1_000)
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.advance(999)
    waiting = world.join("b", topics=["t"])
    assert (waiting.member_epoch, assigned(waiting)) == (2, {})
    assert world.group.state_name == "Assigning"
    assert world.heartbeat("b", 2).member_epoch == 2
    world.advance(1)
    assert world.heartbeat("b", 2).member_epoch == 3
    assert len(assigned(world.heartbeat("a", 2))[t]) == 1


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (ConsumerGroupConfig(), (5_000, SESSION_MS)),
        (ConsumerGroupConfig(session_timeout_ms=50_000, heartbeat_interval_ms=6_000), (6_000, 50_000)),
        (ConsumerGroupConfig(session_timeout_ms=1, heartbeat_interval_ms=1), (5_000, 45_000)),
        (ConsumerGroupConfig(session_timeout_ms=10**9, heartbeat_interval_ms=10**9), (15_000, 60_000)),
    ],
)
def test_a_groups_own_settings_count_within_the_brokers_bounds(
    own: ConsumerGroupConfig, expected: tuple[int, int]
) -> None:
    world = World(group_configs=lambda group_id: own if group_id == GROUP else ConsumerGroupConfig())
    interval_ms, session_ms = expected
    assert world.join("a", topics=[]).heartbeat_interval_ms == interval_ms
    world.advance(session_ms - 1)
    assert world.group.num_members == 1
    world.advance(1)
    assert world.group.num_members == 0


def test_a_groups_own_assignment_interval() -> None:
    world = World(group_configs=lambda _group_id: ConsumerGroupConfig(assignment_interval_ms=2_000))
    world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.advance(1_999)
    assert world.join("b", topics=["t"]).member_epoch == 2
    world.advance(1)
    assert world.heartbeat("b", 2).member_epoch == 3


def test_a_target_assignment_of_the_future_does_not_keep_the_next_one_waiting() -> None:
    """Its time is in the log, and the wall clock has been set back since."""
    world = World(group_consumer_assignment_interval_ms=1_000)
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.clock.set_now_ms(world.now_ms - 5 * 3_600_000)
    assert world.join("b", topics=["t"]).member_epoch == 3
    assert len(assigned(world.heartbeat("a", 2))[t]) == 1


def test_who_joins_without_a_subscription_gets_nothing_even_if_a_rebalance_is_due() -> None:
    """Apache assigns as if it subscribed to what the others do."""
    world = World()
    t = world.create_topic("t", 3)
    world.join("a", topics=["t"])
    world.join("b", topics=[])
    world.heartbeat("b", -1)
    assert world.group.state_name == "Assigning"
    assert assigned(world.join("c", topics=[])) == {}
    world.heartbeat("a", 2)
    assert {member_id: set(target.get(t, ())) for member_id, target in world.group.target_assignment.items()} == {
        "a": {0, 1, 2},
        "c": set(),
    }


def test_a_failed_append_leaves_no_trace() -> None:
    world = World()
    world.create_topic("t", 2)
    world.appends_fail = True
    assert refused(lambda: world.join("a", topics=["t"])) is ErrorCode.NOT_COORDINATOR
    assert world.groups == {}
    world.advance(SESSION_MS * 2)
    world.appends_fail = False
    world.join("a", topics=["t"])
    before = durable_state(world.group)
    world.appends_fail = True
    assert refused(lambda: world.heartbeat("a", -1)) is ErrorCode.NOT_COORDINATOR
    world.appends_fail = False
    assert durable_state(world.group) == before
    world.advance(SESSION_MS)
    assert world.group.num_members == 0, "its session goes on, and ends"


def test_records_of_old_versions_about_topics_are_deleted() -> None:
    world = World()
    world.join("a", topics=["t"])
    world.run(_old_partition_metadata())
    assert world.group.has_subscription_metadata_record
    world.create_topic("t", 1)
    written = len(world.log)
    world.heartbeat("a", 2)
    tombstones = [record.key for record in world.records_since(written) if record.value is None]
    assert tombstones == [ConsumerGroupPartitionMetadataKey(group_id=GROUP)]
    assert not world.group.has_subscription_metadata_record


def _old_partition_metadata() -> CoordinatorResult[None]:

    record = CoordinatorRecord(ConsumerGroupPartitionMetadataKey(group_id=GROUP), ConsumerGroupPartitionMetadataValue())
    return CoordinatorResult([record], None)
