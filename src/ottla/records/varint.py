"""Variable-length integers of records: zig-zag, seven bits a byte, least significant first.

A varint is an int32 in at most five bytes, a varlong an int64 in at most ten. Bits beyond the type's width are
dropped, as Java's shifts drop them. Reading past the end raises IndexError and an unterminated number
InvalidRecordError; the tight loops of :mod:`ottla.records.record` inline the short cases and come here for the rest.
"""

from typing import Final

from ottla.common.errors import InvalidRecordError

VARINT_BYTES_MAX: Final = 5
VARLONG_BYTES_MAX: Final = 10

_UINT32: Final = (1 << 32) - 1
_UINT64: Final = (1 << 64) - 1


def read_varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The int32 at ``position`` and the position after it."""
    raw, position = _read(data, position, VARINT_BYTES_MAX)
    raw &= _UINT32
    return raw >> 1 ^ -(raw & 1), position


def read_varlong(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The int64 at ``position`` and the position after it."""
    raw, position = _read(data, position, VARLONG_BYTES_MAX)
    raw &= _UINT64
    return raw >> 1 ^ -(raw & 1), position


def read_unsigned_varint(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """The uint32, without zig-zag, at ``position``, and the position after it; lengths in flexible messages."""
    raw, position = _read(data, position, VARINT_BYTES_MAX)
    return raw & _UINT32, position


def encode_varint(value: int) -> bytes:
    """An int32 (or int64: the encodings agree) as zig-zag bytes."""
    return VARINTS[value] if 0 <= value < _TABLE_SIZE else encode_unsigned_varint(value << 1 ^ value >> 63)


def encode_unsigned_varint(value: int) -> bytes:
    """A non-negative integer, seven bits a byte."""
    if value < 0x80:
        return value.to_bytes(1, "big")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def size_of_varint(value: int) -> int:
    """How many bytes :func:`encode_varint` takes for ``value``."""
    return max(1, ((value << 1 ^ value >> 63).bit_length() + 6) // 7)


def _read(data: bytes | bytearray | memoryview, position: int, bytes_max: int) -> tuple[int, int]:
    raw = data[position]
    position += 1
    if raw < 0x80:
        return raw, position
    raw &= 0x7F
    for shift in range(7, 7 * bytes_max, 7):
        byte = data[position]
        position += 1
        if byte < 0x80:
            return raw | byte << shift, position
        raw |= (byte & 0x7F) << shift
    raise InvalidRecordError(f"Variable-length integer is too long, it does not end within {bytes_max} bytes")


_TABLE_SIZE: Final = 2048
VARINTS: Final = tuple(encode_unsigned_varint(value << 1) for value in range(_TABLE_SIZE))
"""The encodings of the small non-negative integers, which nearly all lengths and offset deltas are."""
