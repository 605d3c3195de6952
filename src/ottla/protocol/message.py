"""Kafka's messages as typed classes: one class a schema, with every version of it in one shape.

A class states which versions a field belongs to; the codec is compiled from that (:mod:`ottla.protocol.codec`), so
versions are seen nowhere else. A field that a version lacks keeps its default when read and is left out when written::

    class TopicRecord(Message, api_key=2, versions="0", flexible="0+"):
        name: str = field(STRING, "0+", default="")
        topic_id: Uuid = field(UUID, "0+", default=ZERO_UUID)

Instances are slotted and mutable, are made from keywords only, and compare by value. Making a class costs next to
nothing: its constructor is compiled at the first call, because most of Kafka's messages are never seen by a broker.
"""

from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Self, dataclass_transform

VERSION_MAX: Final = 32767


class Type(Enum):
    """The primitive types of the protocol."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"


BOOL, INT8, INT16, UINT16, INT32 = Type.BOOL, Type.INT8, Type.INT16, Type.UINT16, Type.INT32
UINT32, INT64, FLOAT64, UUID = Type.UINT32, Type.INT64, Type.FLOAT64, Type.UUID
STRING, BYTES, RECORDS = Type.STRING, Type.BYTES, Type.RECORDS


class VersionRange(NamedTuple):
    """The versions from ``lowest`` to ``highest``, both included; empty when they are crossed."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    @classmethod
    def parse(cls, text: str) -> Self:
        """``"3+"``, ``"0-5"``, ``"7"`` or ``"none"``, as Apache's schemas write them."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), VERSION_MAX)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))


class ArrayOf(NamedTuple):
    """An array of a primitive type or of a struct."""

    element: "Type | type[Message]"


FieldType = Type | ArrayOf | type["Message"]


class Field:
    """What the codec knows of one field; ``name`` is given by the class that it stands in."""

    __slots__ = ("default", "flexible", "name", "nullable", "tag", "tagged", "type", "versions")

    def __init__(
        self,
        kind: FieldType,
        versions: str,
        *,
        default: object = None,
        nullable: str = "none",
        tag: int = -1,
        tagged: str = "none",
        flexible: bool = True,
    ) -> None:
        self.name = ""
        self.type = kind
        self.versions = VersionRange.parse(versions)
        self.default = default
        self.nullable = VersionRange.parse(nullable)
        self.tag = tag
        self.tagged = VersionRange.parse(tagged)
        self.flexible = flexible


def field(
    kind: FieldType,
    versions: str,
    *,
    default: Any,
    nullable: str = "none",
    tag: int = -1,
    tagged: str = "none",
    flexible: bool = True,
) -> Any:
    """Declare a field: its type, the versions that have it, and those in which it may be null or is a tagged field.

    ``flexible=False`` keeps the old string format in flexible versions, as the request header's client id needs. A
    struct's default None stands for the struct with all its defaults, unless the field may be null: then that struct
    itself is the default where Apache's schema does not say null.
    """
    return Field(kind, versions, default=default, nullable=nullable, tag=tag, tagged=tagged, flexible=flexible)


class Schema(NamedTuple):
    """What a message class states: its fields in wire order, the versions it has, and those with compact lengths."""

    fields: tuple[Field, ...]
    versions: VersionRange
    flexible: VersionRange
    api_key: int


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class MessageType(type):
    """Collects the fields of a message class and turns them into slots."""

    schema: Schema

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        versions: str = "none",
        flexible: str = "none",
        api_key: int = -1,
    ) -> "MessageType":
        """``versions`` are those that Kafka 4.3 speaks; structs inside a message take over from it."""
        fields = []
        for attribute, value in list(namespace.items()):
            if isinstance(value, Field):
                value.name = attribute
                fields.append(namespace.pop(attribute))
        namespace["__slots__"] = tuple(field.name for field in fields)
        made = super().__new__(mcs, name, bases, namespace)
        made.schema = Schema(tuple(fields), VersionRange.parse(versions), VersionRange.parse(flexible), api_key)
        return made


class Message(metaclass=MessageType):
    """The base of every request, response, record and struct of the protocol."""

    schema: ClassVar[Schema]

    def __init__(self, **values: Any) -> None:
        cls = type(self)
        cls.__init__ = _compile_init(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in self.schema.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.schema.fields)
        return f"{type(self).__name__}({shown})"


def _same(one: object, other: object) -> bool:
    """Equality that takes a list, which reading gives, for the tuple that a default is."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return list(one) == list(other)
    return one == other


def _compile_init(cls: type[Message]) -> Any:
    """A constructor with one keyword a field, in straight-line code."""
    defaults = {f"_{field.name}": field.default for field in cls.schema.fields}
    parameters = "".join(f", {field.name}=_{field.name}" for field in cls.schema.fields)
    body = "".join(f"\n    self.{field.name} = {field.name}" for field in cls.schema.fields) or "\n    pass"
    star = ", *" if cls.schema.fields else ""
    namespace: dict[str, Any] = {}
    exec(f"def __init__(self{star}{parameters}):{body}", defaults, namespace)  # noqa: S102  our own declarations
    return namespace["__init__"]
