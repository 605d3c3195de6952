"""What is searched in place, what is put off, and that a lookup made again gets further."""

import pytest

from ottla.common.errors import CorruptRecordError
from ottla.records.batch import RecordBatch
from ottla.records.compression import Compression
from ottla.records.inline_reading import INLINE_RECORDS_MAX, InlineReading
from ottla.records.timestamp_search import SearchPutOff, TimestampSearch, first_record, first_record_of_bytes
from tests.records.hostile_batches import NOW_MS, counted, later_than_its_records

LARGE = RecordBatch(counted(INLINE_RECORDS_MAX + 1))
SMALL = RecordBatch(counted(INLINE_RECORDS_MAX // 2 + 1))


def test_the_first_record_at_or_after_both_bounds() -> None:
    assert first_record(SMALL, NOW_MS, 0) == (NOW_MS, 0)
    assert first_record(SMALL, NOW_MS - 1, 7) == (NOW_MS, 7)
    assert first_record(SMALL, NOW_MS + 1, 0) is None
    assert first_record(SMALL, NOW_MS, INLINE_RECORDS_MAX) is None


def test_what_is_too_much_is_put_off_and_then_known() -> None:
    search, reading = TimestampSearch(), InlineReading()
    with pytest.raises(SearchPutOff) as put_off:
        search.within(reading)(LARGE, NOW_MS, 3)
    assert reading.is_whole
    elsewhere = first_record_of_bytes(bytes(put_off.value.batch.bytes), put_off.value.timestamp, 3)
    search.learn(put_off.value, elsewhere)
    assert search.within(reading)(LARGE, NOW_MS, 3) == (NOW_MS, 3)
    with pytest.raises(SearchPutOff):
        search.within(reading)(LARGE, NOW_MS, 4)


def test_a_search_that_has_been_made_takes_nothing_of_the_next_turn() -> None:
    search, first_turn, second_turn = TimestampSearch(), InlineReading(), InlineReading()
    assert search.within(first_turn)(SMALL, NOW_MS + 1, 0) is None
    with pytest.raises(SearchPutOff):
        search.within(first_turn)(SMALL, NOW_MS + 1, 1)
    assert search.within(second_turn)(SMALL, NOW_MS + 1, 0) is None
    assert second_turn.is_whole


@pytest.mark.parametrize("codec", Compression)
def test_every_codec(codec: Compression) -> None:
    batch = RecordBatch(later_than_its_records(100, codec))
    assert TimestampSearch().within(InlineReading())(batch, NOW_MS, 42) == (NOW_MS, 42)


def test_what_does_not_decompress_is_told() -> None:
    batch = bytearray(counted(10, codec=Compression.GZIP))
    batch[75] ^= 0xFF
    with pytest.raises(CorruptRecordError):
        TimestampSearch().within(InlineReading())(RecordBatch(batch), NOW_MS, 0)
