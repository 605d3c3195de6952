"""Deletion and expiry of offsets."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import Uuid
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.state import ClassicGroupState
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from tests.group.offsets_world import RETENTION_MS, TOPIC_IDS, OffsetsWorld, commit_request, txn_commit_request

LATEST = 10


def _world(*offsets: tuple[str, str, int], now_ms: int = 0, retention_ms: int = -1) -> OffsetsWorld:
    world = OffsetsWorld()
    for group_id, topic, partition in offsets:
        request = commit_request(group_id, topic, partition, retention_ms=retention_ms)
        world.write(world.manager.commit_offset(request, LATEST, now_ms))
    return world


def _delete(world: OffsetsWorld, topic: str, *partitions: int) -> list[int]:
    asked = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
    request = OffsetDeleteRequest(group_id="g", topics=[OffsetDeleteRequestTopic(name=topic, partitions=asked)])
    response: OffsetDeleteResponse = world.write(world.removal.delete_offsets(request))
    answered = response.topics[0].partitions
    assert [partition.partition_index for partition in answered] == list(partitions)
    return [partition.error_code for partition in answered]


class _Reader(ClassicGroup):
    """A group that reads one topic."""

    def is_subscribed_to_topic(self, topic: str) -> bool:
        return topic == "u"


def test_offsets_are_deleted_and_unknown_ones_are_no_error() -> None:
    world = _world(("g", "t", 0), ("g", "t", 1), ("g", "u", 0))
    before = len(world.log)
    assert _delete(world, "t", 1, 1, 7) == [ErrorCode.NONE] * 3
    assert list(world.committed()) == [("g", "t", 0), ("g", "u", 0)]
    assert len(world.log) == before + 1
    assert world.metrics.offset_deletions.value == 1


@pytest.mark.uncompiled
def test_offsets_of_a_topic_that_is_read_stay() -> None:
    world = _world(("g", "t", 0), ("g", "u", 0))
    world.groups.add(_Reader("g"))
    assert _delete(world, "u", 0) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    assert _delete(world, "t", 0) == [ErrorCode.NONE]
    assert list(world.committed()) == [("g", "u", 0)]


def test_deletion_needs_a_group_without_members_of_another_protocol() -> None:
    world = _world()
    with pytest.raises(ApiError) as refused:
        _delete(world, "t", 0)
    assert refused.value.code == ErrorCode.GROUP_ID_NOT_FOUND
    world.groups.add(ClassicGroup("g", state=ClassicGroupState.STABLE, protocol_type="connect"))
    with pytest.raises(ApiError) as refused:
        _delete(world, "t", 0)
    assert refused.value.code == ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize("committed", [True, False])
def test_deletion_reaches_into_open_transactions(committed: bool) -> None:
    world = _world(("g", "t", 0))
    for partition in (0, 1):
        request = txn_commit_request(9, partition=partition)
        world.write(world.manager.commit_transactional_offset(request, 5, 0), 9)
    assert _delete(world, "t", 0, 1) == [ErrorCode.NONE] * 2
    assert not world.pending()
    world.end_transaction(9, committed=committed)
    assert not world.committed()


def test_a_transaction_may_commit_again_after_a_deletion() -> None:
    world = _world(("g", "t", 0))
    for offset in (5, 6):
        request = txn_commit_request(9, offset=offset)
        world.write(world.manager.commit_transactional_offset(request, 5, 0), 9)
        if offset == 5:
            _delete(world, "t", 0)
    world.end_transaction(9, committed=True)
    assert world.committed()["g", "t", 0].committed_offset == 6


def test_all_offsets_of_a_group_are_deleted_with_it() -> None:
    world = _world(("g", "t", 0), ("g", "u", 3), ("other", "t", 0))
    for partition in (0, 1):
        request = txn_commit_request(9, partition=partition)
        world.write(world.manager.commit_transactional_offset(request, 5, 0), 9)
    before = len(world.log)
    world.delete_group("g")
    assert len(world.log) == before + 4  # three offsets and the group
    assert list(world.committed()) == [("other", "t", 0)]
    assert list(world.groups.groups) == ["other"]
    world.end_transaction(9, committed=True)
    assert list(world.committed()) == [("other", "t", 0)]


def test_offsets_expire_after_the_retention_and_their_group_with_them() -> None:
    world = _world(("g", "t", 0), ("h", "t", 0), now_ms=1_000)
    world.write(world.manager.commit_offset(commit_request("h", "t", 1), LATEST, 2_000))
    world.cleanup(1_000 + RETENTION_MS - 1)
    assert len(world.committed()) == 3
    world.cleanup(1_000 + RETENTION_MS)
    assert list(world.committed()) == [("h", "t", 1)]
    assert list(world.groups.groups) == ["h"]
    assert world.metrics.offset_expirations.value == 2


def test_an_offset_with_an_expiry_of_its_own_keeps_to_it() -> None:
    world = _world(("g", "t", 0), retention_ms=RETENTION_MS * 3)
    world.cleanup(RETENTION_MS * 3 - 1)
    assert world.committed()
    world.cleanup(RETENTION_MS * 3)
    assert not world.committed()


@pytest.mark.uncompiled
def test_offsets_that_are_read_or_that_a_transaction_replaces_do_not_expire() -> None:
    world = _world(("g", "t", 0), ("g", "t", 1), ("g", "u", 0))
    world.groups.add(_Reader("g"))
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, partition=1), 5, 0), 9)
    world.cleanup(RETENTION_MS * 2)
    assert list(world.committed()) == [("g", "t", 1), ("g", "u", 0)]
    assert "g" in world.groups.groups


def test_a_group_that_an_open_transaction_names_stays() -> None:
    world = _world()
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9), 5, 0), 9)
    world.cleanup(RETENTION_MS * 2)
    assert "g" in world.groups.groups
    world.end_transaction(9, committed=False)
    world.cleanup(RETENTION_MS * 2)
    assert not world.groups.groups


def test_offsets_of_a_group_with_members_that_says_nothing_of_its_topics_do_not_expire() -> None:
    world = _world(("g", "t", 0), retention_ms=1)
    world.groups.add(ClassicGroup("g", state=ClassicGroupState.STABLE, protocol_type="connect"))
    world.cleanup(RETENTION_MS * 2)
    assert world.committed()


def test_offsets_of_deleted_topics_are_deleted() -> None:
    world = _world(("g", "t", 0), ("g", "u", 0), ("h", "t", 3))
    for producer_id in (8, 9):
        request = txn_commit_request(producer_id, partition=5)
        world.write(world.manager.commit_transactional_offset(request, 5, 0), producer_id)
    unrelated = Uuid(b"another t before")
    assert not world.removal.on_topics_deleted({TOPIC_IDS["v"]: "v"})
    only_unnamed = world.removal.on_topics_deleted({unrelated: "t"})
    assert len(only_unnamed) == 1  # transactions do not keep the topic's id
    records = world.removal.on_topics_deleted({unrelated: "t", TOPIC_IDS["t"]: "t"})
    assert len(records) == 3
    world.write(CoordinatorResult(records, None))
    assert list(world.committed()) == [("g", "u", 0)]
    assert not world.pending()
