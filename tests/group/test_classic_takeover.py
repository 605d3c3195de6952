"""JoinGroup to a group of another kind: an empty one becomes a classic group, others refuse."""

from ottla.common.error_code import ErrorCode
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.records import ConsumerGroupMetadataKey, GroupMetadataKey
from tests.group.classic_world import GROUP, World


def _types(world: World) -> list[type]:
    return [type(world.serde.decode(*entry).key) for entry in world.log]


def test_an_empty_consumer_group_becomes_a_classic_one() -> None:
    world = World()
    world.groups.add(ConsumerGroup(GROUP))
    (answer,) = world.join()
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert world.group.state_name == "Empty"
    types = _types(world)
    assert ConsumerGroupMetadataKey in types and types[-1] is GroupMetadataKey


def test_a_failed_write_leaves_the_consumer_group() -> None:
    world = World()
    consumer_group = ConsumerGroup(GROUP)
    world.groups.add(consumer_group)
    world.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.join()[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.groups.get(GROUP) is consumer_group


def test_a_member_that_the_empty_consumer_group_does_not_know_changes_nothing() -> None:
    world = World()
    consumer_group = ConsumerGroup(GROUP)
    world.groups.add(consumer_group)
    assert world.join("m")[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.groups.get(GROUP) is consumer_group and not world.log


def test_a_group_with_members_of_another_kind_refuses() -> None:
    world = World()
    consumer_group = ConsumerGroup(GROUP)
    consumer_group.update_member(ConsumerGroupMember(member_id="m"))
    world.groups.add(consumer_group)
    assert world.join()[0].error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync("m", 1)[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    described = world.manager.describe(GROUP, 6)
    assert described.error_message == f"Group {GROUP} is not a classic group."
