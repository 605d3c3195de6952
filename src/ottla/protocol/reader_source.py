"""Compiles the reader of one message version: straight-line code, nested structs inlined.

The code made for a struct of two int32 and a compact string looks like this::

    v2, v3 = unpack_ii(b, p); p += 8
    n = b[p]; p += 1
    if n > 127: n, p = read_uvarint(b, p - 1)
    if n == 0: raise null("name")
    e = p + n - 1
    if e > end: raise IndexError
    v4 = str(b[p:e], "utf-8"); p = e
"""

import struct
from collections.abc import Callable
from itertools import count
from typing import Any

from ottla.common.errors import InvalidRequestError
from ottla.common.uuid import Uuid
from ottla.protocol.fixed_types import SIZES, STRUCT_CODES, present, size_min, tagged
from ottla.protocol.message import ArrayOf, Field, Message, Type
from ottla.protocol.varint import read_uvarint


def compile_reader(cls: type[Message], version: int) -> Callable[[memoryview, int], tuple[Any, int]]:
    """A function (buffer, position) → (message, position after it)."""
    source = _ReaderSource(version, version in cls.schema.flexible)
    made = source.struct(cls, "    ")
    lines = ["def read(b, p):", "    end = len(b)", *source.lines, f"    return {made}, p"]
    exec("\n".join(lines), source.names)  # noqa: S102  compiled from our own declarations
    reader: Callable[[memoryview, int], tuple[Any, int]] = source.names["read"]
    return reader


def _null(name: str) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} is null, which it may not be")


def _bad_length(name: str, length: int) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} has the length {length}")


def _too_many(name: str, length: int, left: int) -> InvalidRequestError:
    return InvalidRequestError(f"the field {name} claims {length} elements in the {left} bytes that are left")


def _bad_tag(tag: int) -> InvalidRequestError:
    return InvalidRequestError(f"the tagged field {tag} does not fill the size that it states")


