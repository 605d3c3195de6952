"""Records inside a batch: what they are, and how they are read and written.

A record on the wire is ``length varint | attributes i8 | timestamp delta varlong | offset delta varint | key | value |
headers``; key and value are length-prefixed with -1 for null, and the deltas count from the batch's base timestamp and
base offset. In a batch with a delete horizon the base timestamp is the horizon, so the deltas count from that.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ottla.common.errors import InvalidRecordError, UnsupportedForMessageFormatError
from ottla.records.batch import MAGIC, NO_SEQUENCE, RecordBatch
from ottla.records.compression import decompress
from ottla.records.varint import VARINTS, encode_varint, read_varint, read_varlong

DECOMPRESSED_BYTES_MAX: Final = 256 * 1024 * 1024
"""How much one batch may decompress to where the caller knows no better limit."""

_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_SEQUENCE_MASK: Final = (1 << 31) - 1
_NO_HEADERS: Final[tuple["Header", ...]] = ()
_NULL: Final = b"\x01"
_ATTRIBUTES: Final = b"\x00"
_SMALL: Final = len(VARINTS)


class Header(NamedTuple):
    """A record's header."""

    key: str
    value: bytes | None


class Record(NamedTuple):
    """A record with its place in the log; ``sequence`` is -1 without an idempotent producer."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    sequence: int = NO_SEQUENCE


class SimpleRecord(NamedTuple):
    """A record that has no offset yet."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def records_payload(batch: RecordBatch, *, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The batch's encoded records, decompressed, as one ``bytes``.

    Raises CorruptRecordError if the batch does not fit its buffer or does not decompress, MessageTooLargeError past
    ``max_bytes``, UnsupportedForMessageFormatError for formats before v2.
    """
    if batch.magic != MAGIC:
        raise UnsupportedForMessageFormatError(f"Record batch has magic {batch.magic}, only {MAGIC} is supported")
    batch.ensure_complete()
    payload = batch.payload
    return decompress(codec, payload, max_bytes) if (codec := batch.compression) else bytes(payload)


def decode_records(
    batch: RecordBatch, *, max_bytes: int = DECOMPRESSED_BYTES_MAX, payload: bytes | None = None
) -> Iterator[Record]:
    """The batch's records, with absolute offsets and timestamps. The CRC is the caller's business.

    ``payload`` is the batch's :func:`records_payload`, where that is at hand.
    Raises, while iterating, what :func:`records_payload` raises, and InvalidRecordError where lengths do not add up.
    """
    count = batch.records_count
    if count == 0:
        return
    if count < 0:
        raise InvalidRecordError(f"Found invalid record count {count} in magic v{batch.magic} batch")
    data = records_payload(batch, max_bytes=max_bytes) if payload is None else payload
    base_offset, base_timestamp, base_sequence = batch.base_offset, batch.base_timestamp, batch.base_sequence
    log_append_time = batch.max_timestamp if batch.is_log_append_time else None
    make = tuple.__new__
    sequence = NO_SEQUENCE
    position, end = 0, len(data)
    try:
        for _ in range(count):
            # Varints of one byte, and the non-negative ones of two, are read in place: calls would double the time.
            size = data[position]
            position += 1
            if size < 0x80:
                size = size >> 1 ^ -(size & 1)
            elif (high := data[position]) < 0x80 and not size & 1:
                position += 1
                size = size >> 1 & 0x3F | high << 6
            else:
                size, position = read_varint(data, position - 1)
            record_end = position + size
            if size < 0 or record_end > end:
                raise InvalidRecordError(
                    f"Invalid record size: expected {size} bytes in record payload, but instead the buffer has only "
                    f"{end - position} remaining bytes."
                )
            delta = data[position + 1]  # after the attributes, which are unused
            position += 2
            if delta < 0x80:
                timestamp = base_timestamp + (delta >> 1 ^ -(delta & 1))
            elif (high := data[position]) < 0x80 and not delta & 1:
                position += 1
                timestamp = base_timestamp + (delta >> 1 & 0x3F | high << 6)
            else:
                delta, position = read_varlong(data, position - 1)
                timestamp = base_timestamp + delta
            if log_append_time is not None:
                timestamp = log_append_time
            elif not _INT64_MIN <= timestamp <= _INT64_MAX:
                timestamp = (timestamp - _INT64_MIN & 2 * _INT64_MAX + 1) + _INT64_MIN

            delta = data[position]
            position += 1
            if delta < 0x80:
                delta = delta >> 1 ^ -(delta & 1)
            elif (high := data[position]) < 0x80 and not delta & 1:
                position += 1
                delta = delta >> 1 & 0x3F | high << 6
            else:
                delta, position = read_varint(data, position - 1)
            if base_sequence >= 0:
                sequence = base_sequence + delta & _SEQUENCE_MASK

            size = data[position]
            if size < 0x80:
                position += 1
                size = size >> 1 ^ -(size & 1)
            else:
                size, position = read_varint(data, position)
            if size < 0:
                key = None
            else:
                key = data[position : position + size]
                position += size

            size = data[position]
            position += 1
            if size < 0x80:
                size = size >> 1 ^ -(size & 1)
            elif (high := data[position]) < 0x80 and not size & 1:
                position += 1
                size = size >> 1 & 0x3F | high << 6
            else:
                size, position = read_varint(data, position - 1)
            if size < 0:
                value = None
            else:
                value = data[position : position + size]
                position += size

            headers = _NO_HEADERS
            if data[position]:
                headers, position = read_headers(data, position, end)
            else:
                position += 1
            if position != record_end:
                raise InvalidRecordError(
                    f"Invalid record size: expected to end at byte {record_end} of the payload, but instead read up to "
                    f"{position}"
                )
            yield make(Record, (base_offset + delta, timestamp, key, value, headers, sequence))
    except IndexError as error:
        raise InvalidRecordError("Found invalid record structure: it reaches beyond the batch") from error
    if position != end:
        raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header] = (),
) -> bytes:
    """One record's bytes, its length first."""
    body = b"".join(
        (
            _ATTRIBUTES,
            VARINTS[timestamp_delta] if 0 <= timestamp_delta < _SMALL else encode_varint(timestamp_delta),
            VARINTS[offset_delta] if 0 <= offset_delta < _SMALL else encode_varint(offset_delta),
            _NULL if key is None else encode_varint(len(key)),
            key or b"",
            _NULL if value is None else encode_varint(len(value)),
            value or b"",
            encode_headers(headers) if headers else b"\x00",
        )
    )
    return encode_varint(len(body)) + body


def encode_headers(headers: Sequence[Header]) -> bytes:
    """The headers' count, then each as length-prefixed key and value."""
    parts = [encode_varint(len(headers))]
    for key, value in headers:
        encoded_key = key.encode("utf-8", "replace")
        parts += (encode_varint(len(encoded_key)), encoded_key)
        parts += (_NULL,) if value is None else (encode_varint(len(value)), value)
    return b"".join(parts)


def read_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    """The headers whose count is at ``position``, and the position after them."""
    count, position = read_varint(data, position)
    if count < 0:
        raise InvalidRecordError(f"Found invalid number of record headers {count}")
    if count > end - position:
        raise InvalidRecordError(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    headers: list[Header] = []
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0:
            raise InvalidRecordError(f"Invalid negative header key size {size}")
        key = data[position : position + size].decode("utf-8", "replace")
        size, position = read_varint(data, position + size)
        if size < 0:
            headers.append(Header(key, None))
        else:
            headers.append(Header(key, data[position : position + size]))
            position += size
    return tuple(headers), position
