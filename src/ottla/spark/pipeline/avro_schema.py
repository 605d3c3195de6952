"""Avro schemas: read once into decoders of Avro's binary encoding, and into Spark's types. Pure.

Spark's own reader of Avro is in a jar; this needs none. A schema may have records, enums, arrays, maps, fixed and all
primitive types, unions of a type with null, and the logical types date, timestamp-millis, timestamp-micros and decimal;
other logical types are the plain ones below them, and other unions are refused.
"""

import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from ottla.common.errors import KafkaError


class AvroSchemaError(KafkaError):
    """A schema that is none, or that has something that is not read here."""


class AvroValueError(KafkaError):
    """Bytes that are not of the schema."""


class Cursor:
    """A place in a value."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise AvroValueError("the value ends too early for the Avro schema")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def long(self) -> int:
        """A number in zigzag and base 128."""
        shift = result = 0
        while shift < 70:
            if self.at >= len(self.data):
                raise AvroValueError("the value ends too early for the Avro schema")
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (result >> 1) ^ -(result & 1)
            shift += 7
        raise AvroValueError("a number in the value is longer than the Avro schema allows")


Decode = Callable[[Cursor], Any]


class AvroType(NamedTuple):
    """A type: how a value of it is read, and Spark's type, in Spark's DDL."""

    decode: Decode
    ddl: str


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1)
_MAX_DEPTH: Final = 64


def _text(cursor: Cursor) -> str:
    try:
        return cursor.take(cursor.long()).decode()
    except UnicodeDecodeError:
        raise AvroValueError("a text in the value is not UTF-8") from None


def _boolean(cursor: Cursor) -> bool:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise AvroValueError("a boolean in the value is neither true nor false")
    return byte == 1


def _checked(bits: int) -> Decode:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def decode(cursor: Cursor) -> int:
        number = cursor.long()
        if not low <= number <= high:
            raise AvroValueError("a number in the value is larger than the Avro schema allows")
        return number

    return decode


def _timestamp(unit_us: int) -> Decode:
    def decode(cursor: Cursor) -> datetime:
        try:
            return _EPOCH + timedelta(microseconds=cursor.long() * unit_us)
        except OverflowError:
            raise AvroValueError("a time in the value is out of range") from None

    return decode


def _date(cursor: Cursor) -> date:
    try:
        return _EPOCH_DAY + timedelta(days=cursor.long())
    except OverflowError:
        raise AvroValueError("a date in the value is out of range") from None


_PRIMITIVE: Final[Mapping[str, AvroType]] = {
    "boolean": AvroType(_boolean, "boolean"),
    "int": AvroType(_checked(32), "int"),
    "long": AvroType(_checked(64), "bigint"),
    "float": AvroType(lambda cursor: struct.unpack("<f", cursor.take(4))[0], "float"),
    "double": AvroType(lambda cursor: struct.unpack("<d", cursor.take(8))[0], "double"),
    "bytes": AvroType(lambda cursor: cursor.take(cursor.long()), "binary"),
    "string": AvroType(_text, "string"),
}
_LOGICAL: Final[Mapping[tuple[str, str], AvroType]] = {
    ("int", "date"): AvroType(_date, "date"),
    ("long", "timestamp-millis"): AvroType(_timestamp(1000), "timestamp"),
    ("long", "timestamp-micros"): AvroType(_timestamp(1), "timestamp"),
}


def read_schema(text: str) -> AvroType:
    """The type of a schema, which is to be that of a record; AvroSchemaError if it cannot be read."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise AvroSchemaError(f"the Avro schema is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("type") != "record" or not document.get("fields"):
        raise AvroSchemaError("the Avro schema is not that of a record with fields")
    return _type_of(document, {}, "", 0)


def decode_value(schema: AvroType, data: bytes) -> Any:
    """The value; AvroValueError if the bytes are not of the schema, or more than one value."""
    cursor = Cursor(data)
    value = schema.decode(cursor)
    if cursor.at != len(data):
        raise AvroValueError(f"{len(data) - cursor.at} bytes are left behind the value of the Avro schema")
    return value


def _type_of(schema: Any, named: dict[str, AvroType], space: str, depth: int) -> AvroType:
    if depth > _MAX_DEPTH:
        raise AvroSchemaError("the Avro schema is too deep")
    if isinstance(schema, list):
        return _union(schema, named, space, depth)
    if isinstance(schema, str):
        found = _PRIMITIVE.get(schema) or named.get(schema) or named.get(f"{space}.{schema}")
        if found is None:
            raise AvroSchemaError(f"the Avro schema has a type {schema!r} that is not known (or contains itself)")
        return found
    if not isinstance(schema, dict) or "type" not in schema:
        raise AvroSchemaError(f"the Avro schema has {json.dumps(schema)[:60]} where a type should be")
    kind = schema["type"]
    if isinstance(kind, str) and (kind, str(schema.get("logicalType"))) in _LOGICAL:
        return _LOGICAL[kind, str(schema["logicalType"])]
    if schema.get("logicalType") == "decimal" and kind in ("bytes", "fixed"):
        return _remember(_decimal(schema), schema, named, space)
    make = _COMPLEX.get(kind) if isinstance(kind, str) else None
    if make is None:
        return _type_of(kind, named, space, depth + 1)
    space = schema.get("namespace", space)
    return _remember(make(schema, named, space, depth + 1), schema, named, space)


