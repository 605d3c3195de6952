"""Offset and time index against a plain list, their files against Apache's layout, and the cache that holds them."""

import struct
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.topic import LogConfig
from ottla.log.index_cache import IndexCache
from ottla.log.offset_index import OffsetIndex
from ottla.log.segment import LogSegment
from ottla.log.time_index import TimeIndex
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.runtime.inline import ManualClock
from ottla.runtime.posix import PosixFiles
from tests.sim.crash_files import CrashFiles

BASE = 1 << 40
INDEX_BYTES = 10 << 20
steps = st.lists(st.tuples(st.integers(1, 500), st.integers(1, 9000)), max_size=40)


def files_in_memory() -> CrashFiles:
    files = CrashFiles(ManualClock(0))
    files.make_dir("/data")
    return files


def offset_index(files: CrashFiles, cache: IndexCache | None = None) -> OffsetIndex:
    return OffsetIndex(files, "/data/0.index", BASE, INDEX_BYTES, cache or IndexCache())


def cumulated(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    entries, key, value = [], 0, 0
    for key_step, value_step in pairs:
        key, value = key + key_step, value + value_step
        entries.append((key, value))
    return entries


@given(steps, st.lists(st.integers(-10, 25_000), min_size=1))
def test_offset_lookup_finds_the_last_entry_not_after(pairs: list[tuple[int, int]], wanted: list[int]) -> None:
    files, entries = files_in_memory(), cumulated(pairs)
    index = offset_index(files)
    index.activate()
    for relative, position in entries:
        index.append(BASE + relative, position)
    index.close()
    reopened = offset_index(files)
    assert files.read("/data/0.index") == b"".join(struct.pack(">ii", *entry) for entry in entries)
    for relative in wanted:
        slot = bisect_right([key for key, _ in entries], relative) - 1
        expected = (BASE + entries[slot][0], entries[slot][1]) if slot >= 0 else (BASE, 0)
        assert reopened.lookup(BASE + relative) == expected


@given(steps, st.integers(-10, 25_000))
def test_offset_truncation_drops_entries_from_there_on(pairs: list[tuple[int, int]], relative: int) -> None:
    files, entries = files_in_memory(), cumulated(pairs)
    index = offset_index(files)
    index.activate()
    for key, position in entries:
        index.append(BASE + key, position)
    index.truncate_to(BASE + relative)
    kept = [entry for entry in entries if entry[0] < relative]
    assert list(zip(index.keys(), index.values(), strict=True)) == kept
    assert files.size("/data/0.index") == 8 * len(kept)


@given(steps, st.integers(0, 400_000))
def test_time_lookup_and_truncation(pairs: list[tuple[int, int]], timestamp: int) -> None:
    files, entries = files_in_memory(), cumulated(pairs)
    index = TimeIndex(files, "/data/0.timeindex", BASE, INDEX_BYTES, IndexCache())
    index.activate()
    for relative, time in entries:
        index.maybe_append(time, BASE + relative)
        index.maybe_append(time - 1, BASE + relative)  # nothing new
    slot = bisect_right([time for _, time in entries], timestamp) - 1
    assert index.lookup(timestamp) == ((entries[slot][1], BASE + entries[slot][0]) if slot >= 0 else (-1, BASE))
    index.close()
    image = b"".join(struct.pack(">qi", time, relative) for relative, time in entries)
    assert files.read("/data/0.timeindex") == image
    reopened = TimeIndex(files, "/data/0.timeindex", BASE, INDEX_BYTES, IndexCache())
    assert list(zip(reopened.values(), reopened.keys(), strict=True)) == entries
    reopened.truncate_to(BASE + 300)
    assert all(relative < 300 for relative in reopened.values())


def test_a_preallocated_tail_of_zeros_is_no_entry_and_goes_with_the_first_write() -> None:
    files = files_in_memory()
    file = files.open("/data/0.index", create=True)
    file.pwrite(struct.pack(">ii", 10, 4200), 0)
    file.truncate(1 << 20)
    index = offset_index(files)
    assert index.count == 1
    index.activate()
    index.append(BASE + 20, 9000)
    index.write_out()
    assert files.read("/data/0.index") == struct.pack(">iiii", 10, 4200, 20, 9000)


def test_an_index_is_full_at_its_size_and_the_time_index_one_entry_before() -> None:
    files = files_in_memory()
    offsets = OffsetIndex(files, "/data/0.index", 0, 16 + 7, IndexCache())
    times = TimeIndex(files, "/data/0.timeindex", 0, 36, IndexCache())
    for index in (offsets, times):
        index.activate()
    offsets.append(1, 1)
    times.maybe_append(1, 1)
    assert not offsets.is_full
    assert not times.is_full
    offsets.append(2, 2)
    times.maybe_append(2, 2)
    assert offsets.is_full
    assert times.is_full


def test_sealed_indexes_share_a_bounded_memory() -> None:
    files, cache = files_in_memory(), IndexCache(max_bytes=3 * 12 * 100)
    indexes = []
    for number in range(6):
        index = OffsetIndex(files, f"/data/{number}.index", 0, INDEX_BYTES, cache)
        index.activate()
        for entry in range(1, 101):
            index.append(entry, entry * 100)
        assert cache.used_bytes <= 3 * 12 * 100
        index.seal()
        indexes.append(index)
    for index in [*indexes, *reversed(indexes)]:
        assert index.lookup(50).position == 5000, "a forgotten index is read again"
        assert cache.used_bytes <= 3 * 12 * 100
    for index in indexes:
        index.close()
    assert cache.used_bytes == 0


@pytest.mark.parametrize("flipped", [0, 2, 4, 7])
def test_a_damaged_entry_makes_a_search_longer_not_wrong(tmp_path: Path, flipped: int) -> None:
    """An entry is believed only if the batch at its position ends with its offset."""
    files, clock = PosixFiles(), ManualClock(0)
    segment = LogSegment.open(files, clock, str(tmp_path), 0, LogConfig(index_interval_bytes=200))
    for base_offset in range(0, 300, 3):
        data = build_batch([SimpleRecord(0, b"key", b"value")] * 3, base_offset=base_offset, leader_epoch=0)
        segment.append(data, [RecordBatch(data)])
    segment.become_inactive()
    image = bytearray(Path(segment.offset_index.path).read_bytes())
    for entry in range(0, len(image), 8):
        image[entry + flipped] ^= 0x04
    Path(segment.offset_index.path).write_bytes(image)
    segment.offset_index.unload()
    for offset in range(300):
        found = segment.find_batch(offset)
        assert found is not None
        assert found.base_offset == offset // 3 * 3
    assert segment.find_batch(300) is None
    segment.close_handlers()
