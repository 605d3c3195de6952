"""The shard: requests reach the manager of the group's kind, records the method of their key."""

from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.expiration import TIMER_KEY
from ottla.group.group import GroupType
from ottla.group.offset_commit_record import OffsetCommitRecord
from ottla.group.record_helpers import new_group_metadata_record
from ottla.group.records import RECORD_TYPES, LegacyOffsetCommitKey, LegacyOffsetCommitValue
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from tests.group.consumer_world import GROUP, World, context
from tests.group.offsets_world import commit_request, txn_commit_request


def _delete(world: World, *group_ids: str) -> list[int]:
    results = world.run(world.shard.delete_groups(group_ids))
    assert [result.group_id for result in results] == list(group_ids)
    return [result.error_code for result in results]


def _commit(world: World, group_id: str, partition: int = 0) -> None:
    request = commit_request(group_id, "t", partition)
    world.run(world.shard.commit_offset(context(ApiKey.OFFSET_COMMIT, 9), request, world.now_ms))


def _committed(world: World, group_id: str) -> dict[tuple[str, int], int]:
    answer = world.shard.fetch_offsets(OffsetFetchRequestGroup(group_id=group_id, topics=None), require_stable=True)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
    }


def _listed(world: World, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list[str]:
    return [group.group_id for group in world.shard.list_groups(states, types)]


def test_every_record_is_replayed() -> None:
    world = World()
    for key_class, _ in RECORD_TYPES.values():
        fields: dict[str, Any] = {
            name: GROUP
            for name in ("group", "group_id")
            if any(name == field.name for field in key_class.schema.fields)
        }
        world.shard.replay(0, -1, -1, CoordinatorRecord(key_class(**fields), None))
    assert not world.groups


def test_a_record_of_old_brokers_is_an_offset() -> None:
    world = World()
    key = LegacyOffsetCommitKey(group="g", topic="t", partition=2)
    world.shard.replay(5, -1, -1, CoordinatorRecord(key, LegacyOffsetCommitValue(offset=9)))
    assert _committed(world, "g") == {("t", 2): 9}
    assert world.shard.num_offsets == 1


@pytest.mark.parametrize("committed", [True, False])
def test_offsets_of_a_transaction_wait_for_its_end(committed: bool) -> None:
    world = World()
    asked = context(ApiKey.TXN_OFFSET_COMMIT, 5)
    result = world.shard.commit_transactional_offset(asked, txn_commit_request(9, offset=4), world.now_ms)
    for record in result.records:
        world.shard.replay(0, 9, 1, record)
    assert not _committed(world, "g")
    world.shard.replay_end_transaction_marker(9, 1, committed=committed)
    assert _committed(world, "g") == ({("t", 0): 4} if committed else {})


def test_the_classic_protocol_is_spoken_with_groups_of_both_kinds() -> None:
    world = World(group_consumer_migration_policy="bidirectional")
    world.create_topic("t", 2)
    world.join("m", topics=["t"])
    assert world.groups[GROUP].type is GroupType.CONSUMER
    answers = world.classic_join(version=3)
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE]
    member_id, generation_id = answers[0].member_id, answers[0].generation_id
    assert world.groups[GROUP].has_member(member_id)
    assert [answer.error_code for answer in world.classic_sync(member_id, generation_id)] == [ErrorCode.NONE]
    assert world.classic_heartbeat(member_id, generation_id) in {ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS}
    world.classic_leave((member_id, None))
    assert not world.groups[GROUP].has_member(member_id)


def test_an_empty_consumer_group_becomes_classic_when_somebody_joins() -> None:
    world = World()
    world.create_topic("t", 2)
    epoch = world.join("m", topics=["t"]).member_epoch
    assert epoch > 0
    world.heartbeat("m", -1)
    assert world.groups[GROUP].is_empty
    world.classic_join(version=3)
    assert world.groups[GROUP].type is GroupType.CLASSIC


def test_nobody_is_a_member_of_a_group_that_does_not_exist() -> None:
    world = World()
    assert [answer.error_code for answer in world.classic_sync("m", 1)] == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.classic_heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(KafkaError) as refused:
        world.classic_leave(("m", None))
    assert refused.value.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_groups_are_listed_by_state_and_type() -> None:
    world = World()
    world.create_topic("t", 2)
    _commit(world, "simple")
    world.join("m", topics=["t"])
    assert _listed(world) == ["simple", GROUP]
    assert _listed(world, states=(" EMPTY",)) == ["simple"]
    assert _listed(world, types=("Consumer",)) == [GROUP]
    assert _listed(world, types=("share",)) == []
    assert _listed(world, types=("nonsense",)) == []
    assert _listed(world, states=("empty",), types=("consumer",)) == []


