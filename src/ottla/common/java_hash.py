"""Java's hash codes, which decide where Kafka looks first: for a coordinator's partition, or in a table of members."""

from collections.abc import Sequence
from operator import mul
from struct import unpack

_INT_MASK = 0xFFFFFFFF
_POWERS_KEPT = 64
_POWERS = [pow(31, exponent, 1 << 32) for exponent in reversed(range(_POWERS_KEPT))]


def string_hash_code(text: str) -> int:
    """``String.hashCode``: over UTF-16 code units, a signed 32-bit int."""
    units: Sequence[int]
    if text.isascii():
        units = text.encode("ascii")
    else:
        encoded = text.encode("utf-16-be", "surrogatepass")
        units = unpack(f">{len(encoded) // 2}H", encoded)
    count = len(units)
    if count <= _POWERS_KEPT:
        code: int = sum(map(mul, units, _POWERS[_POWERS_KEPT - count :]))
    else:
        code = 0
        for unit in units:
            code = code * 31 + unit & _INT_MASK
    return ((code + 0x80000000) & _INT_MASK) - 0x80000000
