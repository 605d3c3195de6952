"""The short cut of a commit answers and writes what the handler does, or leaves the request alone."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.headers import RequestHeader, response_frame
from ottla.protocol.message import Message
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.server.handlers import offset_commit
from tests.group.service_requests import GROUP, join_request
from tests.group.service_world import TOPIC, TOPIC_ID, ServiceWorld, context

CORRELATION_ID = 77
KNOWN_PARTITIONS = 2
METADATA_MAX = 3
VERSIONS = st.sampled_from([8, 9, 10])
PARTITIONS = st.builds(
    OffsetCommitRequestPartition,
    partition_index=st.sampled_from([0, 1, 0, 1, KNOWN_PARTITIONS]),
    committed_offset=st.integers(0, 9),
    committed_metadata=st.sampled_from(["", None, "m", "m" * (METADATA_MAX + 1)]),
)
TOPICS = st.builds(
    OffsetCommitRequestTopic,
    name=st.sampled_from([TOPIC, TOPIC, TOPIC, "unknown"]),
    partitions=st.lists(PARTITIONS, min_size=1, max_size=4),
)
COMMITS = st.builds(
    OffsetCommitRequest,
    group_id=st.just(GROUP),
    generation_id_or_member_epoch=st.sampled_from([-1, 1]),
    member_id=st.sampled_from(["", "stranger"]),
    topics=st.lists(TOPICS, min_size=1, max_size=3),
)


class Broker:
    """A coordinator in memory, and what handlers need to reach it."""

    def __init__(self, *, autocommit: bool = True, has_member: bool = False) -> None:
        self.world = ServiceWorld(partitions=1, autocommit=True, offset_metadata_max_bytes=METADATA_MAX)
        if has_member:
            self.world.coordinator.join_group(context(0), join_request())
        self.log = self.world.partitions.all[0]
        self.log.autocommit = autocommit
        self.counted: list[int] = []
        self.sent: list[bytes] = []
        self.services: Any = SimpleNamespace(
            authorizer=SimpleNamespace(authorize=lambda *_: True),
            group_coordinator=self.world.coordinator,
            metadata=SimpleNamespace(image=SimpleNamespace(topics=self.world.image.topics)),
            errors=SimpleNamespace(count=lambda _key, codes: self.counted.extend(codes)),
        )

    def handle(self, version: int, body: OffsetCommitRequest) -> Message:
        """As if there were no short cut."""
        answer = offset_commit.handle(self.services, context(version), body)
        return answer if isinstance(answer, Message) else answer.result()  # type: ignore[attr-defined]

    def short_cut(self, version: int, body: OffsetCommitRequest) -> bool:
        request: Any = SimpleNamespace(
            header=RequestHeader(ApiKey.OFFSET_COMMIT, version, CORRELATION_ID, "client"),
            body=memoryview(encode(body, version)),
            send=lambda parts: self.sent.append(b"".join(parts)),
            release_buffer=lambda: None,
        )
        return offset_commit.commit_plain(self.services, request)


@pytest.mark.uncompiled
@given(version=VERSIONS, body=COMMITS, has_member=st.booleans())
def test_both_ways_are_the_same(version: int, body: OffsetCommitRequest, has_member: bool) -> None:
    for topic in body.topics:
        topic.topic_id = TOPIC_ID if topic.name == TOPIC else Uuid(bytes(16))
    short, long = Broker(has_member=has_member), Broker(has_member=has_member)
    before = short.log.end_offset
    is_plain = all(
        topic.name == TOPIC and partition.partition_index < KNOWN_PARTITIONS
        for topic in body.topics
        for partition in topic.partitions
    )
    assert short.short_cut(version, body) is is_plain
    if not is_plain:
        assert not short.sent
        assert short.log.end_offset == before
        return
    response = long.handle(version, decode(OffsetCommitRequest, encode(body, version), version))
    frame = response_frame(ApiKey.OFFSET_COMMIT, version, CORRELATION_ID, response)
    assert short.sent == [b"".join(bytes(part) for part in frame)]  # type: ignore[arg-type]
    assert short.log.batches == long.log.batches
    codes = [partition.error_code for topic in response.topics for partition in topic.partitions]  # type: ignore[attr-defined]
    assert short.counted == codes
    assert short.log.end_offset - before == codes.count(ErrorCode.NONE)


@pytest.mark.uncompiled
def test_an_answer_waits_for_the_commit() -> None:
    broker = Broker(autocommit=False)
    partitions = [OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 1)]
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)
    assert broker.short_cut(9, OffsetCommitRequest(group_id=GROUP, topics=[topic]))
    assert not broker.sent
    broker.log.commit(2)
    assert len(broker.sent) == 1
    assert broker.counted == [ErrorCode.NONE, ErrorCode.NONE]
