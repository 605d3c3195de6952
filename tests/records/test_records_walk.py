"""Both walks find the same records, write them again alike, and refuse the same damage."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import InvalidRecordError
from ottla.records import walk_numba
from ottla.records.record import Header, encode_record
from ottla.records.varint import encode_varint
from ottla.records.walk import RecordSpan, copy_records, walk_records

Fields = tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]

maybe_bytes = st.none() | st.binary(max_size=200)
records = st.lists(
    st.tuples(
        st.integers(-(1 << 40), 1 << 40),
        st.integers(0, (1 << 31) - 1),
        maybe_bytes,
        maybe_bytes,
        st.lists(st.builds(Header, st.text(max_size=4), maybe_bytes), max_size=2).map(tuple),
    ),
    max_size=12,
)


def encode(fields: list[Fields]) -> bytes:
    return b"".join(encode_record(offset, timestamp, k, v, h) for timestamp, offset, k, v, h in fields)


def numba_walk(
    payload: bytes, start: int, end: int, count: int
) -> tuple[int, "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"]:
    rows = np.zeros((count, walk_numba.COLUMNS), np.int64)
    return walk_numba.walk_records(np.frombuffer(payload, np.uint8), start, end, count, rows), rows


def outcome(payload: bytes, start: int, end: int, count: int) -> list[RecordSpan] | None:
    try:
        return walk_records(payload, start, end, count)
    except InvalidRecordError:
        return None


@settings(deadline=None)
@given(records, st.integers(0, 3), st.integers(0, 1), st.integers(-(1 << 41), 1 << 41))
def test_walks_and_copies_agree(fields: list[Fields], padding: int, factor: int, shift: int) -> None:
    encoded = encode(fields)
    payload = bytes(padding) + encoded + b"\x00\x01"
    spans = walk_records(payload, padding, padding + len(encoded), len(fields))
    assert [(s.timestamp_delta, s.offset_delta) for s in spans] == [(f[0], f[1]) for f in fields]
    assert [payload[s.key : s.key + s.key_length] if s.key_length >= 0 else None for s in spans] == [
        f[2] for f in fields
    ]
    assert [s.value_length for s in spans] == [-1 if f[3] is None else len(f[3]) for f in fields]
    assert bytes(copy_records(payload, spans, 1, 0)) == encoded
    expected = encode([(f[0] * factor + shift, *f[1:]) for f in fields])
    assert bytes(copy_records(payload, spans, factor, shift)) == expected

    position, rows = numba_walk(payload, padding, padding + len(encoded), len(fields))
    assert position == padding + len(encoded)
    assert [tuple(row) for row in rows] == spans
    target = np.zeros(len(encoded) + len(fields) * walk_numba.COPY_GROWTH_BYTES, np.uint8)
    keep = np.ones(len(fields), np.uint8)
    size = walk_numba.copy_records(np.frombuffer(payload, np.uint8), rows, keep, len(fields), factor, shift, target)
    assert target[:size].tobytes() == expected


@settings(deadline=None)
@given(records, st.data())
def test_damage_is_refused_by_both_or_neither(fields: list[Fields], data: st.DataObject) -> None:
    payload = bytearray(encode(fields))
    if payload:
        position = data.draw(st.integers(0, len(payload) - 1))
        payload[position] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(payload)))
    count = data.draw(st.integers(0, len(fields) + 1))
    spans = outcome(bytes(payload), 0, end, count)
    position, rows = numba_walk(bytes(payload), 0, end, count)
    assert (position >= 0) == (spans is not None)
    if spans is not None:
        assert [tuple(row) for row in rows] == spans
        assert position == (spans[-1].end if spans else 0)


@pytest.mark.parametrize("cut", [1, 5])
def test_a_cut_payload_is_refused(cut: int) -> None:
    payload = encode_record(0, 0, b"key", b"value", ())
    with pytest.raises(InvalidRecordError):
        walk_records(payload, 0, len(payload) - cut, 1)


def test_a_walk_ends_where_it_is_told_to() -> None:
    one = encode_record(0, 0, b"key", b"value", ())
    payload = one + encode_record(1, 0, b"key", b"value", ())
    assert [span.end for span in walk_records(payload, 0, len(payload), 1)] == [len(one)]
    assert numba_walk(payload, 0, len(payload), 1)[0] == len(one)


@pytest.mark.parametrize("length", [-1, -2, -(1 << 31)])
def test_a_negative_length_is_a_null(length: int) -> None:
    body = b"\x00\x00\x00" + encode_varint(length) + encode_varint(length) + b"\x00"
    payload = encode_varint(len(body)) + body
    (span,) = walk_records(payload, 0, len(payload), 1)
    assert (span.key_length, span.value_length) == (length, length)
    assert tuple(numba_walk(payload, 0, len(payload), 1)[1][0]) == span


def test_without_a_place_for_the_cache_functions_are_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def no_locator(**options: Any) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available for file")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", no_locator)

    @walk_numba.compiled
    def double(value: int) -> int:
        return value * 2

    assert double(21) == 42
