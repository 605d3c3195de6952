"""Which members of a consumer group may commit and fetch offsets, and when a group may go."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ClassicMember, ClassicProtocol, ConsumerGroupMember
from tests.group.consumer_world import World, assigned, refused

T = Uuid.from_halves(0, 1000)


def group(*, classic: bool = False) -> ConsumerGroup:
    """A group with a member at epoch 10 that got partition 0 at epoch 5, and gives up partition 1 of epoch 7."""
    made = ConsumerGroup("g")
    made.update_member(
        ConsumerGroupMember(
            "m",
            member_epoch=10,
            assigned_partitions={T: {0: 5}},
            partitions_pending_revocation={T: {1: 7}},
            classic=ClassicMember(1, (ClassicProtocol("range", b""),)) if classic else None,
        )
    )
    return made


def commit(made: ConsumerGroup, epoch: int, partition: int, *, member_id: str = "m", version: int = 9) -> None:
    validate = made.validate_offset_commit(member_id, None, epoch, is_transactional=False, api_version=version)
    if validate is not None:
        validate("t", T, partition)


@pytest.mark.parametrize(("epoch", "partition"), [(10, 0), (10, 9), (9, 0), (5, 0), (7, 1)])
def test_members_commit_at_their_epoch_or_at_any_since_they_have_the_partition(epoch: int, partition: int) -> None:
    commit(group(), epoch, partition)
    commit(group(classic=True), epoch, partition)


@pytest.mark.parametrize(("epoch", "partition"), [(11, 0), (4, 0), (6, 1), (9, 2), (-1, 0)])
def test_others_are_stale(epoch: int, partition: int) -> None:
    assert refused(lambda: commit(group(), epoch, partition)) is ErrorCode.STALE_MEMBER_EPOCH
    assert refused(lambda: commit(group(classic=True), epoch, partition)) is ErrorCode.ILLEGAL_GENERATION


def test_strangers_do_not_commit_while_there_are_members() -> None:
    assert refused(lambda: commit(group(), 10, 0, member_id="x")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: commit(group(), -1, 0, member_id="")) is ErrorCode.UNKNOWN_MEMBER_ID
    empty = ConsumerGroup("g")
    commit(empty, -1, 0, member_id="")
    assert refused(lambda: commit(empty, 0, 0, member_id="")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_consumer_protocol_needs_a_version_that_knows_it() -> None:
    assert refused(lambda: commit(group(), 10, 0, version=8)) is ErrorCode.UNSUPPORTED_VERSION
    commit(group(classic=True), 10, 0, version=8)


def test_transactions_need_not_say_who_commits() -> None:
    made = group()
    assert made.validate_offset_commit("", None, -1, is_transactional=True, api_version=3) is None
    assert made.validate_offset_commit("m", None, 10, is_transactional=True, api_version=3) is None
    for member_id, instance_id, epoch in (("x", None, -1), ("", "i", -1), ("", None, 1)):
        assert (
            refused(
                lambda member_id=member_id, instance_id=instance_id, epoch=epoch: made.validate_offset_commit(  # type: ignore[misc]
                    member_id, instance_id, epoch, is_transactional=True, api_version=3
                )
            )
            is ErrorCode.UNKNOWN_MEMBER_ID
        )


def test_who_may_fetch_offsets() -> None:
    made = group()
    made.validate_offset_fetch(None, -1)
    made.validate_offset_fetch("m", 10)
    assert refused(lambda: made.validate_offset_fetch("m", 9)) is ErrorCode.STALE_MEMBER_EPOCH
    assert refused(lambda: made.validate_offset_fetch("x", 9)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(lambda: group(classic=True).validate_offset_fetch("m", 9)) is ErrorCode.ILLEGAL_GENERATION


def test_only_an_empty_group_may_be_deleted() -> None:
    made = group()
    made.validate_offset_delete()
    assert refused(made.validate_delete_group) is ErrorCode.NON_EMPTY_GROUP
    made.remove_member("m")
    made.validate_delete_group()
    assert made.offset_unused_since_ms(77) == 77


def test_the_tombstones_of_a_group_end_it() -> None:
    world = World()
    world.create_topic("t", 1)
    world.join("a", topics=["t"], regex="t.*", instance_id="i")
    world.join("b", topics=["t"])
    world.advance(100)
    for record in world.group.tombstone_records():
        world.shard.replay(0, -1, -1, record)
    assert world.groups == {}


def test_a_commit_that_crosses_a_rebalance_counts_and_that_of_a_fenced_member_does_not() -> None:
    world = World()
    t = world.create_topic("t", 2)
    world.join("a", topics=["t"])
    world.join("b", topics=["t"])
    kept = assigned(world.heartbeat("a", 2))[t]
    (given_up,) = {0, 1} - kept
    assert world.commit_offset("a", 2, "t", given_up) == ErrorCode.NONE, "it is giving it up, and has read it"
    world.heartbeat("a", 2, owned={t: kept})
    assert world.commit_offset("a", 2, "t", *kept) == ErrorCode.NONE
    assert world.commit_offset("a", 2, "t", given_up) == ErrorCode.STALE_MEMBER_EPOCH
    world.heartbeat("b", 3)
    assert world.commit_offset("b", 3, "t", given_up) == ErrorCode.NONE
    assert world.commit_offset("b", 2, "t", given_up) == ErrorCode.STALE_MEMBER_EPOCH
    world.heartbeat("a", -1)
    assert world.commit_offset("a", 3, "t", *kept) == ErrorCode.UNKNOWN_MEMBER_ID