def _remember(made: AvroType, schema: Mapping[str, Any], named: dict[str, AvroType], space: str) -> AvroType:
    name = schema.get("name")
    if isinstance(name, str):
        named[name] = made
        named[f"{space}.{name}"] = made
    return made


def _union(branches: list[Any], named: dict[str, AvroType], space: str, depth: int) -> AvroType:
    others = [each for each in branches if each != "null"]
    if len(others) != 1 or len(branches) > 2:
        raise AvroSchemaError(
            f"the Avro schema has a union of other things than a type and null: {json.dumps(branches)[:80]}"
        )
    inner = _type_of(others[0], named, space, depth + 1)
    if len(branches) == 1:
        return inner
    null_at = branches.index("null")

    def decode(cursor: Cursor) -> Any:
        branch = cursor.long()
        if not 0 <= branch < len(branches):
            raise AvroValueError("the value has a branch of a union that the Avro schema has not")
        return None if branch == null_at else inner.decode(cursor)

    return AvroType(decode, inner.ddl)


def _record(schema: Mapping[str, Any], named: dict[str, AvroType], space: str, depth: int) -> AvroType:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(each, dict) and "name" in each for each in fields):
        raise AvroSchemaError(f"the record {schema.get('name')} of the Avro schema has no fields")
    parts = [(each["name"], _type_of(each.get("type"), named, space, depth)) for each in fields]
    decoders = [(name, part.decode) for name, part in parts]
    ddl = ", ".join(f"`{name}`: {part.ddl}" for name, part in parts)
    return AvroType(lambda cursor: {name: decode(cursor) for name, decode in decoders}, f"struct<{ddl}>")


def _enum(schema: Mapping[str, Any], _named: dict[str, AvroType], _space: str, _depth: int) -> AvroType:
    symbols = schema.get("symbols") or []

    def decode(cursor: Cursor) -> str:
        index = cursor.long()
        if not 0 <= index < len(symbols):
            raise AvroValueError(f"the value has a symbol that {schema.get('name')} of the Avro schema has not")
        return str(symbols[index])

    return AvroType(decode, "string")


def _blocks(cursor: Cursor, item: Callable[[Cursor], None]) -> None:
    """Items in blocks, each with its count, and its size if the count is negative; a count of zero ends them."""
    while count := cursor.long():
        if count < 0:
            count = -count
            cursor.long()
        if count > len(cursor.data):
            raise AvroValueError("the value has more items than bytes")
        for _ in range(count):
            item(cursor)


def _array(schema: Mapping[str, Any], named: dict[str, AvroType], space: str, depth: int) -> AvroType:
    inner = _type_of(schema.get("items"), named, space, depth)

    def decode(cursor: Cursor) -> list[Any]:
        items: list[Any] = []
        _blocks(cursor, lambda each: items.append(inner.decode(each)))
        return items

    return AvroType(decode, f"array<{inner.ddl}>")


def _map(schema: Mapping[str, Any], named: dict[str, AvroType], space: str, depth: int) -> AvroType:
    inner = _type_of(schema.get("values"), named, space, depth)

    def decode(cursor: Cursor) -> list[tuple[str, Any]]:
        items: list[tuple[str, Any]] = []
        _blocks(cursor, lambda each: items.append((_text(each), inner.decode(each))))
        return items

    return AvroType(decode, f"map<string, {inner.ddl}>")


def _fixed(schema: Mapping[str, Any], _named: dict[str, AvroType], _space: str, _depth: int) -> AvroType:
    size = schema.get("size")
    if not isinstance(size, int) or size < 0:
        raise AvroSchemaError(f"the fixed type {schema.get('name')} of the Avro schema has no size")
    return AvroType(lambda cursor: cursor.take(size), "binary")


def _decimal(schema: Mapping[str, Any]) -> AvroType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision <= 38:
        raise AvroSchemaError("a decimal of the Avro schema has no precision, or one above 38")
    plain = _fixed(schema, {}, "", 0) if schema["type"] == "fixed" else _PRIMITIVE["bytes"]

    def decode(cursor: Cursor) -> Decimal:
        number = Decimal(int.from_bytes(plain.decode(cursor), "big", signed=True)).scaleb(-scale)
        if len(number.as_tuple().digits) > precision:
            raise AvroValueError("a decimal in the value has more digits than the Avro schema allows")
        return number

    return AvroType(decode, f"decimal({precision},{scale})")


_COMPLEX: Final = {"record": _record, "enum": _enum, "array": _array, "map": _map, "fixed": _fixed}
