"""Keys and values to bytes and back, as Apache's serializers do it."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.clients import serialization as s
from ottla.clients.errors import SerializationError
from ottla.common.errors import InvalidConfigError
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "ErrorFacts.java"
SAMPLE_UUID = UUID(int=0x0123456789ABCDEFFEDCBA9876543210)


def test_bytes_are_those_of_apaches_serializers(oracle: Oracle) -> None:
    done = oracle.run_source(PROGRAM)
    assert done.returncode == 0, done.stderr
    ours = {
        "short -2": s.serialize_short("t", -2),
        "int 1234567": s.serialize_int("t", 1234567),
        "long -9000000000": s.serialize_long("t", -9_000_000_000),
        "float 1.5": s.serialize_float("t", 1.5),
        "double -0.1": s.serialize_double("t", -0.1),
        "boolean true": s.serialize_boolean("t", data_true()),
        "str naïve ☃": s.serialize_str("t", "naïve ☃"),
        "uuid": s.serialize_uuid("t", SAMPLE_UUID),
    }
    assert {name: (data or b"").hex() for name, data in ours.items()} == json.loads(done.stdout)["bytes"]


def data_true() -> bool:
    return True


PAIRS: list[tuple[Any, Any, st.SearchStrategy[Any]]] = [
    (s.serialize_bytes, s.deserialize_bytes, st.binary()),
    (s.serialize_str, s.deserialize_str, st.text()),
    (s.serialize_short, s.deserialize_short, st.integers(-(2**15), 2**15 - 1)),
    (s.serialize_int, s.deserialize_int, st.integers(-(2**31), 2**31 - 1)),
    (s.serialize_long, s.deserialize_long, st.integers(-(2**63), 2**63 - 1)),
    (s.serialize_float, s.deserialize_float, st.floats(width=32, allow_nan=False)),
    (s.serialize_double, s.deserialize_double, st.floats(allow_nan=False)),
    (s.serialize_boolean, s.deserialize_boolean, st.booleans()),
    (s.serialize_uuid, s.deserialize_uuid, st.uuids()),
    (
        s.serialize_json,
        s.deserialize_json,
        st.recursive(st.text() | st.integers() | st.booleans(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
    ),
]


@pytest.mark.parametrize(("serialize", "deserialize", "values"), PAIRS, ids=lambda part: getattr(part, "__name__", ""))
def test_what_goes_in_comes_out(serialize: Any, deserialize: Any, values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def round_trip(value: Any) -> None:
        data = serialize("t", value)
        assert type(data) is bytes
        assert deserialize("t", data) == value

    round_trip()
    assert serialize("t", None) is None
    assert deserialize("t", None) is None


@pytest.mark.parametrize(
    ("serializer", "value"),
    [
        (s.serialize_int, 2**31),
        (s.serialize_int, "1"),
        (s.serialize_bytes, "text"),
        (s.serialize_void, b""),
        (s.serialize_boolean, "false"),
    ],
)
def test_what_does_not_fit_is_refused(serializer: Any, value: object) -> None:
    with pytest.raises(SerializationError):
        serializer("t", value)


@pytest.mark.parametrize(
    ("deserializer", "data"),
    [
        (s.deserialize_int, b""),
        (s.deserialize_int, b"12345"),
        (s.deserialize_long, b"1234"),
        (s.deserialize_void, b""),
        (s.deserialize_boolean, b"\2"),
        (s.deserialize_boolean, b""),
    ],
)
def test_bytes_of_another_type_are_refused(deserializer: Any, data: bytes) -> None:
    with pytest.raises(SerializationError):
        deserializer("t", data)


class Shouting:
    """An object with methods, as Java's are."""

    def serialize(self, topic: str, data: str) -> bytes:
        return f"{topic}:{data.upper()}".encode()

    def deserialize(self, data: bytes | None) -> str:
        return (data or b"").decode().lower()


@pytest.mark.parametrize(
    ("given_", "value", "expected"),
    [
        (lambda value: value.encode(), "x", b"x"),
        (lambda topic, value: f"{topic}{value}".encode(), "x", b"tx"),
        (str.encode, "x", b"x"),
        (bytes, bytearray(b"x"), b"x"),
        (Shouting(), "x", b"t:X"),
        ("org.apache.kafka.common.serialization.StringSerializer", "x", b"x"),
        ("LongSerializer", 1, b"\0" * 7 + b"\1"),
        (s.serialize_str, "x", b"x"),
        (lambda value, encoding="utf-16-le": value.encode(encoding), "x", b"x\0"),
    ],
)
def test_users_may_give_what_they_have(given_: object, value: object, expected: bytes) -> None:
    serializer = s.as_serializer(given_)
    assert serializer is not None
    assert serializer("t", value) == expected


def test_deserializers_likewise() -> None:
    for given_ in (lambda data: data.decode(), bytes.decode, "StringDeserializer", s.deserialize_str):
        deserializer = s.as_deserializer(given_)
        assert deserializer is not None
        assert deserializer("t", b"x") == "x"
        assert deserializer("t", None) is None
    shouting = s.as_deserializer(Shouting())
    assert shouting is not None
    assert shouting("t", b"X") == "x"
    assert s.as_serializer(None) is None
    assert s.as_deserializer(None) is None


@pytest.mark.parametrize("given_", [7, "com.example.MySerializer", "StringDeserializer", "String"])
def test_what_is_no_serializer_is_refused(given_: object) -> None:
    with pytest.raises(InvalidConfigError):
        s.as_serializer(given_)
