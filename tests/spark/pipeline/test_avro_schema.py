"""Avro's schemas and binary encoding: what is read, what is refused, and random values there and back."""

import json
import struct
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.pipeline.avro_schema import AvroSchemaError, AvroValueError, decode_value, read_schema


def zigzag(number: int) -> bytes:
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def text(value: str) -> bytes:
    return zigzag(len(value.encode())) + value.encode()


def record(*fields: tuple[str, Any]) -> str:
    named = [{"name": name, "type": kind} for name, kind in fields]
    return json.dumps({"type": "record", "name": "r", "namespace": "n", "fields": named})


ENUM = {"type": "enum", "name": "colour", "symbols": ["red", "blue"]}
CASES: list[tuple[Any, bytes, Any, str]] = [
    ("boolean", b"\1", True, "boolean"),
    ("int", zigzag(-3), -3, "int"),
    ("long", zigzag(2**62), 2**62, "bigint"),
    ("float", struct.pack("<f", 1.5), 1.5, "float"),
    ("double", struct.pack("<d", -2.25), -2.25, "double"),
    ("bytes", b"\4\0\xff", b"\0\xff", "binary"),
    ("string", text("ümlaut"), "ümlaut", "string"),
    (["null", "string"], zigzag(0), None, "string"),
    (["null", "string"], zigzag(1) + text("x"), "x", "string"),
    (["int", "null"], zigzag(0) + zigzag(7), 7, "int"),
    (ENUM, zigzag(1), "blue", "string"),
    ({"type": "fixed", "name": "f", "size": 2}, b"ab", b"ab", "binary"),
    ({"type": "array", "items": "int"}, zigzag(2) + zigzag(1) + zigzag(2) + zigzag(0), [1, 2], "array<int>"),
    ({"type": "array", "items": "int"}, zigzag(-1) + zigzag(1) + zigzag(5) + zigzag(0), [5], "array<int>"),
    ({"type": "map", "values": "int"}, zigzag(1) + text("k") + zigzag(9) + zigzag(0), [("k", 9)], "map<string, int>"),
    ({"type": "int", "logicalType": "date"}, zigzag(1), date(1970, 1, 2), "date"),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        zigzag(1500),
        datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        "timestamp",
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        zigzag(2) + (-123).to_bytes(2, "big", signed=True),
        Decimal("-1.23"),
        "decimal(4,2)",
    ),
    ({"type": "string", "logicalType": "uuid"}, text("u"), "u", "string"),
    ({"type": {"type": "string"}}, text("u"), "u", "string"),
]


@pytest.mark.parametrize(("kind", "data", "value", "ddl"), CASES)
def test_every_type_is_read(kind: Any, data: bytes, value: Any, ddl: str) -> None:
    schema = read_schema(record(("a", "int"), ("b", kind)))
    assert schema.ddl == f"struct<`a`: int, `b`: {ddl}>"
    assert decode_value(schema, zigzag(1) + data) == {"a": 1, "b": value}


@pytest.mark.parametrize(("kind", "data", "value", "ddl"), CASES)
def test_a_value_that_is_cut_or_longer_is_refused(kind: Any, data: bytes, value: Any, ddl: str) -> None:
    schema = read_schema(record(("b", kind), ("last", "int")))
    whole = data + zigzag(1)
    assert decode_value(schema, whole) == {"b": value, "last": 1}
    for end in range(len(whole)):
        with pytest.raises(AvroValueError):
            decode_value(schema, whole[:end])
    with pytest.raises(AvroValueError, match="1 bytes are left"):
        decode_value(schema, whole + b"\0")


def test_named_types_are_known_later() -> None:
    schema = read_schema(record(("a", ENUM), ("b", "colour"), ("c", ["null", "n.colour"])))
    assert decode_value(schema, zigzag(0) + zigzag(1) + zigzag(1) + zigzag(0)) == {"a": "red", "b": "blue", "c": "red"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("nonsense", "is not JSON"),
        ('"string"', "is not that of a record"),
        ('{"type": "record", "name": "r", "fields": []}', "is not that of a record"),
        (record(("a", "no-such-type")), "a type 'no-such-type' that is not known"),
        (record(("a", ["int", "string"])), "a union of other things than a type and null"),
        (record(("a", ["null", "int", "string"])), "a union of other things than a type and null"),
        (record(("a", "r")), "a type 'r' that is not known \\(or contains itself\\)"),
        (record(("a", {"type": "fixed", "name": "f"})), "has no size"),
        (record(("a", {"type": "bytes", "logicalType": "decimal"})), "has no precision"),
        (record(("a", None)), "where a type should be"),
    ],
)
def test_what_cannot_be_read_is_refused(schema: str, words: str) -> None:
    with pytest.raises(AvroSchemaError, match=words):
        read_schema(schema)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    kinds = [("f" + str(number), kind) for number, (kind, *_) in enumerate(CASES) if not isinstance(kind, dict)]
    schema = read_schema(record(("list", {"type": "array", "items": "string"}), *kinds))
    with suppress(AvroValueError):
        decode_value(schema, data)


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(), st.none() | st.floats(allow_nan=False))))
def test_values_come_back_as_they_were(rows: list[tuple[int, str, float | None]]) -> None:
    schema = read_schema(record(("n", "long"), ("s", "string"), ("d", ["null", "double"])))
    for n, s, d in rows:
        tail = zigzag(0) if d is None else zigzag(1) + struct.pack("<d", d)
        assert decode_value(schema, zigzag(n) + text(s) + tail) == {"n": n, "s": s, "d": d}
