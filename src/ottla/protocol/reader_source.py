"""Compiles the reader of one message version: straight-line code, nested structs inlined.

Everything of a known size that stands side by side is unpacked at once, lengths included, and bounds are checked by
that. The code made for a struct of two int32 and a compact string looks like this::

    v0 = new(Example)
    v0.one, v0.two, n = unpack_iiB(b, p)
    p += 9
    n -= 1
    if n > 126:
        n, p = read_uvarint(b, p - 1)
        n -= 1
        if n > 32767: raise bad_length("name", n)
    if n < 0: raise null("name")
    e = p + n
    if e > end: raise IndexError
    v0.name = str(b[p:e], "utf-8")
    p = e
"""

import struct
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from ottla.common.errors import InvalidRequestError
from ottla.common.uuid import Uuid
from ottla.protocol.fixed_types import SIZES, STRUCT_CODES, array_unpackers, present, size_min, tagged
from ottla.protocol.message import ArrayOf, Field, Message, Type
from ottla.protocol.varint import read_uvarint

_STRING_LENGTH_MAX: Final = 32767


def compile_reader(
    cls: type[Message], version: int, elements_max: int | None = None
) -> Callable[[memoryview, int], tuple[Any, int]]:
    """A function (buffer, position) → (message, position after it).

    With ``elements_max`` the reader counts the elements of all arrays and the tagged fields, and refuses more of them.
    """
    source = _ReaderSource(version, version in cls.schema.flexible, elements_max)
    made = source.struct(cls, "    ")
    lines = ["def read(b, p):", "    end = len(b)", "    c = 0", *source.lines, f"    return {made}, p"]
    exec("\n".join(lines), source.names)  # noqa: S102  compiled from our own declarations
    reader: Callable[[memoryview, int], tuple[Any, int]] = source.names["read"]
    return reader


def _null(name: str) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} is null, which it may not be")


def _bad_length(name: str, length: int) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} has the length {length}")


def _too_many(name: str, length: int, left: int) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} claims {length} elements in the {left} bytes that are left")


def _too_many_in_all(most: int) -> InvalidRequestError:
    return InvalidRequestError(f"the message has more than {most} elements in all")


def _bad_tag(tag: int) -> InvalidRequestError:
    return InvalidRequestError(f"the tagged field {tag} does not fill the size that it states")


