"""A commit of one offset, which is what consumers of one partition send: read and answered without message objects.

Only for what is plain (flexible versions, short strings, no tagged fields); everything else is left to the codec. The
bytes are the same, which a test checks.
"""

import struct
from typing import Final

from ottla.common.uuid import ZERO_UUID, Uuid

FLEXIBLE_FROM: Final = 8
BY_TOPIC_ID_FROM: Final = 10

_GENERATION: Final = struct.Struct(">i")
_PARTITION: Final = struct.Struct(">biqi")
"""The length of the partitions, and of the one: its index, offset and leader epoch."""
_ANSWER_HEAD: Final = struct.Struct(">iibib").pack
_ANSWER_PARTITION: Final = struct.Struct(">bihbbb").pack
_ONE: Final = 2
"""The compact length of an array of one."""
_NO_TAGS: Final = b"\0\0\0"
"""Of the partition, the topic and the request."""
_LONGEST: Final = 127
"""The compact length that still takes one byte."""
_SIZE_MAX: Final = 5 * _LONGEST + 64
"""More than five such strings and the numbers between them take."""


class SingleOffsetCommit:
    """The request. ``topic`` is empty from version 10 on, where ``topic_id`` says which it is; before, that is zero.

    ``topic_field`` is the topic as it stands in the request and will in the response.
    """

    __slots__ = (
        "generation_id_or_member_epoch",
        "group_id",
        "group_instance_id",
        "leader_epoch",
        "member_id",
        "metadata",
        "offset",
        "partition",
        "topic",
        "topic_field",
        "topic_id",
    )

    def __init__(
        self, group_id: str, generation_id_or_member_epoch: int, member_id: str, group_instance_id: str | None
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topic = ""
        self.topic_id = ZERO_UUID
        self.topic_field = b""
        self.partition = -1
        self.offset = -1
        self.leader_epoch = -1
        self.metadata = ""


def read_single_offset_commit(body: memoryview, version: int) -> SingleOffsetCommit | None:
    """The request, or None if it is not of this kind, or damaged: then the codec says what is wrong with it."""
    if version < FLEXIBLE_FROM or len(body) > _SIZE_MAX:
        return None
    try:
        return _read(bytes(body), version)
    except (IndexError, ValueError, struct.error):
        return None


def _read(body: bytes, version: int) -> SingleOffsetCommit | None:
    end = body[0]
    if not 1 <= end <= _LONGEST:
        return None
    group_id = body[1:end].decode()
    generation_id: int = _GENERATION.unpack_from(body, end)[0]
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
    if body[start] != _ONE:
        return None
    start += 1
    commit = SingleOffsetCommit(group_id, generation_id, member_id, group_instance_id)
    if version >= BY_TOPIC_ID_FROM:
        end = start + 16
        commit.topic_field = body[start:end]
        commit.topic_id = Uuid(commit.topic_field)
    else:
        length = body[start]
        end = start + length
        if not 1 <= length <= _LONGEST:
            return None
        commit.topic_field = body[start:end]
        commit.topic = body[start + 1 : end].decode()
    partitions, commit.partition, commit.offset, commit.leader_epoch = _PARTITION.unpack_from(body, end)
    start = end + _PARTITION.size
    length = body[start]
    if partitions != _ONE or length > _LONGEST:
        return None
    if length:
        end = start + length
        commit.metadata = body[start + 1 : end].decode()
    else:
        end = start + 1
    return commit if body[end:] == _NO_TAGS else None


def write_single_offset_commit_response(
    correlation_id: int, topic_field: bytes, partition: int, error_code: int
) -> bytes:
    """The whole frame of the answer, in any flexible version."""
    head = _ANSWER_HEAD(len(topic_field) + 20, correlation_id, 0, 0, _ONE)
    return head + topic_field + _ANSWER_PARTITION(_ONE, partition, error_code, 0, 0, 0)
