"""Where the records of a batch lie: a walk over their frames that decodes no key, value or header.

Compaction needs each record's key, whether it has a value, and its bytes, for millions of records; it builds no
:class:`~ottla.records.record.Record`. This is the plain walk; :mod:`ottla.records.walk_numba` is the same, compiled.
Both check that every length stays within its record; a negative length is a null, as for Apache's reader. Neither looks
into the headers, which are copied as they stand.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ottla.common.errors import InvalidRecordError
from ottla.records.batch import Buffer
from ottla.records.record_scan import wrap_timestamp
from ottla.records.varint import encode_varint, read_varint, read_varlong, size_of_varint


class RecordSpan(NamedTuple):
    """One record's place in its payload; the columns of the compiled walk are these fields in this order."""

    start: int
    """Where the record begins, with its length."""
    end: int
    timestamp_delta: int
    offset_delta: int
    body: int
    """Where the bytes begin that no rewrite changes: key, value and headers with their lengths."""
    key: int
    key_length: int
    """Negative for a null key."""
    value_length: int
    """Negative for a tombstone."""


def walk_records(payload: Buffer, start: int, end: int, count: int) -> list[RecordSpan]:
    """The first ``count`` records in ``payload[start:end]``, uncompressed; InvalidRecordError if they are not there."""
    spans = []
    position = start
    try:
        for _ in range(count):
            span = _walk_record(payload, position, end)
            spans.append(span)
            position = span.end
    except IndexError:
        raise InvalidRecordError(f"Found invalid record structure at position {position - start}") from None
    return spans


def _walk_record(payload: Buffer, start: int, limit: int) -> RecordSpan:
    size, position = read_varint(payload, start)
    end = position + size
    if size < 0 or end > limit:
        raise InvalidRecordError(f"Invalid record size: {size} bytes declared, {limit - position} left in the batch")
    timestamp_delta, position = read_varlong(payload, position + 1)
    offset_delta, body = read_varint(payload, position)
    key_length, key = read_varint(payload, body)
    value_length, value = read_varint(payload, key + max(key_length, 0))
    if value + max(value_length, 0) >= end:
        raise InvalidRecordError(f"Found invalid record structure: key of {key_length}, value of {value_length} bytes")
    return RecordSpan(start, end, timestamp_delta, offset_delta, body, key, key_length, value_length)


def copy_records(
    payload: Buffer, spans: Iterable[RecordSpan], timestamp_factor: int, timestamp_shift: int
) -> bytearray:
    """Write records again, each with ``timestamp_delta * timestamp_factor + timestamp_shift`` as its delta.

    Factor 1 moves the base timestamp by ``-timestamp_shift``; factor 0 gives all records one delta, as under
    LogAppendTime.
    """
    copied = bytearray()
    view = memoryview(payload)
    for span in spans:
        timestamp_delta = wrap_timestamp(span.timestamp_delta * timestamp_factor + timestamp_shift)
        offset_delta = span.offset_delta
        rest = span.end - span.body
        copied += encode_varint(1 + size_of_varint(timestamp_delta) + size_of_varint(offset_delta) + rest)
        copied.append(0)  # the record's attributes: none are defined
        copied += encode_varint(timestamp_delta)
        copied += encode_varint(offset_delta)
        copied += view[span.body : span.end]
    return copied
