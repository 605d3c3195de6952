"""Compiles the writer of one message version: straight-line code into one growing buffer.

What has a known size is packed together with its neighbours, lengths and empty tagged fields included. The code made
for a struct of two int32 and a compact string looks like this::

    v0 = m.name.encode()
    n = len(v0)
    if n < 127: w += pack_iiB(m.one, m.two, n + 1)
    else: w += pack_ii(m.one, m.two) + uvarint(n + 1)
    w += v0
    w.append(0)
"""

import struct
from collections.abc import Callable
from itertools import count
from typing import Any

from ottla.protocol.file_slice import FileSlice
from ottla.protocol.fixed_types import STRUCT_CODES, array_packer, present, tagged
from ottla.protocol.message import ArrayOf, Field, Message, Type
from ottla.protocol.varint import uvarint


def compile_writer(cls: type[Message], version: int) -> Callable[[Message, list[Any], bytearray], bytearray]:
    """A function (message, parts, buffer) → the buffer that is left open.

    It appends to ``buffer``, and at each ``records`` field closes it: what is full goes to ``parts``.
    """
    source = _WriterSource(version, version in cls.schema.flexible)
    source.struct(cls, "m", "    ")
    lines = ["def write(m, parts, w):", *source.lines, "    return w"]
    exec("\n".join(lines), source.names)  # noqa: S102  compiled from our own declarations
    writer: Callable[[Message, list[Any], bytearray], bytearray] = source.names["write"]
    return writer


