"""A walk over encoded records that checks them and copies nothing: what the validator needs to know of each record."""

from collections.abc import Iterator
from typing import Final

from ottla.common.errors import InvalidRecordError
from ottla.records.varint import read_varint, read_varlong

_INT64: Final = 1 << 64


def scan_records(data: bytes, count: int) -> Iterator[tuple[int, int, int, int]]:
    """The ``count`` records that ``data``, decompressed, must consist of: what each one says of itself.

    That is timestamp delta, offset delta, key size and value size; a negative size means null.
    Raises InvalidRecordError, while iterating, where a record's structure is broken or fewer or more records are there.
    """
    position, end = 0, len(data)
    try:
        for _ in range(count):
            # Varints of one byte, and where lengths are likely of two, are read in place: calls cost more than this.
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
            timestamp_delta = data[position + 1]  # after the attributes, which are unused
            if timestamp_delta < 0x80:
                position += 2
                timestamp_delta = timestamp_delta >> 1 ^ -(timestamp_delta & 1)
            else:
                timestamp_delta, position = read_varlong(data, position + 1)
            offset_delta = data[position]
            if offset_delta < 0x80:
                position += 1
                offset_delta = offset_delta >> 1 ^ -(offset_delta & 1)
            else:
                offset_delta, position = read_varint(data, position)
            key_size = data[position]
            if key_size < 0x80:
                position += 1
                key_size = key_size >> 1 ^ -(key_size & 1)
            else:
                key_size, position = read_varint(data, position)
            if key_size > 0:
                position += key_size
            value_size = data[position]
            position += 1
            if value_size < 0x80:
                value_size = value_size >> 1 ^ -(value_size & 1)
            elif (high := data[position]) < 0x80 and not value_size & 1:
                position += 1
                value_size = value_size >> 1 & 0x3F | high << 6
            else:
                value_size, position = read_varint(data, position - 1)
            if value_size > 0:
                position += value_size
            position = position + 1 if data[position] == 0 else _skip_headers(data, position)
            if position != record_end:
                raise InvalidRecordError(
                    f"Invalid record size: expected to read {size} bytes in record payload, but instead read "
                    f"{position - record_end + size}"
                )
            yield timestamp_delta, offset_delta, key_size, value_size
    except IndexError as error:
        raise InvalidRecordError("Incorrect declared batch size, premature EOF reached") from error
    if position != end:
        raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")


def wrap_timestamp(timestamp: int) -> int:
    """``timestamp``, or a difference of two, as the int64 that Java's arithmetic would give."""
    return (timestamp + (_INT64 >> 1)) % _INT64 - (_INT64 >> 1)


def _skip_headers(data: bytes, position: int) -> int:
    """The position after the headers whose count is at ``position``; keys need not be UTF-8 here."""
    count, position = read_varint(data, position)
    if count < 0:
        raise InvalidRecordError(f"Found invalid number of record headers {count}")
    if count > len(data) - position:
        raise InvalidRecordError(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    for _ in range(count):
        size, position = read_varint(data, position)
        if size < 0:
            raise InvalidRecordError(f"Invalid negative header key size {size}")
        size, position = read_varint(data, position + size)
        if size > 0:
            position += size
    return position
