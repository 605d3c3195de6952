"""The walk over damaged bytes: it never fails, misses no sound batch, and accounts for every byte."""

import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.spark.log_table.batch_bounds import BatchBounds
from ottla.spark.log_table.batch_walk import BatchWalk, DamagedBytes, Found, SoundBatch
from ottla.spark.log_table.byte_window import ByteWindow
from tests.spark.log_table.damaged_logs import BASE_OFFSET, Damage, batches, damage_segment, damages

BOUNDS = BatchBounds(BASE_OFFSET, BASE_OFFSET + 100_000)


def walk(data: bytes, *, chunk_bytes: int = 4096, zeros_end: bool = False) -> list[Found]:
    window = ByteWindow(lambda size, position: data[position : position + size], len(data), chunk_bytes)
    return list(BatchWalk(window, 0, len(data), BOUNDS, zeros_end=zeros_end))


def size_of(found: Found) -> int:
    return found.size_in_bytes if isinstance(found, DamagedBytes) else found.batch.size_in_bytes


def three(value: bytes = b"v") -> list[bytes]:
    return [bytes(build_batch([SimpleRecord(1, b"k", value)] * 2, base_offset=BASE_OFFSET + 2 * i)) for i in range(3)]


def with_offset(raw: bytes, offset: int) -> bytes:
    return struct.pack(">q", offset) + raw[8:]


@given(batches(), damages, st.sampled_from((64, 200, 4096, 1 << 20)))
@example(three(), [Damage("header", 0.34, b"\0" * 12)], 64)
def test_every_byte_is_accounted_for_and_no_sound_batch_is_missed(
    raw: list[bytes], harm: list[Damage], chunk_bytes: int
) -> None:
    segment = damage_segment(raw, harm)
    found = walk(segment.data, chunk_bytes=chunk_bytes)
    position = 0
    for each in found:
        assert each.position == position
        assert size_of(each) > 0
        position += size_of(each)
    assert position == len(segment.data)
    sound = {each.position: bytes(each.batch.bytes) for each in found if isinstance(each, SoundBatch)}
    for place, data in segment.untouched.items():
        assert sound.get(place) == data
    if not segment.damaged:
        assert all(isinstance(each, SoundBatch) and each.error is None for each in found)


@given(st.binary(max_size=3000))
def test_garbage_is_told_and_nothing_more(data: bytes) -> None:
    assert sum(map(size_of, walk(data))) == len(data)


def test_a_flipped_byte_costs_its_batch_and_says_why() -> None:
    first, second, third = three()
    broken = second[:70] + bytes([second[70] ^ 1]) + second[71:]
    found = walk(first + broken + third)
    assert [type(each) for each in found] == [SoundBatch, DamagedBytes, SoundBatch]
    damage = found[1]
    assert isinstance(damage, DamagedBytes)
    assert (damage.position, damage.size_in_bytes, damage.base_offset) == (len(first), len(second), BASE_OFFSET + 2)
    assert damage.reason.startswith("the CRC does not match: stored ")


def test_a_length_that_swallows_the_next_batch_does_not_hide_it() -> None:
    first, second, third = three()
    swallowing = second[:8] + struct.pack(">i", len(second) + len(third) - 12) + second[12:]
    found = walk(first + swallowing + third)
    assert [size_of(each) for each in found] == [len(first), len(second), len(third)]
    assert isinstance(found[2], SoundBatch)


def test_a_batch_inside_a_record_of_a_damaged_batch_is_no_batch_of_the_log() -> None:
    inner = bytes(build_batch([SimpleRecord(1, b"k", b"inner")], base_offset=BASE_OFFSET + 3))
    first, second, third = three(inner)
    broken = second[:62] + bytes([second[62] ^ 1]) + second[63:]
    found = walk(first + broken + third)
    assert [size_of(each) for each in found] == [len(first), len(second), len(third)]


def test_damage_between_two_batches_is_passed_to_the_next_header() -> None:
    first, second, third = three()
    found = walk(first + b"\x02" * 100 + second + b"x" + third)
    assert [(type(each), size_of(each)) for each in found] == [
        (SoundBatch, len(first)),
        (DamagedBytes, 100),
        (SoundBatch, len(second)),
        (DamagedBytes, 1),
        (SoundBatch, len(third)),
    ]


