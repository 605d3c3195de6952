"""Where in an encoded message the lengths, counts, tags and numbers stand: the right places to do damage."""

from enum import Enum, auto
from typing import Any, NamedTuple

from ottla.protocol.fixed_types import SIZES, STRUCT_CODES, present, tagged
from ottla.protocol.message import ArrayOf, Field, Message, Type
from ottla.protocol.varint import read_uvarint


class Kind(Enum):
    """What a span of bytes says."""

    LENGTH = auto()
    """Of a string or bytes, or the count of an array; in two or four bytes."""
    COMPACT_LENGTH = auto()
    """The same as a varint, plus one."""
    TAG_COUNT = auto()
    TAG = auto()
    TAG_SIZE = auto()
    NUMBER = auto()
    TEXT = auto()


class Span(NamedTuple):
    """``size`` bytes from ``start`` on."""

    kind: Kind
    start: int
    size: int


def spans(cls: type[Message], version: int, data: bytes) -> list[Span]:
    """Walk a valid message from its first byte to its last."""
    walk = _Walk(version, version in cls.schema.flexible, data)
    walk.struct(cls)
    assert walk.position == len(data), f"{cls.__name__} v{version}: walked {walk.position} of {len(data)} bytes"
    return walk.found


class _Walk:
    def __init__(self, version: int, flexible: bool, data: bytes) -> None:
        self._version = version
        self._flexible = flexible
        self._data = data
        self.position = 0
        self.found: list[Span] = []

    def struct(self, cls: type[Message]) -> None:
        for field in present(cls, self._version):
            self._field(field)
        if self._flexible:
            by_tag = {field.tag: field for field in tagged(cls, self._version)}
            for _ in range(self._uvarint(Kind.TAG_COUNT)):
                tag = self._uvarint(Kind.TAG)
                size = self._uvarint(Kind.TAG_SIZE)
                if tag in by_tag:
                    self._field(by_tag[tag])
                else:
                    self.position += size

    def _field(self, field: Field) -> None:
        if isinstance(field.type, ArrayOf):
            for _ in range(self._length(4)):
                self._value(field.type.element)
        elif isinstance(field.type, Type) or self._version not in field.nullable or self._fixed(1) == b"\1":
            self._value(field.type)

    def _value(self, kind: Any) -> None:
        if kind in STRUCT_CODES:
            self._fixed(SIZES[STRUCT_CODES[kind]])
        elif kind is Type.UUID:
            self._fixed(16)
        elif isinstance(kind, Type):
            size = self._length(2 if kind is Type.STRING else 4)
            if size:
                self._note(Kind.TEXT, size)
        else:
            self.struct(kind)

    def _length(self, size: int) -> int:
        if self._flexible:
            return max(self._uvarint(Kind.COMPACT_LENGTH) - 1, 0)
        return max(int.from_bytes(self._note(Kind.LENGTH, size), signed=True), 0)

    def _fixed(self, size: int) -> bytes:
        return self._note(Kind.NUMBER, size)

    def _uvarint(self, kind: Kind) -> int:
        value, end = read_uvarint(self._data, self.position)
        self._note(kind, end - self.position)
        return value

    def _note(self, kind: Kind, size: int) -> bytes:
        start = self.position
        self.found.append(Span(kind, start, size))
        self.position = start + size
        return self._data[start : self.position]
