"""The types whose size is known beforehand: runs of them are packed and unpacked together."""

from typing import Final

from ottla.protocol.message import ArrayOf, Field, Message, Type

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

SIZES: Final = {"?": 1, "b": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "d": 8}


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
    fields = sum(size_min(field.type, version, flexible) for field in present(kind, version))
    return max(fields + flexible, 1)