class _ReaderSource:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "read_uvarint": read_uvarint,
            "unpack_array": struct.unpack_from,
            "null": _null,
            "bad_length": _bad_length,
            "too_many": _too_many,
            "bad_tag": _bad_tag,
            "Uuid": Uuid,
            "unpack_h": struct.Struct(">h").unpack_from,
            "unpack_i": struct.Struct(">i").unpack_from,
        }
        self._ids = count()

    def _variable(self) -> str:
        return f"v{next(self._ids)}"

    def _emit(self, indent: str, *lines: str) -> None:
        self.lines.extend(indent + line for line in lines)

    def struct(self, cls: type[Message], indent: str) -> str:
        """Emit the reading of a struct; returns the variable that holds it."""
        values: dict[str, str] = {}
        run: list[Field] = []
        for field in present(cls, self.version):
            if field.type in STRUCT_CODES:
                run.append(field)
                continue
            self._fixed_run(run, values, indent)
            run = []
            values[field.name] = self._value(field, indent)
        self._fixed_run(run, values, indent)
        if self.flexible:
            self._tagged_fields(cls, values, indent)
        constructor = f"new_{cls.__name__}"
        self.names[constructor] = cls
        made = self._variable()
        arguments = ", ".join(f"{name}={variable}" for name, variable in values.items())
        self._emit(indent, f"{made} = {constructor}({arguments})")
        return made

    def _fixed_run(self, run: list[Field], values: dict[str, str], indent: str) -> None:
        if not run:
            return
        codes = "".join(STRUCT_CODES[field.type] for field in run if isinstance(field.type, Type))
        unpack = f"unpack_{codes.replace('?', 'o')}"
        self.names[unpack] = struct.Struct(f">{codes}").unpack_from
        for field in run:
            values[field.name] = self._variable()
        targets = ", ".join(values[field.name] for field in run)
        self._emit(indent, f"{targets}, = {unpack}(b, p)", f"p += {sum(SIZES[code] for code in codes)}")

    def _value(self, field: Field, indent: str) -> str:
        """Emit the reading of one value of any type; returns its variable."""
        kind = field.type
        variable = self._variable()
        nullable = self.version in field.nullable
        if isinstance(kind, ArrayOf):
            self._array(variable, field, kind.element, nullable, indent)
        elif isinstance(kind, Type):
            self._primitive(variable, field, kind, nullable, indent)
        elif nullable:
            self._emit(indent, f"{variable} = None", "p += 1", "if b[p - 1] < 128:")
            made = self.struct(kind, indent + "    ")
            self._emit(indent, f"    {variable} = {made}")
        else:
            return self.struct(kind, indent)
        return variable

    def _primitive(self, variable: str, field: Field, kind: Type, nullable: bool, indent: str) -> None:
        if kind in STRUCT_CODES:
            code = STRUCT_CODES[kind]
            unpack = f"unpack_{code.replace('?', 'o')}"
            self.names[unpack] = struct.Struct(f">{code}").unpack_from
            self._emit(indent, f"{variable}, = {unpack}(b, p)", f"p += {SIZES[code]}")
            return
        if kind is Type.UUID:
            self._emit(
                indent, "e = p + 16", "if e > end: raise IndexError", f"{variable} = Uuid(bytes(b[p:e]))", "p = e"
            )
            return
        self._length(field, kind is Type.STRING, nullable, indent)
        read = {Type.STRING: 'str(b[p:e], "utf-8")', Type.BYTES: "bytes(b[p:e])", Type.RECORDS: "b[p:e]"}[kind]
        if nullable:
            self._emit(indent, "if n < 0:", f"    {variable} = None", "else:")
            indent += "    "
        self._emit(indent, "e = p + n", "if e > end: raise IndexError", f"{variable} = {read}", "p = e")

    def _length(self, field: Field, short: bool, nullable: bool, indent: str) -> None:
        """Emit the reading of a length into ``n``; −1 is null."""
        if self.flexible and field.flexible:
            self._emit(
                indent, "n = b[p] - 1", "p += 1", "if n > 126:", "    n, p = read_uvarint(b, p - 1)", "    n -= 1"
            )
        elif short:
            self._emit(indent, "n, = unpack_h(b, p)", "p += 2")
        else:
            self._emit(indent, "n, = unpack_i(b, p)", "p += 4")
        if not nullable:
            self._emit(indent, f"if n == -1: raise null({field.name!r})")
        self._emit(indent, f"if n < -1: raise bad_length({field.name!r}, n)")

    def _array(self, variable: str, field: Field, element: Type | type[Message], nullable: bool, indent: str) -> None:
        self._length(field, short=False, nullable=nullable, indent=indent)
        if nullable:
            self._emit(indent, "if n < 0:", f"    {variable} = None", "else:")
            indent += "    "
        smallest = size_min(element, self.version, self.flexible)
        self._emit(indent, f"if n * {smallest} > end - p: raise too_many({field.name!r}, n, end - p)")
        if isinstance(element, Type) and element in STRUCT_CODES:
            code = STRUCT_CODES[element]
            self._emit(indent, f'{variable} = list(unpack_array(f">{{n}}{code}", b, p))', f"p += {SIZES[code]} * n")
            return
        self._emit(indent, f"{variable} = []", "for _ in range(n):")
        inner = indent + "    "
        if isinstance(element, Type):
            made = self._variable()
            one = Field(element, "0+")
            one.name = field.name
            self._primitive(made, one, element, nullable=False, indent=inner)
        else:
            made = self.struct(element, inner)
        self._emit(inner, f"{variable}.append({made})")

    def _tagged_fields(self, cls: type[Message], values: dict[str, str], indent: str) -> None:
        """Emit the reading of the tagged fields; unknown ones are skipped."""
        known = tagged(cls, self.version)
        for field in known:
            values[field.name] = variable = self._variable()
            default = f"default_{cls.__name__}_{field.name}"
            self.names[default] = field.default
            self._emit(indent, f"{variable} = {default}")
        tags, start_end = self._variable(), self._variable()
        self._emit(indent, f"{tags} = b[p]", "p += 1", f"if {tags}:")
        indent += "    "
        self._emit(indent, f"if {tags} > 127: {tags}, p = read_uvarint(b, p - 1)")
        self._emit(indent, f"if {tags} * 2 > end - p: raise too_many('tagged fields', {tags}, end - p)")
        self._emit(indent, f"for _ in range({tags}):")
        indent += "    "
        self._emit(indent, "t, p = read_uvarint(b, p)", "n, p = read_uvarint(b, p)", f"{start_end} = p + n")
        self._emit(indent, f"if {start_end} > end: raise IndexError")
        for field in known:
            self._emit(indent, f"if t == {field.tag}:")
            made = self._value(field, indent + "    ")
            self._emit(indent, f"    {values[field.name]} = {made}")
            self._emit(indent, f"    if p != {start_end}: raise bad_tag(t)")
        self._emit(indent, f"p = {start_end}")
