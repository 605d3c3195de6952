"""Both offset maps against each other, within their bounds."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.log.cleaner.offset_map import (
    PLAIN_BYTES_PER_ENTRY,
    OffsetMap,
    PlainOffsetMap,
    Retained,
    new_offset_map,
)
from ottla.log.cleaner.offset_map_numba import NumbaOffsetMap
from ottla.log.cleaner.table_numba import BYTES_PER_ENTRY, siphash_128
from ottla.records.record import encode_record

SECRET = bytes(range(16))

keys = st.none() | st.binary(max_size=3) | st.binary(min_size=7, max_size=40)
batch = st.lists(st.tuples(keys, st.none() | st.binary(max_size=20), st.integers(0, 1000)), min_size=1, max_size=10)


def walk(offset_map: OffsetMap, records: list[tuple[bytes | None, bytes | None, int]]) -> None:
    payload = b"".join(encode_record(index, t, key, value) for index, (key, value, t) in enumerate(records))
    offset_map.walk(payload, 0, len(payload), len(records))


@settings(deadline=None)
@given(st.lists(batch, max_size=8), st.integers(0, 12), st.integers(0, 20), st.booleans())
def test_both_maps_agree_with_a_dict(
    batches: list[list[tuple[bytes | None, bytes | None, int]]],
    start_offset: int,
    size_max: int,
    retain_tombstones: bool,
) -> None:
    maps: list[OffsetMap] = [PlainOffsetMap(1 << 16, SECRET), NumbaOffsetMap(64 * BYTES_PER_ENTRY, SECRET)]
    expected: dict[bytes, int] = {}
    latest_offset, base_offset, full = -1, 0, False
    for records in batches:
        for offset_map in maps:
            walk(offset_map, records)
        assert len({offset_map.put_keys(base_offset, start_offset, size_max) for offset_map in maps}) == 1
        if not full:
            for index, (key, _, _) in enumerate(records):
                if key is not None and base_offset + index >= start_offset:
                    full = len(expected) >= size_max
                    if full:
                        break
                    expected[key] = latest_offset = base_offset + index
        base_offset += 10
        if full:
            break
    for offset_map in maps:
        assert offset_map.size == len(expected)
        assert offset_map.latest_offset == latest_offset

    base_offset = 0
    for records in batches:
        kept = [
            (index, key, value, t)
            for index, (key, value, t) in enumerate(records)
            if base_offset + index > latest_offset
            or (
                key is not None
                and base_offset + index >= expected.get(key, -1)
                and (value is not None or retain_tombstones)
            )
        ]
        for offset_map in maps:
            walk(offset_map, records)
            assert offset_map.retain(base_offset, retain_tombstones) == Retained(
                records_count=len(kept),
                invalid=sum(k is None and base_offset + i <= latest_offset for i, (k, _, _) in enumerate(records)),
                has_tombstones=any(value is None for _, _, value, _ in kept),
                first_timestamp_delta=kept[0][3] if kept else 0,
                max_timestamp_delta=max((t for *_, t in kept), default=0),
            )
            copied = b"".join(encode_record(index, t - 5, key, value) for index, key, value, t in kept)
            assert bytes(offset_map.copy_retained(1, -5)) == copied
            assert offset_map.retain_all().records_count == len(records)
        base_offset += 10


@pytest.mark.parametrize("compiled", [False, True])
def test_a_full_table_still_answers(compiled: bool) -> None:
    bytes_per_entry = BYTES_PER_ENTRY if compiled else PLAIN_BYTES_PER_ENTRY
    offset_map = new_offset_map(8 * bytes_per_entry, SECRET, compiled=compiled)
    assert offset_map.slots == 8
    walk(offset_map, [(bytes([i]), b"v", 0) for i in range(8)])
    assert not offset_map.put_keys(0, 0, 8)
    assert offset_map.size == 8
    walk(offset_map, [(b"absent", b"v", 0), (b"\x00", b"v", 0)])
    assert offset_map.put_keys(8, 0, 8)
    assert offset_map.latest_offset == 7
    walk(offset_map, [(b"absent", b"v", 0), (b"\x03", b"v", 0)])
    assert offset_map.retain(2, True).records_count == 2
    assert offset_map.retain(1, True).records_count == 1  # offset 2 is older than key 3's


def test_the_hash_is_siphash_2_4_128() -> None:
    """The reference implementation's vectors_sip128: key 00..0f, input 00, 01, …"""
    expected = {
        0: "a3817f04ba25a8e66df67214c7550293",
        1: "da87c1d86b99af44347659119b22fc45",
        15: "5493e99933b0a8117e08ec0f97cfc3d9",
    }
    secret = np.frombuffer(SECRET, "<u8").astype(np.uint64)
    data = np.arange(64, dtype=np.uint8)
    for length, digest in expected.items():
        low, high = siphash_128(data, 0, length, secret)
        assert (int(low).to_bytes(8, "little") + int(high).to_bytes(8, "little")).hex() == digest


def test_the_secret_decides_where_keys_go() -> None:
    data = np.arange(16, dtype=np.uint8)
    secrets = [np.array([1, word], np.uint64) for word in range(8)]
    assert len({siphash_128(data, 0, 16, secret) for secret in secrets}) == len(secrets)


def test_the_plain_map_keeps_within_its_memory() -> None:
    for entries in (1_000, 11_000, 44_000):  # the second and third just after the dict has grown
        memory_bytes = entries * PLAIN_BYTES_PER_ENTRY
        tracemalloc.start()
        offset_map = PlainOffsetMap(memory_bytes, SECRET)
        assert offset_map.slots == entries
        for base in range(0, entries, 100):
            walk(offset_map, [(b"key-%d" % (base + index), b"", 0) for index in range(100)])
            assert not offset_map.put_keys(base + (1 << 40), 0, entries)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert offset_map.size == entries
        assert peak_bytes <= memory_bytes + 200_000  # and the batch in work


def test_without_numba_the_map_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(new_offset_map(1 << 20, SECRET), NumbaOffsetMap)
    assert isinstance(new_offset_map(1 << 20, SECRET, compiled=False), PlainOffsetMap)
    monkeypatch.setitem(sys.modules, "ottla.log.cleaner.offset_map_numba", None)
    assert isinstance(new_offset_map(1 << 20, SECRET), PlainOffsetMap)
    with pytest.raises(ImportError):
        new_offset_map(1 << 20, SECRET, compiled=True)
