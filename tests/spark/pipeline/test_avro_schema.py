"""Avro's schemas and values: what is read, resolved and written, what is refused, and random values there and back."""

import json
import pickle
import struct
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.pipeline.avro_schema import AvroSchemaError, read_schema
from ottla.spark.pipeline.avro_values import AvroBatches, AvroEncoder, AvroEncodingError


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


ARROW = {
    **{"boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(), "double": pa.float64()},
    **{"binary": pa.binary(), "string": pa.string(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC")},
    **{
        "array<int>": pa.list_(pa.int32()),
        "array<string>": pa.list_(pa.string()),
        "map<string, bigint>": pa.map_(pa.string(), pa.int64()),
        "map<string, int>": pa.map_(pa.string(), pa.int32()),
    },
    **{"decimal(4,2)": pa.decimal128(4, 2), "decimal(38,3)": pa.decimal128(38, 3)},
}


def batches(schema: str, *, reader: str | None = None, confluent: bool = False) -> AvroBatches:
    ddl = read_schema(reader or schema).type.ddl
    result = pa.struct([("value", arrow_of(ddl)), ("error", pa.string())])
    return AvroBatches(schema, reader, result, confluent=confluent)


def arrow_of(ddl: str) -> pa.DataType:
    """Arrow's type for Spark's; of structs, whose fields are between backquotes or called member0 and so on."""
    if ddl in ARROW:
        return ARROW[ddl]
    fields, depth, start = [], 0, 7
    assert ddl.startswith("struct<"), ddl
    for at, letter in enumerate(ddl[:-1] + ","):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 1:
            name, _, kind = ddl[start:at].partition(": ")
            fields.append((name.strip(" `"), arrow_of(kind)))
            start = at + 1
    return pa.struct(fields)


def read(schema: str, *values: bytes | None, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = batches(schema, **more)(pa.array(values, pa.binary())).to_pylist()
    return found


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
    (
        {"type": "fixed", "name": "d", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 3},
        (10**37 + 1).to_bytes(16, "big", signed=True),
        Decimal((0, (1, *[0] * 36, 1), -3)),
        "decimal(38,3)",
    ),
    (["int", "long"], zigzag(1) + zigzag(2**40), 2**40, "bigint"),
    (["float", "double"], zigzag(0) + struct.pack("<f", 1.5), 1.5, "double"),
    ({"type": "string", "logicalType": "uuid"}, text("u"), "u", "string"),
    ({"type": {"type": "string"}}, text("u"), "u", "string"),
]


@pytest.mark.parametrize(("kind", "data", "value", "ddl"), CASES)
def test_every_type_is_read_and_written(kind: Any, data: bytes, value: Any, ddl: str) -> None:
    text = record(("a", "int"), ("b", kind))
    schema = read_schema(text)
    assert schema.type.ddl == f"struct<`a`: int, `b`: {ddl}>"
    (found,) = read(text, zigzag(1) + data)
    assert found == {"value": {"a": 1, "b": value}, "error": None}
    (written,) = AvroEncoder(text, None)(pa.array([found["value"]], arrow_of(schema.type.ddl))).to_pylist()
    assert read(text, written) == [found]


@pytest.mark.parametrize(("kind", "data", "value", "ddl"), CASES)
def test_a_value_that_is_cut_or_longer_is_bad(kind: Any, data: bytes, value: Any, ddl: str) -> None:
    text = record(("b", kind), ("last", "int"))
    whole = data + zigzag(1)
    good, longer, *cut = read(text, whole, whole + b"\0", *(whole[:end] for end in range(len(whole))))
    assert good == {"value": {"b": value, "last": 1}, "error": None}
    assert longer == {"value": None, "error": "1 bytes are left behind the value of the Avro schema"}
    assert {each["error"] for each in cut} == {"the value ends too early for the Avro schema"}


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("int", zigzag(2**31)),
        ("string", b"\2\xff"),
        (ENUM, zigzag(2)),
        (["null", "string"], zigzag(2)),
        ({"type": "long", "logicalType": "timestamp-millis"}, zigzag(2**62)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, zigzag(2) + (10_000).to_bytes(2)),
    ],
)
def test_what_does_not_fit_is_bad_and_its_neighbours_are_not(kind: Any, data: bytes) -> None:
    text = record(("b", kind), ("last", "int"))
    good = next(each for each in CASES if each[0] == kind)[1]
    first, bad, null = read(text, good + zigzag(1), data + zigzag(1), None)
    assert first["error"] is None
    assert first["value"]["last"] == 1
    assert bad["value"] is None
    assert bad["error"].startswith("the value does not fit the Avro schema")
    assert null == {"value": None, "error": None}


def test_unions_are_structs_of_which_one_member_is_there() -> None:
    inner = {"type": "record", "name": "inner", "fields": [{"name": "n", "type": ["null", ENUM]}]}
    union = ["null", "string", inner, "n.colour", {"type": "map", "values": "int"}, "boolean", "int", "double"]
    text = record(("u", union), ("last", ["null", "n.inner"]))
    schema = read_schema(text)
    members = ["string", "struct<`n`: string>", "string", "map<string, int>", "boolean", "int", "double"]
    named = ", ".join(f"member{number}: {member}" for number, member in enumerate(members))
    assert schema.type.ddl == f"struct<`u`: struct<{named}>, `last`: struct<`n`: string>>"
    empty = dict.fromkeys(f"member{number}" for number in range(7))
    last = zigzag(1) + zigzag(1) + zigzag(0)
    values: list[tuple[bytes, Any]] = [
        (zigzag(0), None),
        (zigzag(1) + b"\2x", empty | {"member0": "x"}),
        (zigzag(2) + zigzag(1) + zigzag(1), empty | {"member1": {"n": "blue"}}),
        (zigzag(2) + zigzag(0), empty | {"member1": {"n": None}}),
        (zigzag(3) + zigzag(0), empty | {"member2": "red"}),
        (zigzag(4) + zigzag(1) + b"\2k" + zigzag(9) + zigzag(0), empty | {"member3": [("k", 9)]}),
        (zigzag(5) + b"\1", empty | {"member4": True}),
        (zigzag(6) + zigzag(7), empty | {"member5": 7}),
        (zigzag(7) + struct.pack("<d", 0.5), empty | {"member6": 0.5}),
    ]
    found = read(text, *(data + last for data, _ in values))
    assert found == [{"value": {"u": value, "last": {"n": "red"}}, "error": None} for _, value in values]
    rows = pa.array([each["value"] for each in found], arrow_of(schema.type.ddl))
    assert AvroEncoder(text, None)(rows).to_pylist() == [data + last for data, _ in values]


def test_values_are_read_by_another_schema_than_they_were_written_by() -> None:
    written = record(("id", "int"), ("old", "string"), ("gone", "long"))
    fields = [
        {"name": "new", "type": "string", "aliases": ["old"]},
        {"name": "id", "type": "long"},
        {"name": "more", "type": ["null", "int"], "default": None},
        {"name": "colour", "type": ENUM, "default": "blue"},
    ]
    reader = json.dumps({"type": "record", "name": "r", "namespace": "n", "fields": fields})
    assert read(written, zigzag(3) + b"\2x" + zigzag(9), reader=reader) == [
        {"value": {"new": "x", "id": 3, "more": None, "colour": "blue"}, "error": None}
    ]
    (bad,) = read(record(("id", "string")), b"\2x", reader=record(("id", "int")))
    assert bad["error"].startswith("the value cannot be read by the reader's Avro schema: ")


def test_confluents_framing_is_read_and_written() -> None:
    text = record(("n", "int"))
    good, other, short = read(text, b"\0\0\0\0\7\2", b"\1\0\0\0\7\2", b"\0\0", confluent=True)
    assert good == {"value": {"n": 1}, "error": None}
    assert other["error"] == short["error"] == "the value does not begin with a schema's id"
    assert AvroEncoder(text, 7)(pa.array([{"n": 1}, None])).to_pylist() == [b"\0\0\0\0\7\2", None]


def test_a_row_that_does_not_fit_is_an_error_with_a_sentence() -> None:
    with pytest.raises(AvroEncodingError, match="a row does not fit the Avro schema of the topic: "):
        AvroEncoder(record(("n", "int")), None)(pa.array([{"n": None}], pa.struct([("n", pa.int32())])))


def test_readers_and_writers_travel() -> None:
    text = record(("n", "int"))
    copied = pickle.loads(pickle.dumps(batches(text, confluent=True)))
    encoder = pickle.loads(pickle.dumps(AvroEncoder(text, 7)))
    assert copied(encoder(pa.array([{"n": 5}]))).to_pylist()[0]["value"] == {"n": 5}


def test_named_types_are_known_later() -> None:
    text = record(("a", ENUM), ("b", "colour"), ("c", ["null", "n.colour"]))
    data = zigzag(0) + zigzag(1) + zigzag(1) + zigzag(0)
    assert read(text, data)[0]["value"] == {"a": "red", "b": "blue", "c": "red"}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("nonsense", "is not JSON"),
        ('"string"', "is not that of a record"),
        ('{"type": "record", "name": "r", "fields": []}', "is not that of a record"),
        (record(("a", "no-such-type")), "a type 'n.no-such-type' that is not known"),
        (record(("a", "null")), "the type 'null' where it says nothing"),
        (record(("a", {"type": "array", "items": "null"})), "the type 'null' where it says nothing"),
        (record(("a", ["null"])), "a union of nothing but null"),
        (record(("a", ["null", "r"])), "the type 'n.r' where it says nothing, or within itself"),
        (
            record(("a", {"type": "record", "name": "i", "fields": []})),
            r"the record n\.i of the Avro schema has no fields",
        ),
        (record(("a", {"type": "fixed", "name": "f"})), "cannot be read: .*size"),
        (record(("a", {"type": "fixed", "name": "f", "size": 0})), "has no size"),
        (record(("a", {"type": "bytes", "logicalType": "decimal"})), "has no precision"),
        (record(("a", None)), "the Avro schema cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused(schema: str, words: str) -> None:
    with pytest.raises(AvroSchemaError, match=words):
        read_schema(schema)


def test_without_fastavro_one_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(AvroSchemaError, match=r"fastavro, which reads Avro, is not installed: .* -m pip install"):
        read_schema(record(("n", "int")))


ALL = record(
    ("list", {"type": "array", "items": "string"}),
    ("map", {"type": "map", "values": ["null", "long"]}),
    ("choice", ["int", "string", ENUM]),
    *(("f" + str(number), kind) for number, (kind, *_) in enumerate(CASES) if not isinstance(kind, dict | list)),
)


BATCHES = batches(ALL)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    (found,) = BATCHES(pa.array([data], pa.binary())).to_pylist()
    assert (found["value"] is None) != (found["error"] is None)


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(), st.none() | st.floats(allow_nan=False))))
def test_values_come_back_as_they_were(rows: list[tuple[int, str, float | None]]) -> None:
    schema = record(("n", "long"), ("s", "string"), ("d", ["null", "double"]))
    values = []
    for n, s, d in rows:
        tail = zigzag(0) if d is None else zigzag(1) + struct.pack("<d", d)
        values.append(zigzag(n) + text(s) + tail)
    wanted = [{"n": n, "s": s, "d": d} for n, s, d in rows]
    assert [each["value"] for each in read(schema, *values)] == wanted
    assert AvroEncoder(schema, None)(pa.array(wanted, arrow_of(read_schema(schema).type.ddl))).to_pylist() == values
