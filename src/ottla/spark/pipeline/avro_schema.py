"""Avro schemas as Spark's types, and the little that lies between fastavro's values and Arrow's. Pure.

fastavro reads and writes the encoding and resolves one schema with another; Spark's own reader of Avro is in a jar. A
schema may have all types but null alone and types that contain themselves. Of the logical types date,
timestamp-millis, timestamp-micros and decimal have a type of Spark's; others are the plain ones below them.

A union is what ``from_avro`` makes of it: of a type with null that type, of int and long a bigint, of float and double
a double, of others a struct with ``member0``, ``member1`` …, one for each type but null, of which one is not null.
"""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.common.extras import how_to_install


class AvroSchemaError(KafkaError):
    """A schema that is none, or that has something that is not read here."""


Convert = Callable[[Any], Any]


class AvroType(NamedTuple):
    """A type in Spark's DDL; ``load`` makes what Arrow takes of what fastavro gives, ``dump`` goes back; or None."""

    ddl: str
    load: Convert | None = None
    dump: Convert | None = None


class AvroSchema(NamedTuple):
    """The schema of a record. ``is_tagged``: fastavro says which type of a union a value is of."""

    parsed: dict[str, Any]
    """For fastavro."""
    type: AvroType
    fields: Mapping[str, AvroType]
    optional: frozenset[str]
    """The fields that have a default."""
    is_tagged: bool


