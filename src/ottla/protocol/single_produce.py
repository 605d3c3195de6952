"""A produce of one batch to one partition, which is what producers send most: read and answered without objects.

Only for what is plain (flexible versions, no transactional id, no tagged fields); everything else is left to the codec.
The bytes are the same, which a test checks.
"""

import struct
from typing import Final, NamedTuple

from ottla.common.uuid import Uuid
from ottla.protocol.varint import read_uvarint

FLEXIBLE_FROM: Final = 9
BY_TOPIC_ID_FROM: Final = 13

_HEAD: Final = struct.Struct(">bhib")
_PARTITION: Final = struct.Struct(">bi")
_ANSWER_HEAD: Final = struct.Struct(">iibb")
_ANSWER_PARTITION: Final = struct.Struct(">bihqqqbbbbib")
_ONE: Final = 2
"""The compact length of an array of one."""
_NO_TAGS: Final = b"\0\0\0"
"""Of the partition, the topic and the request."""


class SingleProduce(NamedTuple):
    """What such a request says; the topic by its name, or by its id from version 13 on."""

    acks: int
    timeout_ms: int
    name: str | None
    topic_id: Uuid | None
    topic_field: bytes
    """The topic as it stands in the request, and will in the response."""
    partition: int
    records: memoryview


def read_single_produce(body: memoryview, version: int) -> SingleProduce | None:
    """The request, or None if it is not of this kind, or damaged: then the codec says what is wrong with it."""
    if version < FLEXIBLE_FROM or len(body) < 32:
        return None
    transactional_id, acks, timeout_ms, topics = _HEAD.unpack_from(body)
    if transactional_id != 0 or topics != _ONE:
        return None
    name, topic_id = None, None
    if version >= BY_TOPIC_ID_FROM:
        position = 24
        topic_id = Uuid(bytes(body[8:24]))
    else:
        length = body[8]
        position = 8 + length
        if length > 127 or length < 2 or position + 9 > len(body):
            return None
        try:
            name = str(body[9:position], "utf-8")
        except UnicodeDecodeError:
            return None
    topic_field = bytes(body[8:position])
    partitions, index = _PARTITION.unpack_from(body, position)
    position += 5
    length = body[position]
    if length < 128:
        position += 1
    else:
        try:
            length, position = read_uvarint(body, position)
        except IndexError:
            return None
    end = position + length - 1
    if partitions != _ONE or length < 2 or end + 3 != len(body) or bytes(body[end:]) != _NO_TAGS:
        return None
    return SingleProduce(acks, timeout_ms, name, topic_id, topic_field, index, body[position:end])


def write_single_produce_response(
    correlation_id: int,
    topic_field: bytes,
    *,
    index: int,
    error_code: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
    throttle_time_ms: int,
) -> bytes:
    """The whole frame of the answer, in any flexible version; for answers without messages and leaders."""
    head = _ANSWER_HEAD.pack(len(topic_field) + 46, correlation_id, 0, _ONE)
    tail = _ANSWER_PARTITION.pack(
        *(_ONE, index, error_code, base_offset, log_append_time_ms, log_start_offset),
        *(1, 0, 0, 0, throttle_time_ms, 0),
    )
    return head + topic_field + tail