class _WriterSource:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"uvarint": uvarint, "FileSlice": FileSlice}
        self._ids = count()
        self._run: list[tuple[str, str]] = []

    def _variable(self) -> str:
        return f"v{next(self._ids)}"

    def _emit(self, indent: str, *lines: str) -> None:
        self.lines.extend(indent + line for line in lines)

    def _write(self, run: list[tuple[str, str]]) -> str:
        """A statement: write a run."""
        if len(run) == 1 and run[0][0] in "Bx":
            return f"w.append({run[0][1]})"
        return f"w += {self._packed(run)}"

    def _packed(self, run: list[tuple[str, str]]) -> str:
        """An expression: the bytes of a run."""
        codes = "".join(code for code, _value in run)
        name = f"pack_{codes.replace('?', 'o')}"
        self.names[name] = struct.Struct(f">{codes}").pack
        return f"{name}({', '.join(value for code, value in run if code != 'x')})"

    def _end_run(self, indent: str) -> None:
        if self._run:
            self._emit(indent, self._write(self._run))
            self._run = []

    def struct(self, cls: type[Message], owner: str, indent: str) -> None:
        """Emit the writing of the struct in the variable ``owner``."""
        for field in present(cls, self.version):
            if isinstance(field.type, Type) and field.type in STRUCT_CODES:
                self._run.append((STRUCT_CODES[field.type], f"{owner}.{field.name}"))
            else:
                self._value(field, owner, indent)
        if self.flexible:
            self._tagged_fields(cls, owner, indent)
        elif not present(cls, self.version):
            self._emit(indent, "pass")
        self._end_run(indent)

    def _value(self, field: Field, owner: str, indent: str) -> None:
        variable = self._variable()
        self._emit(indent, f"{variable} = {owner}.{field.name}")
        if isinstance(field.type, type) and issubclass(field.type, Message):
            self._struct_value(field, field.type, variable, indent)
            return
        if self.version in field.nullable:
            self._end_run(indent)
            self._emit(indent, f"if {variable} is None:", f"    w += {self._null(field)!r}", "else:")
            indent += "    "
        if isinstance(field.type, ArrayOf):
            self._array(field, field.type.element, variable, indent)
        else:
            assert isinstance(field.type, Type)
            self._primitive(field, field.type, variable, indent)
        if self.version in field.nullable:
            self._end_run(indent)

    def _null(self, field: Field) -> bytes:
        if self.flexible and field.flexible:
            return b"\0"
        return b"\xff\xff" if field.type is Type.STRING else b"\xff\xff\xff\xff"

    def _struct_value(self, field: Field, cls: type[Message], variable: str, indent: str) -> None:
        if self.version in field.nullable:
            self._end_run(indent)
            null = 0 if self.version in field.tagged else 255  # Apache writes a varint before a tagged struct
            self._emit(indent, f"if {variable} is None:", f"    w.append({null})", "else:", "    w.append(1)")
            self.struct(cls, variable, indent + "    ")
            return
        constructor = f"new_{cls.__name__}"
        self.names[constructor] = cls
        self._emit(indent, f"if {variable} is None: {variable} = {constructor}()")
        self.struct(cls, variable, indent)

    def _length(self, field: Field, length: str, short: bool, indent: str) -> None:
        if not (self.flexible and field.flexible):
            self._run.append(("h" if short else "i", length))
            self._end_run(indent)
            return
        run, self._run = self._run, []
        self._emit(indent, f"n = {length}", f"if n < 127: {self._write([*run, ('B', 'n + 1')])}")
        before = f"{self._packed(run)} + " if run else ""
        self._emit(indent, f"else: w += {before}uvarint(n + 1)")

    def _primitive(self, field: Field, kind: Type, variable: str, indent: str) -> None:
        if kind in STRUCT_CODES:
            self._run.append((STRUCT_CODES[kind], variable))
        elif kind is Type.UUID:
            self._run.append(("16s", f"{variable}.bytes"))
        elif kind is Type.RECORDS:
            size = self._variable()
            sized = f"{variable}.size if isinstance({variable}, FileSlice) else len({variable})"
            self._emit(indent, f"{size} = {sized}")
            self._length(field, size, short=False, indent=indent)
            self._emit(
                indent, f"if {size}:", "    parts.append(w)", f"    parts.append({variable})", "    w = bytearray()"
            )
        else:
            if kind is Type.STRING:
                self._emit(indent, f"{variable} = {variable}.encode()")
            self._length(field, f"len({variable})", kind is Type.STRING, indent)
            self._emit(indent, f"w += {variable}")

    def _array(self, field: Field, element: Type | type[Message], variable: str, indent: str) -> None:
        if isinstance(element, Type) and element in STRUCT_CODES:
            code = STRUCT_CODES[element]
            compact = self.flexible and field.flexible
            self.names[f"pack_array_{code}"] = array_packer(code, compact)
            self._end_run(indent)
            self._emit(indent, f"w += pack_array_{code}({variable})")
            return
        self._length(field, f"len({variable})", short=False, indent=indent)
        item = self._variable()
        self._emit(indent, f"for {item} in {variable}:")
        inner = indent + "    "
        if isinstance(element, Type):
            self._primitive(Field(element, "0+"), element, item, inner)
            self._end_run(inner)
        else:
            self.struct(element, item, inner)

    def _tagged_fields(self, cls: type[Message], owner: str, indent: str) -> None:
        """Emit the tagged fields that differ from their default; each is written aside first, for its size."""
        known = tagged(cls, self.version)
        if not known:
            self._run.append(("x", "0"))
            return
        self._end_run(indent)
        outer, tags = self._variable(), self._variable()
        self._emit(indent, f"if {' or '.join(self._differs(field, owner) for field in known)}:")
        indent += "    "
        self._emit(indent, f"{outer} = w", f"{tags} = []")
        for field in known:
            self._emit(indent, f"if {self._differs(field, owner)}:", "    w = bytearray()")
            self._value(field, owner, indent + "    ")
            self._end_run(indent + "    ")
            self._emit(indent, f"    {tags}.append(({field.tag}, w))")
        self._emit(indent, f"w = {outer}", f"w += uvarint(len({tags}))")
        tag, body = self._variable(), self._variable()
        self._emit(indent, f"for {tag}, {body} in {tags}:", f"    w += uvarint({tag}) + uvarint(len({body})) + {body}")
        self._emit(indent[4:], "else:", "    w.append(0)")

    def _differs(self, field: Field, owner: str) -> str:
        """An expression: whether a tagged field holds something other than its default."""
        value = f"{owner}.{field.name}"
        if field.default == ():
            return f"({value} is None or {value})" if self.version in field.nullable else value
        if field.default is None:
            if isinstance(field.type, type) and self.version not in field.nullable:
                constructor = f"new_{field.type.__name__}"
                self.names[constructor] = field.type
                return f"({value} is not None and {value} != {constructor}())"
            return f"{value} is not None"
        default = f"default_{field.name}_{len(self.names)}"
        self.names[default] = field.default
        return f"{value} != {default}"
