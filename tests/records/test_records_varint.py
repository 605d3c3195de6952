import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidRecordError
from ottla.records.varint import (
    encode_unsigned_varint,
    encode_varint,
    read_unsigned_varint,
    read_varint,
    read_varlong,
    size_of_varint,
)

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (INT32_MAX, "feffffff0f"),
        (INT32_MIN, "ffffffff0f"),
    ],
)
def test_known_encodings(value: int, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    assert encode_varint(value) == data
    assert read_varint(data, 0) == (value, len(data))
    assert read_varlong(data, 0) == (value, len(data))
    assert size_of_varint(value) == len(data)


def test_known_varlong_extremes() -> None:
    assert encode_varint(INT64_MAX).hex() == "feffffffffffffffff01"
    assert encode_varint(INT64_MIN).hex() == "ffffffffffffffffff01"


@given(st.integers(INT32_MIN, INT32_MAX))
def test_varint_round_trip(value: int) -> None:
    data = encode_varint(value)
    assert read_varint(b"??" + data, 2) == (value, 2 + len(data))
    assert size_of_varint(value) == len(data) <= 5


@given(st.integers(INT64_MIN, INT64_MAX))
def test_varlong_round_trip(value: int) -> None:
    data = encode_varint(value)
    assert read_varlong(data, 0) == (value, len(data))
    assert size_of_varint(value) == len(data) <= 10


@given(st.integers(0, (1 << 32) - 1))
def test_unsigned_round_trip(value: int) -> None:
    data = encode_unsigned_varint(value)
    assert read_unsigned_varint(data, 0) == (value, len(data))


def test_numbers_that_do_not_end_are_invalid() -> None:
    with pytest.raises(InvalidRecordError):
        read_varint(b"\x80\x80\x80\x80\x80\x01", 0)
    with pytest.raises(InvalidRecordError):
        read_unsigned_varint(b"\xff" * 5, 0)
    with pytest.raises(InvalidRecordError):
        read_varlong(b"\x80" * 10 + b"\x01", 0)
    assert read_varlong(b"\x80" * 9 + b"\x01", 0) == (1 << 62, 10)


def test_bits_beyond_the_width_are_dropped_as_java_drops_them() -> None:
    assert read_varint(b"\xfe\xff\xff\xff\x7f", 0) == (INT32_MAX, 5)
    assert read_varlong(b"\xfe" + b"\xff" * 8 + b"\x7f", 0) == (INT64_MAX, 10)


def test_numbers_that_are_cut_raise_index_error() -> None:
    for data in (b"", b"\x80", b"\x80\x80\x80\x80"):
        with pytest.raises(IndexError):
            read_varint(data, 0)