def test_what_looks_like_a_batch_and_is_damaged_is_no_place_to_go_on() -> None:
    first, second, third = three()
    broken = second[:70] + bytes([second[70] ^ 1]) + second[71:]
    found = walk(first + b"x" * 5 + broken + third)
    assert [size_of(each) for each in found] == [len(first), 5 + len(second), len(third)]


@pytest.mark.parametrize("step_bytes", range(61, 130))
def test_a_batch_is_found_wherever_the_search_has_its_seams(monkeypatch: pytest.MonkeyPatch, step_bytes: int) -> None:
    monkeypatch.setattr("ottla.spark.log_table.batch_search._STEP_BYTES", step_bytes)
    first, second, _ = three()
    found = walk(first + b"x" * 200 + second)
    assert [size_of(each) for each in found] == [len(first), 200, len(second)]


@pytest.mark.parametrize("left", [1, 60, 61, 70])
def test_a_torn_tail_is_told(left: int) -> None:
    first, second, _ = three(b"v" * 20)
    found = walk(first + second[:left])
    assert isinstance(found[1], DamagedBytes)
    assert found[1].size_in_bytes == left
    assert found[1].reason.startswith("torn: ")


def test_room_that_nobody_has_written_to_is_no_damage_at_the_end_of_a_log() -> None:
    data = b"".join(three()) + bytes(5000)
    assert len(walk(data, zeros_end=True)) == 3
    assert len(walk(data)) == 4
    assert isinstance(walk(data + b"\x01", zeros_end=True)[3], DamagedBytes)


def test_an_offset_that_goes_back_is_told_with_the_records() -> None:
    first, second, third = three()
    found = walk(first + with_offset(second, BASE_OFFSET) + third)
    errors = [each.error for each in found if isinstance(each, SoundBatch)]
    assert errors == [None, f"offset {BASE_OFFSET} cannot follow offset {BASE_OFFSET + 1}", None]


def test_an_offset_that_is_too_high_is_found_out_by_the_next() -> None:
    first, second, third = three()
    found = walk(first + with_offset(second, BASE_OFFSET + 70_000) + third)
    errors = [each.error for each in found if isinstance(each, SoundBatch)]
    assert errors == [None, "offset 71000 cannot come before offset 1004, which follows it", None]


def test_an_offset_of_another_segment_is_told() -> None:
    first, second, third = three()
    found = walk(first + with_offset(second, 1 << 40) + third)
    errors = [each.error for each in found if isinstance(each, SoundBatch)]
    assert [error is None for error in errors] == [True, False, True]


def test_old_formats_are_named() -> None:
    first, second, _ = three()
    found = walk(first + second[:16] + b"\x01" + second[17:])
    assert isinstance(found[1], DamagedBytes)
    assert found[1].reason == "message format 1 is older than Kafka 0.11 and is not read"


def test_a_batch_that_is_too_large_is_not_read_into_memory() -> None:
    raw = bytes(build_batch([SimpleRecord(1, b"k", b"v" * 5000)], base_offset=BASE_OFFSET))
    window = ByteWindow(lambda size, position: raw[position : position + size], len(raw), 128)
    found = list(BatchWalk(window, 0, len(raw), BOUNDS._replace(max_batch_bytes=4096)))
    assert isinstance(found[0], DamagedBytes)
    assert "more than the 4096" in found[0].reason


def test_a_file_that_is_cut_while_it_is_read_ends_there() -> None:
    data = b"".join(three())
    window = ByteWindow(lambda size, position: data[:100][position : position + size], len(data), 64)
    found = list(BatchWalk(window, 0, len(data), BOUNDS))
    assert isinstance(found[0], SoundBatch)
    assert isinstance(found[-1], DamagedBytes)


def test_batches_keep_their_own_bytes_when_the_window_moves() -> None:
    data = three()
    found = walk(b"".join(data), chunk_bytes=64)
    assert [bytes(each.batch.bytes) for each in found if isinstance(each, SoundBatch)] == data
    assert [RecordBatch(raw).base_offset for raw in data] == [1000, 1002, 1004]