def test_groups_are_described_in_the_order_of_the_question() -> None:
    world = World()
    _commit(world, "simple")
    described = world.shard.describe_groups(context(ApiKey.DESCRIBE_GROUPS, 6), ["other", "simple"])
    assert [(group.group_id, group.error_code, group.group_state) for group in described] == [
        ("other", ErrorCode.GROUP_ID_NOT_FOUND, "Dead"),
        ("simple", ErrorCode.NONE, "Empty"),
    ]
    (missing,) = world.shard.consumer_group_describe(["simple"])
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_without_members_is_deleted_with_its_offsets() -> None:
    world = World()
    world.create_topic("t", 2)
    world.join("m", topics=["t"])
    _commit(world, "simple")
    _commit(world, "simple", 1)
    assert _delete(world, "simple", "other", GROUP) == [
        ErrorCode.NONE,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.NON_EMPTY_GROUP,
    ]
    assert list(world.groups) == [GROUP]
    assert world.shard.num_offsets == 0
    assert list(world.replayed()) == [GROUP]


def test_a_group_of_each_kind_is_deleted() -> None:
    world = World()
    world.create_topic("t", 2)
    world.join("m", topics=["t"])
    world.heartbeat("m", -1)
    assert _delete(world, GROUP) == [ErrorCode.NONE]
    world.classic_join(version=3)
    assert _delete(world, GROUP) == [ErrorCode.NON_EMPTY_GROUP]
    world.advance(2 * 60_000)  # the member is silent
    assert _delete(world, GROUP) == [ErrorCode.NONE]
    assert not world.groups
    assert not world.replayed()


def test_offsets_and_groups_expire_by_the_timer() -> None:
    world = World(offsets_retention_minutes=60, offsets_retention_check_interval_ms=1_000)
    world.create_topic("t", 2)
    _commit(world, "simple")
    world.join("m", topics=["t"])
    world.advance(30 * 60_000)
    _commit(world, "late")
    assert list(world.groups) == ["simple", "late"]  # the member was silent, and its group had no offsets
    world.advance(31 * 60_000)
    assert list(world.groups) == ["late"]
    world.advance(31 * 60_000)
    assert not world.groups
    assert not world.replayed()
    assert world.shard.num_offsets == 0


def test_members_commit_with_the_right_epoch_only() -> None:
    world = World()
    world.create_topic("t", 2)
    epoch = world.join("m", topics=["t"]).member_epoch
    assert world.commit_offset("m", epoch, "t", 0) == ErrorCode.NONE
    assert world.commit_offset("m", epoch + 1, "t", 0) == ErrorCode.STALE_MEMBER_EPOCH
    assert world.commit_offset("other", epoch, "t", 0) == ErrorCode.UNKNOWN_MEMBER_ID
    assert _committed(world, GROUP) == {("t", 0): 1}


def test_offsets_of_deleted_topics_go() -> None:
    world = World()
    topic_id = world.create_topic("t", 2)
    epoch = world.join("m", topics=["t"]).member_epoch
    world.commit_offset("m", epoch, "t", 0)
    _commit(world, "simple")  # for an older topic of that name
    world.run(world.shard.on_topics_deleted({topic_id: "t"}))
    assert not _committed(world, GROUP)
    assert _committed(world, "simple") == {("t", 0): 100}


def test_nothing_is_left_of_a_shard_that_was_unloaded() -> None:
    world = World(group_initial_rebalance_delay_ms=3_000)
    waiting = world.classic_join(version=3)
    assert not waiting
    assert world.timers.is_scheduled(TIMER_KEY)
    world.shard.on_unloaded()
    assert [answer.error_code for answer in waiting] == [ErrorCode.NOT_COORDINATOR]
    assert not world.timers.is_scheduled(TIMER_KEY)


def test_offsets_and_groups_survive_a_reload() -> None:
    world = World()
    world.create_topic("t", 2)
    epoch = world.join("m", topics=["t"]).member_epoch
    world.commit_offset("m", epoch, "t", 0)
    _commit(world, "simple")
    before = world.describe()
    target = before.members[0].target_assignment
    assert target is not None
    assert target.topic_partitions[0].partitions == [0, 1]
    world.reload()
    assert _committed(world, GROUP) == {("t", 0): 1}
    assert _committed(world, "simple") == {("t", 0): 100}
    assert world.commit_offset("m", epoch, "t", 1) == ErrorCode.NONE
    assert world.describe() == before


def test_an_offset_may_come_before_its_group_in_a_compacted_log() -> None:
    world = World()
    offset = OffsetCommitRecord(GROUP, "t", 0, offset=3)
    group = new_group_metadata_record(
        GROUP,
        protocol_type="consumer",
        generation_id=4,
        protocol_name=None,
        leader=None,
        current_state_timestamp_ms=7,
        members=(),
    )
    for record in (offset, group):
        world.shard.replay(0, -1, -1, record)
    assert _committed(world, GROUP) == {("t", 0): 3}
    assert world.shard.list_groups((), ())[0].protocol_type == "consumer"
