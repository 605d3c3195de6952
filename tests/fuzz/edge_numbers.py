"""Numbers at the edges."""

from random import Random

_UVARINT_MAX = (1 << 32) - 1


def damaged_bytes(value: bytes, rng: Random) -> bytes:
    """Another number in as many bytes: an edge, a neighbour, or a bit flipped."""
    size = len(value)
    bits = 8 * size
    number = int.from_bytes(value)
    match rng.randrange(4):
        case 0:
            number ^= 1 << rng.randrange(bits)
        case 1:
            number += rng.choice((-1, 1, -2, 2))
        case 2:
            number = rng.choice((0, 1, -1, -2, (1 << (bits - 1)) - 1, 1 << (bits - 1)))
        case _:
            number = rng.getrandbits(bits)
    return (number % (1 << bits)).to_bytes(size)


def damaged_length(length: int, left: int, rng: Random) -> int:
    """Another length, where ``left`` bytes follow."""
    return rng.choice((length - 1, length + 1, 0, 1, left, left + 1, 127, 128, 32767, 32768, (1 << 31) - 1))


def damaged_uvarint(value: int, left: int, rng: Random) -> bytes:
    """Another varint: some are longer than they need be, or than they may."""
    match rng.randrange(6):
        case 0:
            return bytes((value & 127 | 128, 0x80, 0))
        case 1:
            return b"\xff\xff\xff\xff\xff\xff"
        case 2:
            return uvarint_of(_UVARINT_MAX)
        case _:
            return uvarint_of(max(damaged_length(value, left, rng), 0))


def uvarint_of(value: int) -> bytes:
    """A varint, written here so that the test does not write it with what it tests."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