_MAX_DEPTH: Final = 64
_DECIMAL: Final = "ottla.decimal"
"""In place of a decimal's ``logicalType``: fastavro would round what has too many digits."""
_DIGITS_MAX: Final = 38
_EXACT: Final = Context(prec=_DIGITS_MAX + 1)
_KEPT: Final = frozenset({("int", "date"), ("long", "timestamp-millis"), ("long", "timestamp-micros")})
_PRIMITIVE: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_PYTHON: Final[Mapping[str, type]] = {
    **{"boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes, "string": str},
    **{"array": list, "map": dict, "date": date, "timestamp-millis": datetime, "timestamp-micros": datetime},
}
"""What fastavro makes of a type that has no name."""


def read_schema(text: str) -> AvroSchema:
    """The schema of a record; AvroSchemaError if it cannot be read, or if fastavro is not installed."""
    try:
        import fastavro
    except ImportError:
        raise AvroSchemaError(f"fastavro, which reads Avro, is not installed: {how_to_install('spark')}") from None
    try:
        document = json.loads(text)
    except ValueError as error:
        raise AvroSchemaError(f"the Avro schema is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("type") != "record" or not document.get("fields"):
        raise AvroSchemaError("the Avro schema is not that of a record with fields")
    try:
        parsed: Any = fastavro.parse_schema(_without_logical_types(document, 0))
    except fastavro.schema.UnknownType as error:
        raise AvroSchemaError(f"the Avro schema has a type {error.name!r} that is not known") from None
    except (fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError) as error:
        raise AvroSchemaError(f"the Avro schema cannot be read: {type(error).__name__} {error}") from None
    types = _Types(is_tagged=_has_choice(parsed))
    whole = types.of(parsed)
    fields = {each["name"]: types.of(each["type"]) for each in parsed["fields"]}
    optional = frozenset(each["name"] for each in parsed["fields"] if "default" in each)
    return AvroSchema(parsed, whole, fields, optional, types.is_tagged)


def _without_logical_types(schema: Any, depth: int) -> Any:
    """The schema without the logical types that are not read as such."""
    if depth > _MAX_DEPTH:
        raise AvroSchemaError("the Avro schema is too deep")
    if isinstance(schema, list):
        return [_without_logical_types(each, depth + 1) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema["type"], list | dict):
        return _without_logical_types(schema["type"], depth + 1)
    plain = dict(schema)
    for part in ("items", "values"):
        if part in plain:
            plain[part] = _without_logical_types(plain[part], depth + 1)
    if "fields" in plain:
        plain["fields"] = [
            {**field, "type": _without_logical_types(field["type"], depth + 1)} for field in plain["fields"]
        ]
    logical = plain.get("logicalType")
    if logical is not None and (plain["type"], logical) not in _KEPT:
        del plain["logicalType"]
        if logical == "decimal" and plain["type"] in ("bytes", "fixed"):
            plain[_DECIMAL] = True
    return plain


def _has_choice(schema: Any) -> bool:
    """Whether there is a union of which the value alone does not say which type it is of."""
    if isinstance(schema, list):
        return len([each for each in schema if each != "null"]) > 1 or any(map(_has_choice, schema))
    if isinstance(schema, Mapping):
        return any(_has_choice(schema.get(name)) for name in ("type", "items", "values")) or any(
            map(_has_choice, schema.get("fields") or ())
        )
    return False


class _Types:
    """The types of one parsed schema; named ones are found again by their full names."""

    def __init__(self, *, is_tagged: bool) -> None:
        self.is_tagged = is_tagged
        self._named: dict[str, AvroType] = {}

    def of(self, schema: Any) -> AvroType:
        """The type of any part of the schema."""
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            known = self._named.get(schema) or (AvroType(_PRIMITIVE[schema]) if schema in _PRIMITIVE else None)
            if known is None:
                raise AvroSchemaError(
                    f"the Avro schema has the type {schema!r} where it says nothing, or within itself"
                )
            return known
        kind = schema["type"]
        if schema.get(_DECIMAL):
            return self._remember(schema, _decimal(schema))
        if schema.get("logicalType") is not None:
            return AvroType("date" if schema["logicalType"] == "date" else "timestamp")
        if kind == "record":
            return self._remember(schema, self._record(schema))
        if kind == "enum":
            return self._remember(schema, AvroType("string"))
        if kind == "fixed":
            return self._remember(schema, _fixed(schema))
        if kind == "array":
            return _array(self.of(schema["items"]))
        if kind == "map":
            return _map(self.of(schema["values"]))
        return self.of(kind)

    def _remember(self, schema: Mapping[str, Any], made: AvroType) -> AvroType:
        if "name" in schema:
            self._named[schema["name"]] = made
        return made

    def _record(self, schema: Mapping[str, Any]) -> AvroType:
        fields = {each["name"]: self.of(each["type"]) for each in schema["fields"]}
        if not fields:
            raise AvroSchemaError(f"the record {schema['name']} of the Avro schema has no fields")
        ddl = ", ".join(f"`{name}`: {each.ddl}" for name, each in fields.items())
        return AvroType(
            f"struct<{ddl}>",
            _in_record({name: each.load for name, each in fields.items() if each.load is not None}),
            _in_record({name: each.dump for name, each in fields.items() if each.dump is not None}),
        )

    def _union(self, schemas: list[Any]) -> AvroType:
        others = [each for each in schemas if each != "null"]
        if not others:
            raise AvroSchemaError("the Avro schema has a union of nothing but null")
        types = [self.of(each) for each in others]
        if len(others) == 1:
            load = types[0].load
            if self.is_tagged and _name_of(others[0]) is not None:
                return AvroType(types[0].ddl, _or_null(_untagged(load)), _or_null(types[0].dump))
            return AvroType(types[0].ddl, _or_null(load), _or_null(types[0].dump))
        for pair, wide in (({"int", "long"}, "bigint"), ({"float", "double"}, "double")):
            if all(isinstance(each, str) for each in others) and set(others) == pair:
                return AvroType(wide)
        return _choice(others, types)


def _in_record(converts: Mapping[str, Convert]) -> Convert | None:
    if not converts:
        return None
    return lambda value: {
        **value,
        **{name: convert(value[name]) for name, convert in converts.items() if name in value},
    }


def _or_null(convert: Convert | None) -> Convert | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _untagged(convert: Convert | None) -> Convert:
    """Of a pair of a name and a value the value."""
    return lambda pair: pair[1] if convert is None else convert(pair[1])


def _array(item: AvroType) -> AvroType:
    def over(convert: Convert | None) -> Convert | None:
        return None if convert is None else lambda value: [convert(each) for each in value]

    return AvroType(f"array<{item.ddl}>", over(item.load), over(item.dump))


def _map(item: AvroType) -> AvroType:
    load, dump = item.load or _same, item.dump or _same
    return AvroType(
        f"map<string, {item.ddl}>",
        lambda value: [(name, load(each)) for name, each in value.items()],
        lambda value: {name: dump(each) for name, each in value},
    )


def _same(value: Any) -> Any:
    return value


def _fixed(schema: Mapping[str, Any]) -> AvroType:
    if not isinstance(schema["size"], int) or schema["size"] < 1:
        raise AvroSchemaError(f"the fixed type {schema['name']} of the Avro schema has no size")
    return AvroType("binary")


def _decimal(schema: Mapping[str, Any]) -> AvroType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision <= _DIGITS_MAX:
        raise AvroSchemaError(f"a decimal of the Avro schema has no precision, or one above {_DIGITS_MAX}")
    size = schema.get("size")

    def load(data: bytes) -> Decimal:
        number = int.from_bytes(data, "big", signed=True)
        if abs(number) >= 10**precision:
            raise ValueError("a decimal in the value has more digits than the Avro schema allows")
        return Decimal(number).scaleb(-scale, _EXACT)

    def dump(value: Decimal) -> bytes:
        number = int(value.scaleb(scale, _EXACT))
        return number.to_bytes(size or (8 + (number + (number < 0)).bit_length()) // 8, "big", signed=True)

    return AvroType(f"decimal({precision},{scale})", load, dump)


def _choice(schemas: list[Any], types: list[AvroType]) -> AvroType:
    """A union as a struct with a member for each type."""
    members = [f"member{number}" for number in range(len(types))]
    names = [_name_of(each) for each in schemas]
    by_name = {name: number for number, name in enumerate(names) if name is not None}
    by_type = {_PYTHON[_kind_of(each)]: number for number, each in enumerate(schemas) if names[number] is None}

    def load(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        is_named = isinstance(value, tuple)
        number = by_name[value[0]] if is_named else by_type[type(value)]
        convert = types[number].load or _same
        return {members[number]: convert(value[1] if is_named else value)}

    def dump(value: Mapping[str, Any] | None) -> Any:
        there = [number for number, member in enumerate(members) if (value or {}).get(member) is not None]
        if not there:
            return None
        convert = types[there[0]].dump or _same
        plain = convert((value or {})[members[there[0]]])
        return plain if names[there[0]] is None else (names[there[0]], plain)

    ddl = ", ".join(f"{member}: {each.ddl}" for member, each in zip(members, types, strict=True))
    return AvroType(f"struct<{ddl}>", load, dump)


def _name_of(schema: Any) -> str | None:
    """The full name of a type that has one."""
    if isinstance(schema, str):
        return None if schema in _PRIMITIVE else schema
    return schema["name"] if schema["type"] in _NAMED else None


def _kind_of(schema: Any) -> str:
    return schema if isinstance(schema, str) else schema.get("logicalType") or schema["type"]
