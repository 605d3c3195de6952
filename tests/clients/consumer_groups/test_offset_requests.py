"""What is asked for offsets, by name and by id, and what answers mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.offset_requests import (
    HIGHEST_VERSION_BY_NAME,
    Verdict,
    commit_request,
    fetch_request,
    judge_commit,
    read_committed,
)
from ottla.clients.errors import TopicAuthorizationError
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.codec import decode, encode
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

MEMBER = ConsumerGroupMetadata("g", 7, "me", "static")
A_ID = Uuid(b"a" * 16)
METADATA = ClusterMetadata("c", 1, {}, {"a": TopicMetadata("a", A_ID, False, {0: PartitionMetadata(0)})})
PARTITIONS = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 9))
OFFSETS = st.builds(OffsetAndMetadata, st.integers(0, 2**62), st.integers(-1, 99), st.text(max_size=9))


@given(offsets=st.dictionaries(PARTITIONS, OFFSETS, min_size=1))
def test_commits_are_sent_by_id_when_all_ids_are_known(offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
    request, max_version = commit_request(MEMBER, offsets, METADATA)
    assert max_version == (HIGHEST_VERSION_BY_NAME if any(one.topic == "b" for one in offsets) else None)
    version = 10 if max_version is None else max_version
    sent = decode(OffsetCommitRequest, encode(request, version), version)
    assert (sent.group_id, sent.generation_id_or_member_epoch, sent.member_id) == ("g", 7, "me")
    assert sent.group_instance_id == "static"
    found = {
        TopicPartition(topic.name or {A_ID: "a"}[topic.topic_id], partition.partition_index): OffsetAndMetadata(
            partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or ""
        )
        for topic in sent.topics
        for partition in topic.partitions
    }
    assert found == offsets


@pytest.mark.parametrize("version", [1, 7, 8, 9])
def test_offsets_are_asked_for_in_every_version(version: int) -> None:
    partitions = [TopicPartition("a", 0), TopicPartition("b", 1)]
    request, max_version = fetch_request(MEMBER, partitions, METADATA, with_epoch=True)
    assert max_version == HIGHEST_VERSION_BY_NAME
    sent = decode(OffsetFetchRequest, encode(request, version), version)
    if version < 8:
        assert sent.topics is not None
        asked = [(topic.name, list(topic.partition_indexes)) for topic in sent.topics]
    else:
        (group,) = sent.groups
        assert group.topics is not None
        asked = [(topic.name, list(topic.partition_indexes)) for topic in group.topics]
        assert (group.member_id, group.member_epoch) == (("me", 7) if version >= 9 else (None, -1))
    assert asked == [("a", [0]), ("b", [1])]
    assert sent.require_stable == (version >= 7)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (ErrorCode.NONE, Verdict.DONE),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Verdict.RETRY),
        (ErrorCode.UNKNOWN_TOPIC_ID, Verdict.RETRY),
        (ErrorCode.NOT_COORDINATOR, Verdict.FIND_COORDINATOR),
        (ErrorCode.REQUEST_TIMED_OUT, Verdict.FIND_COORDINATOR),
        (ErrorCode.ILLEGAL_GENERATION, Verdict.REFUSED),
        (ErrorCode.STALE_MEMBER_EPOCH, Verdict.REFUSED),
        (ErrorCode.FENCED_INSTANCE_ID, Verdict.REFUSED),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Verdict.FAILED),
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, Verdict.FAILED),
    ],
)
def test_what_the_answer_to_a_commit_means(code: ErrorCode, verdict: Verdict) -> None:
    outcome = judge_commit(commit_response({0: ErrorCode.NONE, 1: code}), METADATA)
    assert outcome.verdict is verdict
    if code != ErrorCode.NONE:
        assert outcome.error is not None
        assert outcome.error.code == code
        assert "a-1 was not committed" in str(outcome.error)


def test_topics_without_permission_are_told_together() -> None:
    outcome = judge_commit(commit_response({0: ErrorCode.TOPIC_AUTHORIZATION_FAILED, 1: ErrorCode.NONE}), METADATA)
    assert isinstance(outcome.error, TopicAuthorizationError)
    assert str(outcome.error) == "not authorized to commit offsets of a"


def commit_response(codes: dict[int, ErrorCode]) -> OffsetCommitResponse:
    """An answer by topic id."""
    partitions = [OffsetCommitResponsePartition(partition_index=i, error_code=code) for i, code in codes.items()]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic_id=A_ID, partitions=partitions)])


def test_offsets_are_read_from_answers_by_id_and_of_old_brokers() -> None:
    expected = {TopicPartition("a", 0): OffsetAndMetadata(5, 2, "x"), TopicPartition("a", 1): None}
    new = [
        OffsetFetchResponsePartitions(partition_index=0, committed_offset=5, committed_leader_epoch=2, metadata="x"),
        OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
    ]
    topics = [OffsetFetchResponseTopics(topic_id=A_ID, partitions=new)]
    outcome, found = read_committed(OffsetFetchResponse(groups=[OffsetFetchResponseGroup(topics=topics)]), METADATA)
    assert (outcome.verdict, found) == (Verdict.DONE, expected)
    old = [
        OffsetFetchResponsePartition(partition_index=0, committed_offset=5, committed_leader_epoch=2, metadata="x"),
        OffsetFetchResponsePartition(partition_index=1, committed_offset=-1),
    ]
    old_topics = [OffsetFetchResponseTopic(name="a", partitions=old)]
    outcome, found = read_committed(OffsetFetchResponse(topics=old_topics), METADATA)
    assert (outcome.verdict, found) == (Verdict.DONE, expected)


def test_offsets_of_undecided_transactions_are_worth_another_try() -> None:
    undecided = OffsetFetchResponsePartitions(partition_index=0, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    topics = [OffsetFetchResponseTopics(topic_id=A_ID, partitions=[undecided])]
    outcome, found = read_committed(OffsetFetchResponse(groups=[OffsetFetchResponseGroup(topics=topics)]), METADATA)
    assert (outcome.verdict, found) == (Verdict.RETRY, {})
