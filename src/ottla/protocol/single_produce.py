"""A produce of one batch to one partition, which is what producers send most: read and answered without objects.

Only for what is plain (flexible versions, no tagged fields); everything else is left to the codec. The bytes are the
same, which a test checks.
"""

import struct
from typing import Final

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
_NO_TAGS: Final = memoryview(b"\0\0\0")
"""Of the partition, the topic and the request."""


SingleProduce = tuple[int, int, str | None, Uuid | None, bytes, int, memoryview, str | None]
"""Acks, timeout in ms, the topic by name (None from version 13 on) or id, the topic as it stands in the request and
will in the response, the partition, its records, and the transactional id, if there is one.
"""


def read_single_produce(body: memoryview, version: int) -> SingleProduce | None:
    """The request, or None if it is not of this kind, or damaged: then the codec says what is wrong with it."""
    size = len(body)
    if version < FLEXIBLE_FROM or size < 32:
        return None
    transactional_id = None
    length = body[0]
    if length:
        if length > 127 or length < 2 or length + 31 > size:
            return None
        try:
            transactional_id = str(body[1:length], "utf-8")
        except UnicodeDecodeError:
            return None
        body = body[length - 1 :]  # what follows is as it is without one
        size = len(body)
    _, acks, timeout_ms, topics = _HEAD.unpack_from(body)
    if topics != _ONE:
        return None
    name, topic_id = None, None
    if version >= BY_TOPIC_ID_FROM:
        position = 24
        topic_id = Uuid(bytes(body[8:24]))
    else:
        length = body[8]
        position = 8 + length
        if length > 127 or length < 2 or position + 9 > size:
            return None
        try:
            name = str(body[9:position], "utf-8")
        except UnicodeDecodeError:
            return None
    topic_field = bytes(body[8:position])
    partitions, index = _PARTITION.unpack_from(body, position)
    length = body[position + 5]
    if length < 128:
        position += 6
    elif position + 7 < size and (high := body[position + 6]) < 128:  # the two bytes of most batches
        length += (high - 1) << 7
        position += 7
    else:
        try:
            length, position = read_uvarint(body, position + 5)
        except IndexError:
            return None
    end = position + length - 1
    if partitions != _ONE or length < 2 or end + 3 != size or body[end:] != _NO_TAGS:
        return None
    return acks, timeout_ms, name, topic_id, topic_field, index, body[position:end], transactional_id


def write_single_produce_response(
    correlation_id: int, topic_field: bytes, partition: int, offsets: tuple[int, int, int], throttle_time_ms: int
) -> bytes:
    """The whole frame of an answer without an error, in any flexible version.

    ``offsets`` are the base offset, the time of the append and the start of the log.
    """
    head = _ANSWER_HEAD.pack(len(topic_field) + 46, correlation_id, 0, _ONE)
    return head + topic_field + _ANSWER_PARTITION.pack(_ONE, partition, 0, *offsets, 1, 0, 0, 0, throttle_time_ms, 0)
