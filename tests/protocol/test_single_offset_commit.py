"""The short way for a commit of one offset says byte for byte what the codec says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.headers import response_frame
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.single_offset_commit import read_single_offset_commit, write_single_offset_commit_response

VERSIONS = range(8, 11)
TOPIC_ID = Uuid(bytes(range(16)))
SHORT = st.text(st.characters(codec="ascii"), max_size=126)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


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


@given(
    version=st.sampled_from(VERSIONS),
    group_id=SHORT,
    generation_id=INT32,
    member_id=SHORT,
    instance_id=st.none() | SHORT,
    topic=SHORT,
    partition=INT32,
    offset=INT64,
    leader_epoch=INT32,
    metadata=st.none() | SHORT,
)
def test_reading_gives_what_was_written(
    version: int,
    group_id: str,
    generation_id: int,
    member_id: str,
    instance_id: str | None,
    topic: str,
    partition: int,
    offset: int,
    leader_epoch: int,
    metadata: str | None,
) -> None:
    body = request(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        group_instance_id=instance_id,
        name=topic,
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        committed_metadata=metadata,
    )
    commit = read_single_offset_commit(memoryview(encode(body, version)), version)
    assert commit is not None
    assert (commit.group_id, commit.generation_id_or_member_epoch) == (group_id, generation_id)
    assert (commit.member_id, commit.group_instance_id) == (member_id, instance_id)
    assert (commit.topic, commit.topic_id) == (("", TOPIC_ID) if version >= 10 else (topic, ZERO_UUID))
    assert (commit.partition, commit.offset, commit.leader_epoch) == (partition, offset, leader_epoch)
    assert commit.metadata == (metadata or "")


@given(version=st.sampled_from(VERSIONS), code=st.integers(-1, 130), correlation_id=INT32)
def test_the_answer_is_the_codecs(version: int, code: int, correlation_id: int) -> None:
    commit = read_single_offset_commit(memoryview(encode(request(), version)), version)
    assert commit is not None
    partition = OffsetCommitResponsePartition(partition_index=7, error_code=code)
    response = OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(name="orders", topic_id=TOPIC_ID, partitions=[partition])]
    )
    frame = response_frame(ApiKey.OFFSET_COMMIT, version, correlation_id, response)
    expected = b"".join(bytes(part) for part in frame)  # type: ignore[arg-type]
    assert expected == write_single_offset_commit_response(correlation_id, commit.topic_field, 7, code)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_plain_is_left_to_the_codec(version: int) -> None:
    plain = request().topics[0]
    for body in (
        request(group_id="g" * 127),
        request(member_id="m" * 127),
        request(group_instance_id="i" * 127),
        request(committed_metadata="x" * 127),
        request(committed_metadata="x" * 100_000),
        request(topics=[]),
        request(topics=[plain, plain]),
        request(partitions=[]),
        request(partitions=[*plain.partitions, *plain.partitions]),
    ):
        assert read_single_offset_commit(memoryview(encode(body, version)), version) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("instance_id", [None, "instance"])
def test_damage_is_left_to_the_codec(version: int, instance_id: str | None) -> None:
    whole = encode(request(group_instance_id=instance_id), version)
    for end in range(len(whole)):
        assert read_single_offset_commit(memoryview(whole[:end]), version) is None
    for tagged in (whole[:-1] + b"\x01\x63\x00", whole + b"\0", b"\0" + whole[1:], b"\x02\xff" + whole[2:]):
        assert read_single_offset_commit(memoryview(tagged), version) is None
    assert read_single_offset_commit(memoryview(whole), 7) is None
