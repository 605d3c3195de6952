"""Unsigned varints: seven bits a byte, the lowest first, the high bit set on all but the last byte."""

from typing import Final

from ottla.common.errors import InvalidRequestError

Buffer = bytes | bytearray | memoryview

_VARINT_BYTES_MAX: Final = 5

SMALL_UVARINTS: Final = tuple(bytes([value]) for value in range(128))


def uvarint(value: int) -> bytes:
    """Write an unsigned varint."""
    if value < 128:
        return SMALL_UVARINTS[value]
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The value at ``position`` and the position after it; at most five bytes, as a 32-bit value takes."""
    value = 0
    for shift in range(0, 7 * _VARINT_BYTES_MAX, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >= 1 << 32:
                break
            return value, position
    raise InvalidRequestError("a varint is longer than 32 bits")
