"""What OffsetFetch answers."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.group.classic.group import ClassicGroup
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.group.offsets_world import TOPIC_IDS, OffsetsWorld, commit_request, fetch_request, txn_commit_request

LATEST = 10
NOTHING = OffsetFetchResponsePartitions(partition_index=3, committed_offset=-1, committed_leader_epoch=-1)
UNSTABLE = OffsetFetchResponsePartitions(
    partition_index=1, committed_offset=-1, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
)


def _committed(index: int, offset: int) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=offset, committed_leader_epoch=5, metadata="m"
    )


@pytest.fixture(name="world")
def _world() -> OffsetsWorld:
    world = OffsetsWorld()
    for topic, partition, offset in (("t", 0, 10), ("t", 1, 11), ("u", 0, 20)):
        world.write(world.manager.commit_offset(commit_request("g", topic, partition, offset, "m"), LATEST, 0))
    return world


def test_the_offsets_asked_for(world: OffsetsWorld) -> None:
    answer = world.reader.fetch_offsets(fetch_request("g", "t", 1, 3), require_stable=True)
    assert answer == OffsetFetchResponseGroup(
        group_id="g",
        topics=[OffsetFetchResponseTopics(name="t", topic_id=TOPIC_IDS["t"], partitions=[_committed(1, 11), NOTHING])],
    )


def test_all_offsets(world: OffsetsWorld) -> None:
    request = OffsetFetchRequestGroup(group_id="g", topics=None)
    assert world.reader.fetch_offsets(request, require_stable=False).topics == [
        OffsetFetchResponseTopics(name="t", partitions=[_committed(0, 10), _committed(1, 11)]),
        OffsetFetchResponseTopics(name="u", partitions=[_committed(0, 20)]),
    ]


def test_offsets_that_a_transaction_may_change_are_unstable(world: OffsetsWorld) -> None:
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, partition=1), 5, 0), 9)
    asked, everything = fetch_request("g", "t", 1), OffsetFetchRequestGroup(group_id="g", topics=None)
    for request in (asked, everything):
        stable = world.reader.fetch_offsets(request, require_stable=True).topics[0].partitions
        assert stable[-1] == UNSTABLE
        assert world.reader.fetch_offsets(request, require_stable=False).topics[0].partitions[-1] == _committed(1, 11)
    world.end_transaction(9, committed=False)
    assert world.reader.fetch_offsets(asked, require_stable=True).topics[0].partitions == [_committed(1, 11)]


def test_a_first_offset_in_a_transaction_is_unstable_too(world: OffsetsWorld) -> None:
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, "new", partition=1), 5, 0), 9)
    answer = world.reader.fetch_offsets(fetch_request("new", "t", 1), require_stable=True)
    assert answer.topics[0].partitions == [UNSTABLE]


def test_a_group_that_does_not_exist_has_committed_nothing(world: OffsetsWorld) -> None:
    asked = world.reader.fetch_offsets(fetch_request("other", "t", 3), require_stable=False)
    assert asked.error_code == ErrorCode.NONE
    assert asked.topics[0].partitions == [NOTHING]
    everything = OffsetFetchRequestGroup(group_id="other", topics=None)
    assert world.reader.fetch_offsets(everything, require_stable=False) == OffsetFetchResponseGroup(group_id="other")


def test_offsets_of_an_older_topic_of_the_name_are_not_given_out(world: OffsetsWorld) -> None:
    request = fetch_request("g", "t", 1)
    assert request.topics is not None
    for topic_id, offset in ((Uuid(b"x" * 16), -1), (ZERO_UUID, 11), (TOPIC_IDS["t"], 11)):
        request.topics[0].topic_id = topic_id
        answer = world.reader.fetch_offsets(request, require_stable=False)
        assert answer.topics[0].partitions[0].committed_offset == offset


def test_offsets_without_an_id_are_given_out_for_any() -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, offset=4), 5, 0), 9)
    world.end_transaction(9, committed=True)
    answer = world.reader.fetch_offsets(fetch_request("g", "t", 0), require_stable=True)
    assert answer.topics[0].partitions[0].committed_offset == 4


class _Fencing(ClassicGroup):
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        raise ApiError(ErrorCode.STALE_MEMBER_EPOCH, f"{member_id} {member_epoch}")


@pytest.mark.uncompiled
def test_a_fenced_member_is_refused(world: OffsetsWorld) -> None:
    world.groups.add(_Fencing("g"))
    with pytest.raises(ApiError) as refused:
        world.reader.fetch_offsets(
            OffsetFetchRequestGroup(group_id="g", member_id="m", member_epoch=2), require_stable=False
        )
    assert refused.value.code == ErrorCode.STALE_MEMBER_EPOCH
    assert str(refused.value) == "m 2"
