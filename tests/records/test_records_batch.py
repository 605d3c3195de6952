import struct

import pytest

from ottla.common.errors import CorruptRecordError
from ottla.records.batch import (
    HEADER_BYTES,
    RecordBatch,
    TimestampType,
    batches,
    decrement_sequence,
    increment_sequence,
    patch_max_timestamp,
    patch_offset_and_epoch,
)
from ottla.records.builder import SimpleRecord, build_batch
from tests.records.raw_batches import raw_batch

INT32_MAX = (1 << 31) - 1


def two_batches() -> bytearray:
    return raw_batch(base_offset=10, last_offset_delta=4) + raw_batch(base_offset=15)


def test_every_header_field_is_read() -> None:
    data = b"xyz" + raw_batch(
        base_offset=1 << 40,
        leader_epoch=7,
        crc=0xFEDCBA98,
        attributes=0x7B,
        last_offset_delta=9,
        base_timestamp=111,
        max_timestamp=222,
        producer_id=1 << 50,
        producer_epoch=12,
        base_sequence=13,
        count=8,
    )
    batch = RecordBatch(data, 3)
    assert (batch.base_offset, batch.last_offset, batch.next_offset) == (1 << 40, (1 << 40) + 9, (1 << 40) + 10)
    assert (batch.partition_leader_epoch, batch.magic, batch.crc) == (7, 2, 0xFEDCBA98)
    assert (batch.base_timestamp, batch.max_timestamp) == (111, 222)
    assert (batch.producer_id, batch.producer_epoch) == (1 << 50, 12)
    assert (batch.base_sequence, batch.last_sequence) == (13, 22)
    assert (batch.records_count, batch.last_offset_delta) == (8, 9)
    assert (batch.compression, batch.timestamp_type) == (3, TimestampType.LOG_APPEND_TIME)
    assert batch.is_log_append_time and batch.is_transactional and batch.is_control and batch.has_producer_id
    assert batch.delete_horizon_ms == 111
    assert batch.size_in_bytes == len(data) - 3
    assert bytes(batch.bytes) == data[3:]
    assert bytes(batch.payload) == data[3 + HEADER_BYTES :]
    assert "1099511627776..1099511627785" in repr(batch)


def test_a_plain_batch_has_no_flags() -> None:
    batch = RecordBatch(raw_batch())
    assert not (batch.is_log_append_time or batch.is_transactional or batch.is_control or batch.has_producer_id)
    assert batch.delete_horizon_ms is None
    assert batch.timestamp_type is TimestampType.CREATE_TIME
    assert batch.last_sequence == -1


def test_sequences_wrap_to_zero() -> None:
    assert increment_sequence(INT32_MAX, 1) == 0
    assert increment_sequence(INT32_MAX - 2, 5) == 2
    assert decrement_sequence(0, 1) == INT32_MAX
    assert decrement_sequence(2, 5) == INT32_MAX - 2
    batch = RecordBatch(raw_batch(base_sequence=INT32_MAX, last_offset_delta=1, producer_id=1, producer_epoch=0))
    assert batch.last_sequence == 0


def test_batches_walks_whole_batches_and_leaves_out_a_cut_one() -> None:
    data = two_batches()
    first = RecordBatch(data).size_in_bytes
    assert [(batch.base_offset, batch.position) for batch in batches(data)] == [(10, 0), (15, first)]
    for size in range(len(data)):
        assert len(list(batches(data[:size]))) == (1 if size >= first else 0)
    assert [batch.base_offset for batch in batches(memoryview(data))] == [10, 15]


@pytest.mark.parametrize("length", [-(1 << 31), -12, -1, 0, 48])
def test_a_length_below_the_header_is_corrupt(length: int) -> None:
    data = raw_batch(length=length)
    with pytest.raises(CorruptRecordError, match="less than the minimum record overhead"):
        list(batches(data))
    batch = RecordBatch(data)
    assert not batch.is_crc_valid()
    with pytest.raises(CorruptRecordError, match="smaller than the minimum"):
        batch.ensure_valid()


def test_a_header_that_is_cut_is_corrupt() -> None:
    data = bytes(raw_batch())
    for size in range(HEADER_BYTES):
        with pytest.raises(CorruptRecordError, match="fewer than its header"):
            RecordBatch(data[:size])
    with pytest.raises(CorruptRecordError):
        RecordBatch(data, len(data) - 5)


def test_every_flipped_bit_after_the_crc_is_found() -> None:
    data = raw_batch()
    RecordBatch(data).ensure_valid()
    for position in range(17, len(data)):
        for bit in range(8):
            data[position] ^= 1 << bit
            batch = RecordBatch(data)
            assert not batch.is_crc_valid()
            with pytest.raises(CorruptRecordError, match="stored crc"):
                batch.ensure_valid()
            data[position] ^= 1 << bit


def test_a_batch_that_exceeds_its_buffer_is_corrupt() -> None:
    data = bytes(raw_batch())
    for size in range(HEADER_BYTES, len(data)):
        batch = RecordBatch(data[:size])
        assert not batch.is_crc_valid()
        with pytest.raises(CorruptRecordError, match="exceeds the available"):
            batch.ensure_valid()


def test_offset_and_epoch_are_patched_without_touching_the_crc() -> None:
    data = two_batches()
    second = RecordBatch(data).size_in_bytes
    patch_offset_and_epoch(data, second, 99, 5)
    before, after = batches(data)
    assert (before.base_offset, before.partition_leader_epoch) == (10, -1)
    assert (after.base_offset, after.partition_leader_epoch) == (99, 5)
    after.ensure_valid()


def test_max_timestamp_is_patched_with_a_new_crc() -> None:
    data = two_batches()
    second = RecordBatch(data).size_in_bytes
    patch_max_timestamp(data, second, 0x08, 4242)
    before, after = batches(data)
    before.ensure_valid()
    after.ensure_valid()
    assert (after.is_log_append_time, after.max_timestamp) == (True, 4242)
    log_append_time = build_batch(
        [SimpleRecord(1_000_000, b"k", b"v")],
        base_offset=15,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=4242,
    )
    assert bytes(after.bytes) == log_append_time


def test_the_header_is_61_bytes() -> None:
    assert struct.calcsize(">qiibIhiqqqhii") == HEADER_BYTES == 61
