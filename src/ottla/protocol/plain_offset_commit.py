"""A commit of offsets as consumers send it: read and answered without message objects.

Only for what is plain (flexible versions, short strings, short arrays, no tagged fields); everything else is left to
the codec. The bytes are the same, which a test checks.
"""

import struct
from collections.abc import Sequence
from typing import Final

from ottla.common.uuid import ZERO_UUID, Uuid

FLEXIBLE_FROM: Final = 8
BY_TOPIC_ID_FROM: Final = 10

_generation: Final = struct.Struct(">i").unpack_from
_partition: Final = struct.Struct(">iqi").unpack_from
"""Its index, offset and leader epoch."""
_PARTITION_BYTES: Final = 16
_answer_head: Final = struct.Struct(">iibib").pack
"""The size, the correlation id, no tags, no throttling, the length of the topics."""
_ANSWER_HEAD_BYTES: Final = 14
_answer_only_partition: Final = struct.Struct(">bihbb").pack
"""The length of the partitions and the one that there is, without tags, nor tags of the topic."""
_answer_partition: Final = struct.Struct(">ihb").pack
_SIZE_BYTES: Final = 4
_LENGTHS: Final = [bytes((length,)) for length in range(128)]
_NO_TAGS: Final = b"\0"
_LONGEST: Final = 127
"""The compact length that still takes one byte."""
_SIZE_MAX: Final = 1 << 16


class PlainPartition:
    """An offset to be committed; named as in the message."""

    __slots__ = ("committed_leader_epoch", "committed_metadata", "committed_offset", "partition_index")

    def __init__(
        self, partition_index: int, committed_offset: int, committed_leader_epoch: int, committed_metadata: str
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class PlainTopic:
    """The offsets of a topic. ``name`` is empty from version 10 on, where ``topic_id`` says which it is; before, that
    is zero. ``field`` is the topic as it stands in the request and will in the response.
    """

    __slots__ = ("field", "name", "partitions", "topic_id")

    def __init__(self, field: bytes, name: str, topic_id: Uuid) -> None:
        self.field = field
        self.name = name
        self.topic_id = topic_id
        self.partitions: list[PlainPartition] = []


class PlainOffsetCommit:
    """The request."""

    __slots__ = ("generation_id_or_member_epoch", "group_id", "group_instance_id", "member_id", "topics")

    def __init__(
        self, group_id: str, generation_id_or_member_epoch: int, member_id: str, group_instance_id: str | None
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics: list[PlainTopic] = []

    @property
    def num_partitions(self) -> int:
        """How many offsets there are in all."""
        return sum([len(topic.partitions) for topic in self.topics])


def read_plain_offset_commit(body: memoryview, version: int) -> PlainOffsetCommit | None:
    """The request, or None if it is not of this kind, or damaged: then the codec says what is wrong with it."""
    if version < FLEXIBLE_FROM or len(body) > _SIZE_MAX:
        return None
    try:
        return _read(bytes(body), version)
    except (IndexError, ValueError, struct.error):
        return None


def _read(body: bytes, version: int) -> PlainOffsetCommit | None:
    end = body[0]
    if not 1 <= end <= _LONGEST:
        return None
    group_id = body[1:end].decode()
    generation_id: int = _generation(body, end)[0]
    start = end + 4
    length = body[start]
    end = start + length
    if not 1 <= length <= _LONGEST:
        return None
    member_id = body[start + 1 : end].decode()
    group_instance_id = None
    start = end
    length = body[start]
    if length > _LONGEST:
        return None
    if length:
        end = start + length
        group_instance_id = body[start + 1 : end].decode()
        start = end
    else:
        start += 1
    commit = PlainOffsetCommit(group_id, generation_id, member_id, group_instance_id)
    topics = body[start]
    if not 1 < topics <= _LONGEST:
        return None
    start += 1
    while topics > 1:
        topics -= 1
        start = _read_topic(body, start, version, commit)
        if start < 0:
            return None
    return commit if body[start:] == _NO_TAGS else None


def _read_topic(body: bytes, start: int, version: int, commit: PlainOffsetCommit) -> int:
    """Add a topic; returns the position after it, or -1 if it is not plain."""
    if version >= BY_TOPIC_ID_FROM:
        end = start + 16
        field = body[start:end]
        topic = PlainTopic(field, "", Uuid(field))
    else:
        length = body[start]
        end = start + length
        if not 1 <= length <= _LONGEST:
            return -1
        topic = PlainTopic(body[start:end], body[start + 1 : end].decode(), ZERO_UUID)
    commit.topics.append(topic)
    partitions = body[end]
    if not 1 < partitions <= _LONGEST:
        return -1
    start = end + 1
    while partitions > 1:
        partitions -= 1
        index, offset, leader_epoch = _partition(body, start)
        start += _PARTITION_BYTES
        length = body[start]
        metadata = ""
        if length > 1:
            if length > _LONGEST:
                return -1
            end = start + length
            metadata = body[start + 1 : end].decode()
            start = end
        else:
            start += 1
        topic.partitions.append(PlainPartition(index, offset, leader_epoch, metadata))
        if body[start]:  # tags of the partition
            return -1
        start += 1
    return -1 if body[start] else start + 1


def write_plain_offset_commit_response(correlation_id: int, topics: list[PlainTopic], codes: Sequence[int]) -> bytes:
    """The whole frame of the answer, in any flexible version; the codes are in the order of the partitions."""
    parts = []
    position = 0
    for topic in topics:
        parts.append(topic.field)
        partitions = topic.partitions
        count = len(partitions)
        if count == 1:
            parts.append(_answer_only_partition(2, partitions[0].partition_index, codes[position], 0, 0))
            position += 1
            continue
        parts.append(_LENGTHS[count + 1])
        for partition in partitions:
            parts.append(_answer_partition(partition.partition_index, codes[position], 0))
            position += 1
        parts.append(_NO_TAGS)
    parts.append(_NO_TAGS)
    answer = b"".join(parts)
    size = _ANSWER_HEAD_BYTES + len(answer) - _SIZE_BYTES
    return _answer_head(size, correlation_id, 0, 0, len(topics) + 1) + answer
