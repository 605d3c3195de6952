"""The short way for a commit of offsets says byte for byte what the codec says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.headers import response_frame
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.plain_offset_commit import (
    PlainOffsetCommit,
    read_plain_offset_commit,
    write_plain_offset_commit_response,
)

VERSIONS = range(8, 11)
TOPIC_ID = Uuid(bytes(range(16)))
SHORT = st.text(st.characters(codec="ascii"), max_size=126)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
PARTITIONS = st.builds(
    OffsetCommitRequestPartition,
    partition_index=INT32,
    committed_offset=INT64,
    committed_leader_epoch=INT32,
    committed_metadata=st.none() | SHORT,
)
TOPICS = st.builds(
    OffsetCommitRequestTopic,
    name=SHORT,
    topic_id=st.binary(min_size=16, max_size=16).map(Uuid),
    partitions=st.lists(PARTITIONS, min_size=1, max_size=4),
)
COMMITS = st.builds(
    OffsetCommitRequest,
    group_id=SHORT,
    generation_id_or_member_epoch=INT32,
    member_id=SHORT,
    group_instance_id=st.none() | SHORT,
    topics=st.lists(TOPICS, min_size=1, max_size=3),
)


def request(**changes: object) -> OffsetCommitRequest:
    """The fields of a plain commit, its topic's and its partition's among them, but for ``changes``."""
    partition = OffsetCommitRequestPartition(
        partition_index=7, committed_offset=11, committed_leader_epoch=3, committed_metadata="m"
    )
    topic = OffsetCommitRequestTopic(name="orders", topic_id=TOPIC_ID, partitions=[partition])
    body = OffsetCommitRequest(
        group_id="g", generation_id_or_member_epoch=5, member_id="member", group_instance_id=None, topics=[topic]
    )
    for name, value in changes.items():
        holder = next(each for each in (partition, topic, body) if hasattr(each, name))
        setattr(holder, name, value)
    return body


def wide(partitions: int, topics: int = 1) -> OffsetCommitRequest:
    """A commit of as many partitions of as many topics."""
    return OffsetCommitRequest(
        topics=[
            OffsetCommitRequestTopic(
                partitions=[OffsetCommitRequestPartition(partition_index=each) for each in range(partitions)]
            )
            for _ in range(topics)
        ]
    )


def read(body: OffsetCommitRequest, version: int) -> PlainOffsetCommit | None:
    return read_plain_offset_commit(memoryview(encode(body, version)), version)


def as_message(commit: PlainOffsetCommit) -> OffsetCommitRequest:
    """The same as a message."""
    return OffsetCommitRequest(
        group_id=commit.group_id,
        generation_id_or_member_epoch=commit.generation_id_or_member_epoch,
        member_id=commit.member_id,
        group_instance_id=commit.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        committed_metadata=partition.committed_metadata,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in commit.topics
        ],
    )


@given(version=st.sampled_from(VERSIONS), body=COMMITS)
def test_reading_gives_what_the_codec_gives(version: int, body: OffsetCommitRequest) -> None:
    commit = read(body, version)
    assert commit is not None
    expected = decode(OffsetCommitRequest, encode(body, version), version)
    for topic in expected.topics:
        for partition in topic.partitions:
            partition.committed_metadata = partition.committed_metadata or ""  # nobody tells them apart
    assert as_message(commit) == expected
    assert commit.num_partitions == sum(len(topic.partitions) for topic in body.topics)


@given(version=st.sampled_from(VERSIONS), body=COMMITS, correlation_id=INT32, data=st.data())
def test_the_answer_is_the_codecs(
    version: int, body: OffsetCommitRequest, correlation_id: int, data: st.DataObject
) -> None:
    commit = read(body, version)
    assert commit is not None
    codes = data.draw(st.lists(st.integers(-1, 130), min_size=commit.num_partitions, max_size=commit.num_partitions))
    assert write_plain_offset_commit_response(correlation_id, commit.topics, codes) == answer_of_codec(
        body, version, correlation_id, codes
    )


def answer_of_codec(body: OffsetCommitRequest, version: int, correlation_id: int, codes: list[int]) -> bytes:
    code = iter(codes)
    response = OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=next(code))
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )
    frame = response_frame(ApiKey.OFFSET_COMMIT, version, correlation_id, response)
    return b"".join(bytes(part) for part in frame)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("body", [wide(126), wide(1, topics=126), wide(3, topics=5)])
def test_many_partitions_are_plain_too(version: int, body: OffsetCommitRequest) -> None:
    commit = read(body, version)
    assert commit is not None
    codes = [number % 100 for number in range(commit.num_partitions)]
    assert write_plain_offset_commit_response(3, commit.topics, codes) == answer_of_codec(body, version, 3, codes)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_plain_is_left_to_the_codec(version: int) -> None:
    for body in (
        request(group_id="g" * 127),
        request(member_id="m" * 127),
        request(group_instance_id="i" * 127),
        request(committed_metadata="x" * 127),
        request(committed_metadata="x" * 100_000),
        request(topics=[]),
        request(partitions=[]),
        wide(127),
        wide(1, topics=127),
    ):
        assert read(body, version) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("body", [request(), request(group_instance_id="instance"), wide(2), wide(1, topics=2)])
def test_damage_is_left_to_the_codec(version: int, body: OffsetCommitRequest) -> None:
    whole = encode(body, version)
    assert read_plain_offset_commit(memoryview(whole), version) is not None
    for end in range(len(whole)):
        assert read_plain_offset_commit(memoryview(whole[:end]), version) is None
    for tagged in (whole[:-1] + b"\x01\x63\x00", whole + b"\0", b"\0" + whole[1:], b"\x02\xff" + whole[2:]):
        assert read_plain_offset_commit(memoryview(tagged), version) is None
    for position in (-2, -3):  # the tags of the topic, and of its last partition
        behind = whole[len(whole) + position + 1 :]
        for tags in (b"\x01\x63\x00", b"\x01"):
            assert read_plain_offset_commit(memoryview(whole[:position] + tags + behind), version) is None
    assert read_plain_offset_commit(memoryview(whole), 7) is None
