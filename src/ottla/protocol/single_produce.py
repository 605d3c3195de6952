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

_HEAD: Final = struct.Struct(">hib").unpack_from
"""Acks, timeout, and the length of the topics."""
_PARTITION: Final = struct.Struct(">bi").unpack_from
"""The length of the partitions, and the index of the one."""
_ANSWER_HEAD: Final = struct.Struct(">iibb").pack
_ANSWER_PARTITION: Final = struct.Struct(">bihqqqbbbbib").pack
_SIZE_MIN: Final = 32
_LONGEST: Final = 127
"""The compact length that still takes one byte."""
_BEFORE_RECORDS_MAX: Final = 2 * _LONGEST + 32
"""More than two such strings and the numbers between them take."""
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
    if version < FLEXIBLE_FROM or len(body) < _SIZE_MIN:
        return None
    try:
        return _read(body, version)
    except (IndexError, ValueError, struct.error):
        return None


def _read(body: memoryview, version: int) -> SingleProduce | None:
    head = bytes(body[:_BEFORE_RECORDS_MAX])  # a memoryview is slow to look into
    transactional_id = None
    start = 1
    length = head[0]
    if length:
        if not 2 <= length <= _LONGEST:
            return None
        transactional_id = head[1:length].decode()
        start = length
    acks, timeout_ms, topics = _HEAD(head, start)
    start += 7
    name, topic_id = None, None
    if version >= BY_TOPIC_ID_FROM:
        end = start + 16
        topic_field = head[start:end]
        topic_id = Uuid(topic_field)
    else:
        length = head[start]
        end = start + length
        if not 2 <= length <= _LONGEST:
            return None
        topic_field = head[start:end]
        name = topic_field[1:].decode()
    partitions, index = _PARTITION(head, end)
    start = end + 5
    length = head[start]
    if length <= _LONGEST:
        start += 1
    else:
        length, start = read_uvarint(head, start)
    end = start + length - 1
    if topics != _ONE or partitions != _ONE or length < 2 or end + 3 != len(body) or body[end:] != _NO_TAGS:
        return None
    return acks, timeout_ms, name, topic_id, topic_field, index, body[start:end], transactional_id


def write_single_produce_response(  # noqa: PLR0917  by position, for the hot path
    correlation_id: int,
    topic_field: bytes,
    partition: int,
    base_offset: int,
    log_append_time_ms: int,
    log_start_offset: int,
    throttle_time_ms: int,
) -> bytes:
    """The whole frame of an answer without an error, in any flexible version."""
    head = _ANSWER_HEAD(len(topic_field) + 46, correlation_id, 0, _ONE)
    return (
        head
        + topic_field
        + _ANSWER_PARTITION(
            _ONE, partition, 0, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, throttle_time_ms, 0
        )
    )
