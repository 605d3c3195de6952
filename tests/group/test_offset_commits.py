"""Commits of offsets, plain and transactional, and what becomes of them in the log."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.state import ClassicGroupState
from ottla.group.group import CommitPartitionValidator, GroupType
from ottla.group.offsets.offset_and_metadata import OffsetAndMetadata
from ottla.group.records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.topics import TopicImage, TopicsImage
from ottla.protocol.messages.offset_commit import OffsetCommitResponse
from tests.group.offsets_world import (
    METADATA_MAX,
    TOPIC_IDS,
    OffsetsWorld,
    commit_request,
    txn_commit_request,
)

LATEST = 10
NOW_MS = 1_000


def _codes(response: OffsetCommitResponse) -> list[int]:
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


def _stable_group() -> ClassicGroup:
    group = ClassicGroup("g", generation_id=3)
    group.add_member(
        ClassicGroupMember(
            "m",
            group_instance_id=None,
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            protocol_type="consumer",
            supported_protocols={"range": b""},
        )
    )
    for state in (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE):
        group.transition_to(state, 0)
    group.transition_to(ClassicGroupState.STABLE, 0)
    return group


def test_a_commit_without_a_group_makes_a_simple_one() -> None:
    world = OffsetsWorld()
    response = world.write(world.manager.commit_offset(commit_request(offset=7, metadata="m"), LATEST, NOW_MS))
    assert _codes(response) == [ErrorCode.NONE]
    assert response.topics[0].topic_id == TOPIC_IDS["t"]
    assert world.committed() == {
        ("g", "t", 0): OffsetAndMetadata(7, 5, "m", NOW_MS, topic_id=TOPIC_IDS["t"], record_offset=0)
    }
    group = world.groups.group("g")
    assert (group.type, group.is_empty) == (GroupType.CLASSIC, True)
    assert isinstance(group, ClassicGroup)
    assert group.is_simple_group
    assert world.metrics.offset_commits.value == 1


def test_an_operation_alone_changes_nothing() -> None:
    world = OffsetsWorld()
    world.manager.commit_offset(commit_request(), LATEST, NOW_MS)
    world.manager.commit_transactional_offset(txn_commit_request(9), 5, NOW_MS)
    assert not world.committed()
    assert not world.groups.groups


@pytest.mark.parametrize(("version", "code"), [(9, ErrorCode.GROUP_ID_NOT_FOUND), (8, ErrorCode.ILLEGAL_GENERATION)])
def test_a_member_of_a_group_that_is_gone_is_told_so(version: int, code: ErrorCode) -> None:
    world = OffsetsWorld()
    with pytest.raises(ApiError) as refused:
        world.manager.commit_offset(commit_request(member_id="m", generation_id=1), version, NOW_MS)
    assert refused.value.code == code
    request = txn_commit_request(9)
    request.generation_id = 1
    with pytest.raises(ApiError) as refused:
        world.manager.commit_transactional_offset(request, 5, NOW_MS)
    assert refused.value.code == ErrorCode.ILLEGAL_GENERATION


def test_a_commit_keeps_the_session_of_a_classic_member() -> None:
    world = OffsetsWorld()
    world.groups.add(_stable_group())
    world.manager.commit_offset(commit_request(member_id="m", generation_id=3), LATEST, NOW_MS)
    assert world.sessions == ["g/m"]


@pytest.mark.parametrize(
    ("member_id", "generation_id", "code"),
    [
        ("m", 2, ErrorCode.ILLEGAL_GENERATION),
        ("other", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_fenced_members_are_refused(member_id: str, generation_id: int, code: ErrorCode) -> None:
    world = OffsetsWorld()
    world.groups.add(_stable_group())
    request = commit_request(member_id=member_id, generation_id=generation_id)
    with pytest.raises(KafkaError) as refused:
        world.manager.commit_offset(request, LATEST, NOW_MS)
    assert refused.value.code == code
    assert not world.sessions


def test_long_metadata_is_refused_by_the_partition() -> None:
    world = OffsetsWorld()
    request = commit_request(metadata="m" * (METADATA_MAX + 1))
    request.topics[0].partitions = [*request.topics[0].partitions, *commit_request(partition=1).topics[0].partitions]
    response = world.write(world.manager.commit_offset(request, LATEST, NOW_MS))
    assert _codes(response) == [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE]
    assert list(world.committed()) == [("g", "t", 1)]


def test_metadata_is_as_long_as_java_says() -> None:
    world = OffsetsWorld()
    fits = world.manager.commit_offset(commit_request(metadata="😀" * (METADATA_MAX // 2)), LATEST, NOW_MS)
    assert _codes(fits.response) == [ErrorCode.NONE]
    long = world.manager.commit_offset(commit_request(metadata="é" + "😀" * (METADATA_MAX // 2)), LATEST, NOW_MS)
    assert _codes(long.response) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]


def test_absent_metadata_is_empty() -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_offset(commit_request(metadata=None), LATEST, NOW_MS))
    assert world.committed()["g", "t", 0].metadata == ""


@pytest.mark.parametrize(("retention_ms", "expire_ms"), [(500, NOW_MS + 500), ((1 << 63) - 1, (1 << 63) - 1), (-1, -1)])
def test_old_clients_say_when_an_offset_expires(retention_ms: int, expire_ms: int) -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_offset(commit_request(retention_ms=retention_ms), 4, NOW_MS))
    assert world.committed()["g", "t", 0].expire_timestamp_ms == expire_ms


def test_a_transaction_commits_at_its_end() -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, offset=7), 5, NOW_MS), 9)
    assert not world.committed()
    assert world.pending() == {(9, "g", "t", 0): OffsetAndMetadata(7, commit_timestamp_ms=NOW_MS, record_offset=0)}
    assert "g" in world.groups.groups
    world.end_transaction(9, committed=True)
    assert world.committed()["g", "t", 0].committed_offset == 7
    assert world.committed()["g", "t", 0].topic_id == ZERO_UUID
    assert not world.pending()
    assert not world.manager.pending.of_group("g")


def test_an_aborted_transaction_leaves_nothing() -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_offset(commit_request(offset=3), LATEST, NOW_MS))
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, offset=7), 5, NOW_MS), 9)
    world.end_transaction(9, committed=False)
    assert world.committed()["g", "t", 0].committed_offset == 3
    assert not world.pending()


def test_of_two_commits_the_later_record_wins_not_the_later_end() -> None:
    world = OffsetsWorld()
    world.write(world.manager.commit_transactional_offset(txn_commit_request(9, offset=7), 5, NOW_MS), 9)
    world.write(world.manager.commit_offset(commit_request(offset=3), LATEST, NOW_MS))
    world.end_transaction(9, committed=True)
    assert world.committed()["g", "t", 0].committed_offset == 3


def test_two_transactions_may_commit_for_one_partition() -> None:
    world = OffsetsWorld()
    for producer_id, offset in ((9, 7), (8, 4)):
        request = txn_commit_request(producer_id, offset=offset)
        world.write(world.manager.commit_transactional_offset(request, 5, NOW_MS), producer_id)
    world.end_transaction(8, committed=True)
    assert world.committed()["g", "t", 0].committed_offset == 4
    assert world.manager.pending.has("g", "t", 0)
    world.end_transaction(9, committed=True)
    assert world.committed()["g", "t", 0].committed_offset == 4
    assert not world.manager.pending.has("g", "t", 0)


def test_a_marker_without_offsets_means_nothing() -> None:
    world = OffsetsWorld()
    world.end_transaction(9, committed=True)
    assert not world.committed()


class _Validated(ClassicGroup):
    """A group that checks each partition, as a consumer group does for a member at an older epoch."""

    def __init__(self, checked: list[tuple[str, Uuid, int]], refusal: ErrorCode | None = None) -> None:
        super().__init__("g")
        self.checked = checked
        self.refusal = refusal

    def validate_offset_commit(self, *_args: object, **_keywords: object) -> CommitPartitionValidator:  # type: ignore[override]
        def validate(topic: str, topic_id: Uuid, partition: int) -> None:
            self.checked.append((topic, topic_id, partition))
            if self.refusal is not None:
                raise ApiError(self.refusal)

        return validate


@pytest.mark.uncompiled
def test_every_partition_is_checked_where_the_group_asks_for_it() -> None:
    world = OffsetsWorld()
    checked: list[tuple[str, Uuid, int]] = []
    world.groups.add(_Validated(checked))
    world.manager.commit_offset(commit_request(partition=4), LATEST, NOW_MS)
    topic = TopicImage("t", TOPIC_IDS["t"], {})
    world.manager.on_metadata(MetadataImage(topics=TopicsImage({topic.id: topic}, {topic.name: topic})))
    result = world.manager.commit_transactional_offset(txn_commit_request(9, partition=6), 5, NOW_MS)
    assert checked == [("t", TOPIC_IDS["t"], 4), ("t", TOPIC_IDS["t"], 6)]
    value = result.records[0].value
    assert isinstance(value, OffsetCommitValue)
    assert value.topic_id == ZERO_UUID


@pytest.mark.uncompiled
def test_transactions_know_no_stale_epochs() -> None:
    world = OffsetsWorld()
    world.groups.add(_Validated([], ErrorCode.STALE_MEMBER_EPOCH))
    with pytest.raises(ApiError) as refused:
        world.manager.commit_offset(commit_request(), LATEST, NOW_MS)
    assert refused.value.code == ErrorCode.STALE_MEMBER_EPOCH
    topic = TopicImage("t", TOPIC_IDS["t"], {})
    for image in (MetadataImage(), MetadataImage(topics=TopicsImage({topic.id: topic}, {topic.name: topic}))):
        world.manager.on_metadata(image)
        with pytest.raises(ApiError) as refused:
            world.manager.commit_transactional_offset(txn_commit_request(9), 5, NOW_MS)
        assert refused.value.code == ErrorCode.ILLEGAL_GENERATION


def test_records_of_old_brokers_are_replayed() -> None:
    world = OffsetsWorld()
    key = LegacyOffsetCommitKey(group="g", topic="t", partition=2)
    value = LegacyOffsetCommitValue(offset=9, metadata="m", commit_timestamp=4)
    world.manager.replay_legacy_offset_commit(17, -1, key, value)
    assert world.committed() == {("g", "t", 2): OffsetAndMetadata(9, -1, "m", 4, record_offset=17)}
    world.manager.replay_offset_commit(18, -1, OffsetCommitKey(group="g", topic="t", partition=2), None)
    assert not world.committed()
    world.manager.replay_legacy_offset_commit(19, -1, key, None)