class _ReaderSource:
    def __init__(self, version: int, flexible: bool, elements_max: int | None) -> None:
        self.version = version
        self._elements_max = elements_max
        self.flexible = flexible
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "read_uvarint": read_uvarint,
            "unpack_array": struct.unpack_from,
            "null": _null,
            "bad_length": _bad_length,
            "too_many": _too_many,
            "too_many_in_all": _too_many_in_all,
            "bad_tag": _bad_tag,
            "new": object.__new__,
            "Uuid": Uuid,
            "set_uuid": vars(Uuid)["bytes"].__set__,  # the slot itself: the size of these bytes needs no check
        }
        self._ids = count()
        self._run: list[tuple[str, str]] = []
        self._after_run: list[str] = []

    def _variable(self) -> str:
        return f"v{next(self._ids)}"

    def _emit(self, indent: str, *lines: str) -> None:
        self.lines.extend(indent + line for line in lines)

    def _fixed(self, code: str, target: str) -> None:
        """Let ``target`` be unpacked with its neighbours, when the run of them ends."""
        self._run.append((code, target))

    def _end_run(self, indent: str) -> None:
        if not self._run:
            return
        codes = "".join(code for code, _target in self._run)
        if codes == "B":
            self._emit(indent, f"{self._run.pop()[1]} = b[p]", "p += 1")
            return
        unpack = f"unpack_{codes.replace('?', 'o')}"
        self.names[unpack] = struct.Struct(f">{codes}").unpack_from
        targets = ", ".join(target for _code, target in self._run)
        size = sum(SIZES[code] for code, _target in self._run)
        self._emit(indent, f"{targets}, = {unpack}(b, p)", f"p += {size}", *self._after_run)
        self._run = []
        self._after_run = []

    def struct(self, cls: type[Message], indent: str) -> str:
        """Emit the reading of a struct; returns the variable that holds it."""
        made = self._variable()
        self.names[f"new_{cls.__name__}"] = cls
        self._emit(indent, f"{made} = new(new_{cls.__name__})")
        here = present(cls, self.version)
        for field in cls.schema.fields:
            if field not in here:
                self._emit(indent, f"{made}.{field.name} = {self._default(cls, field)}")
        for field in here:
            self._value(field, f"{made}.{field.name}", indent)
        if self.flexible:
            self._tagged_fields(cls, made, indent)
        self._end_run(indent)
        return made

    def _default(self, cls: type[Message], field: Field) -> str:
        if field.default is None or isinstance(field.default, int | str | tuple):
            return repr(field.default)
        name = f"default_{cls.__name__}_{field.name}"
        self.names[name] = field.default
        return name

    def _value(self, field: Field, target: str, indent: str) -> None:
        """Emit the reading of one value of any type."""
        kind = field.type
        nullable = self.version in field.nullable
        if isinstance(kind, ArrayOf):
            self._array(target, field, kind.element, nullable, indent)
        elif isinstance(kind, Type):
            self._primitive(target, field, kind, nullable, indent)
        elif nullable:
            self._fixed("b", "n")
            self._end_run(indent)
            is_there = "n > 0" if self.version in field.tagged else "n >= 0"  # a tagged null is 0, any other -1
            self._emit(indent, f"{target} = None", f"if {is_there}:")
            made = self.struct(kind, indent + "    ")
            self._emit(indent, f"    {target} = {made}")
        else:
            self._emit(indent, f"{target} = {self.struct(kind, indent)}")

    def _primitive(self, target: str, field: Field, kind: Type, nullable: bool, indent: str) -> None:
        if kind in STRUCT_CODES:
            self._fixed(STRUCT_CODES[kind], target)
            return
        if kind is Type.UUID:
            raw = self._variable()
            self._fixed("16s", raw)
            self._after_run += [f"{target} = u = new(Uuid)", f"set_uuid(u, {raw})"]
            return
        self._length(field, kind is Type.STRING, nullable, indent)
        read = {Type.STRING: 'str(b[p:e], "utf-8")', Type.BYTES: "bytes(b[p:e])", Type.RECORDS: "b[p:e]"}[kind]
        if nullable:
            self._emit(indent, "if n < 0:", f"    {target} = None", "else:")
            indent += "    "
        self._emit(indent, "e = p + n", "if e > end: raise IndexError", f"{target} = {read}", "p = e")

    def _length(self, field: Field, short: bool, nullable: bool, indent: str) -> None:
        """Emit the reading of a length into ``n``; −1 is null."""
        compact = self.flexible and field.flexible
        self._fixed("B" if compact else "h" if short else "i", "n")
        self._end_run(indent)
        if compact:
            self._emit(indent, "n -= 1", "if n > 126:", "    n, p = read_uvarint(b, p - 1)", "    n -= 1")
            if short:
                self._emit(indent, f"    if n > {_STRING_LENGTH_MAX}: raise bad_length({field.name!r}, n)")
            if not nullable:
                self._emit(indent, f"if n < 0: raise null({field.name!r})")
            return
        self._emit(indent, "if n < 0:")
        if not nullable:
            self._emit(indent, f"    if n == -1: raise null({field.name!r})")
        self._emit(indent, f"    if n != -1: raise bad_length({field.name!r}, n)")

    def _count(self, elements: str, indent: str) -> None:
        if self._elements_max is not None:
            most = self._elements_max
            self._emit(indent, f"c += {elements}", f"if c > {most}: raise too_many_in_all({most})")

    def _array(self, target: str, field: Field, element: Type | type[Message], nullable: bool, indent: str) -> None:
        self._length(field, short=False, nullable=nullable, indent=indent)
        if nullable:
            self._emit(indent, "if n < 0:", f"    {target} = None", "else:")
            indent += "    "
        smallest = size_min(element, self.version, self.flexible)
        self._emit(indent, f"if n * {smallest} > end - p: raise too_many({field.name!r}, n, end - p)")
        self._count("n", indent)
        if isinstance(element, Type) and element in STRUCT_CODES:
            code = STRUCT_CODES[element]
            unpackers = self.names[f"unpackers_{code}"] = array_unpackers(code)
            few = f'unpackers_{code}[n](b, p) if n < {len(unpackers)} else unpack_array(f">{{n}}{code}", b, p)'
            self._emit(indent, f"{target} = list({few})", f"p += {SIZES[code]} * n")
            return
        elements = self._variable()
        self._emit(indent, f"{target} = {elements} = []", "for _ in range(n):")
        inner = indent + "    "
        if isinstance(element, Type):
            made = self._variable()
            one = Field(element, "0+")
            one.name = field.name
            self._primitive(made, one, element, nullable=False, indent=inner)
            self._end_run(inner)
        else:
            made = self.struct(element, inner)
        self._emit(inner, f"{elements}.append({made})")

    def _tagged_fields(self, cls: type[Message], made: str, indent: str) -> None:
        """Emit the reading of the tagged fields, which hold their defaults so far; unknown ones are skipped."""
        tags, tag, tag_end = self._variable(), self._variable(), self._variable()
        self._fixed("B", tags)
        self._end_run(indent)
        self._emit(indent, f"if {tags}:")
        indent += "    "
        self._emit(indent, f"if {tags} > 127: {tags}, p = read_uvarint(b, p - 1)")
        self._emit(indent, f"if {tags} * 2 > end - p: raise too_many('tagged fields', {tags}, end - p)")
        self._count(tags, indent)
        self._emit(indent, f"for _ in range({tags}):")
        indent += "    "
        self._emit(indent, f"{tag}, p = read_uvarint(b, p)", "n, p = read_uvarint(b, p)", f"{tag_end} = p + n")
        self._emit(indent, f"if {tag_end} > end: raise IndexError")
        for field in tagged(cls, self.version):
            self._emit(indent, f"if {tag} == {field.tag}:")
            self._value(field, f"{made}.{field.name}", indent + "    ")
            self._end_run(indent + "    ")
            self._emit(indent, f"    if p != {tag_end}: raise bad_tag({tag})")
        self._emit(indent, f"p = {tag_end}")
