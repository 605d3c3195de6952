"""The types whose size is known beforehand: runs of them are packed and unpacked together."""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from ottla.protocol.message import ArrayOf, Field, Message, Type
from ottla.protocol.varint import uvarint

STRUCT_CODES: Final = {
    Type.BOOL: "?",
    Type.INT8: "b",
    Type.INT16: "h",
    Type.UINT16: "H",
    Type.INT32: "i",
    Type.UINT32: "I",
    Type.INT64: "q",
    Type.FLOAT64: "d",
}

SIZES: Final = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8, "16s": 16}

_FEW: Final = 17
"""Arrays shorter than this, such as the replicas of a partition, have their packers ready."""


@cache
def array_unpackers(code: str) -> Sequence[Callable[..., tuple[Any, ...]]]:
    """For each small n, what unpacks n elements."""
    return [struct.Struct(f">{n}{code}").unpack_from for n in range(_FEW)]


@cache
def array_packer(code: str, compact: bool) -> Callable[[Sequence[Any]], bytes]:
    """A function that packs an array with its length before it."""
    few = [struct.Struct(f">{'B' if compact else 'i'}{n}{code}").pack for n in range(_FEW)]

    def pack_array(values: Sequence[Any]) -> bytes:
        n = len(values)
        if n < _FEW:
            return few[n](n + compact, *values)
        length = uvarint(n + 1) if compact else struct.pack(">i", n)
        return length + struct.pack(f">{n}{code}", *values)

    return pack_array


def present(cls: type[Message], version: int) -> list[Field]:
    """The fields of a struct in one version that are not tagged, in order."""
    return [field for field in cls.schema.fields if version in field.versions and version not in field.tagged]


def tagged(cls: type[Message], version: int) -> list[Field]:
    """The tagged fields of a struct in one version, by tag."""
    found = [field for field in cls.schema.fields if version in field.versions and version in field.tagged]
    return sorted(found, key=lambda field: field.tag)


def size_min(kind: Type | ArrayOf | type[Message], version: int, flexible: bool) -> int:
    """The fewest bytes that a value can take: what an array's count is checked against."""
    if isinstance(kind, Type):
        if kind in STRUCT_CODES:
            return SIZES[STRUCT_CODES[kind]]
        if kind is Type.UUID:
            return 16
        return 1 if flexible else 2 if kind is Type.STRING else 4
    if isinstance(kind, ArrayOf):
        return 1 if flexible else 4
    fields = sum(
        1 if version in field.nullable else size_min(field.type, version, flexible) for field in present(kind, version)
    )
    return max(fields + flexible, 1)
