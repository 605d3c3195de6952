"""Reading records: what fits together is read, and nothing but a KafkaError comes out of what does not."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import (
    CorruptRecordError,
    InvalidRecordError,
    KafkaError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.compression import Compression
from ottla.records.record import Header, decode_records, encode_record, records_payload
from tests.records.raw_batches import RawRecord, raw_batch
from tests.records.raw_batches import encode_record as encode_raw_record
from tests.records.record_strategies import record_lists

RECORDS = [
    SimpleRecord(1_700_000_000_000 + 70 * index, key, value, headers)
    for index, (key, value, headers) in enumerate(
        [
            (None, None, ()),
            (b"", b"", (Header("", b""), Header("ключ", None))),
            (b"key" * 30, b"value" * 2000, ()),
            (b"k", None, (Header("h", b"v" * 100),)),
        ]
    )
]


def decoded(data: bytes | bytearray) -> list[tuple[object, ...]]:
    return [tuple(record) for record in decode_records(RecordBatch(data))]


@given(
    record=st.builds(
        RawRecord,
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(-(1 << 31), (1 << 31) - 1),
        st.none() | st.binary(max_size=100),
        st.none() | st.binary(max_size=100),
        st.lists(st.tuples(st.text(max_size=5).map(str.encode), st.none() | st.binary(max_size=70)), max_size=3).map(
            tuple
        ),
    )
)
def test_records_are_encoded_as_by_hand(record: RawRecord) -> None:
    headers = tuple(Header(key.decode(), value) for key, value in record.headers)
    encoded = encode_record(record.offset_delta, record.timestamp_delta, record.key, record.value, headers)
    assert encoded == encode_raw_record(record)


def test_timestamps_wrap_as_in_java() -> None:
    data = raw_batch([RawRecord(timestamp_delta=(1 << 63) - 1)], base_timestamp=10, max_timestamp=0)
    assert decoded(data)[0][1] == -(1 << 63) + 9


@pytest.mark.parametrize("codec", Compression)
def test_every_truncation_is_a_kafka_error(codec: Compression) -> None:
    data = bytes(build_batch(RECORDS, compression=codec))
    step = 1 if len(data) < 1000 else 13
    for size in range(0, len(data), step):
        with pytest.raises(CorruptRecordError):
            decoded(data[:size])
        with pytest.raises(CorruptRecordError):
            RecordBatch(data[:size]).ensure_valid()


@pytest.mark.parametrize("codec", Compression)
def test_every_truncation_of_the_payload_is_a_kafka_error(codec: Compression) -> None:
    whole = RecordBatch(build_batch(RECORDS, compression=codec))
    payload = bytes(whole.payload)
    step = 1 if len(payload) < 1000 else 13
    for size in range(0, len(payload), step):
        cut = raw_batch(payload[:size], attributes=codec, count=len(RECORDS))
        RecordBatch(cut).ensure_valid()
        with pytest.raises((InvalidRecordError, CorruptRecordError)):
            decoded(cut)


@given(
    records=record_lists,
    codec=st.sampled_from(Compression),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), min_size=1, max_size=4),
)
def test_no_corruption_gets_past_as_another_error(
    records: list[SimpleRecord], codec: Compression, flips: list[tuple[int, int]]
) -> None:
    data = build_batch(records, compression=codec)
    for position, flip in flips:
        data[HEADER_BYTES + position % (len(data) - HEADER_BYTES)] ^= flip
    with suppress(KafkaError):
        list(decode_records(RecordBatch(data), max_bytes=1 << 20))


@given(payload=st.binary(max_size=60), count=st.integers(-3, 5))
def test_random_bytes_are_no_other_error(payload: bytes, count: int) -> None:
    with suppress(InvalidRecordError):
        decoded(raw_batch(payload, count=count))


GOOD = bytes.fromhex("10 00 00 00 02 6b 02 76 00")


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("", "beyond the batch"),
        ("12 00 00 00 02 6b 02 76 00", "Invalid record size: expected 9"),
        ("0e 00 00 00 02 6b 02 76 00", "expected to end at byte 8"),
        ("01 00 00 00 02 6b 02 76 00", "Invalid record size: expected -1"),
        ("8101 00 00 00 02 6b 02 76 00", "Invalid record size: expected -65"),
        ("8080808080 01", "too long"),
        ("10 00 80808080808080808080 01", "Invalid record size|too long|beyond"),
        ("20 00 80808080808080808080 01 00 01 01 00 00", "too long"),
        ("10 00 00 00 04 6b 02 76 00", "beyond the batch|expected to end"),
        ("10 00 00 00 7e 6b 02 76 00", "beyond the batch"),
        ("10 00 00 00 02 6b 02 76 01", "invalid number of record headers -1"),
        ("10 00 00 00 02 6b 02 76 02", "larger than the remaining"),
        ("16 00 00 00 02 6b 02 76 02 01 00 00", "Invalid negative header key size"),
        ("feffffff0f 00", "Invalid record size: expected 2147483647"),
    ],
)
def test_lengths_that_do_not_add_up(payload: str, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        decoded(raw_batch(bytes.fromhex(payload), count=1))


def test_any_negative_length_is_null_as_in_java() -> None:
    data = raw_batch(bytes.fromhex("0c 00 00 00 03 05 00"), count=1)
    assert decoded(data) == [(0, 1_000_000, None, None, (), -1)]


def test_records_that_remain_are_invalid() -> None:
    assert len(decoded(raw_batch(GOOD + GOOD, count=2))) == 2
    with pytest.raises(InvalidRecordError, match="records still remaining"):
        decoded(raw_batch(GOOD + GOOD, count=1))
    with pytest.raises(InvalidRecordError, match="beyond the batch"):
        decoded(raw_batch(GOOD + GOOD, count=3))
    with pytest.raises(InvalidRecordError, match="invalid record count -1"):
        decoded(raw_batch(GOOD, count=-1))
    assert decoded(raw_batch(GOOD, count=0)) == []


def test_header_keys_need_not_be_utf8() -> None:
    data = raw_batch([RawRecord(headers=((b"a\xff", None),))])
    assert decoded(data)[0][4] == (Header("a\N{REPLACEMENT CHARACTER}", None),)


def test_formats_and_codecs_that_do_not_exist() -> None:
    with pytest.raises(UnsupportedForMessageFormatError):
        decoded(raw_batch(magic=1))
    for codec in (5, 6, 7):
        with pytest.raises(UnsupportedCompressionTypeError):
            decoded(raw_batch(attributes=codec))


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_max_bytes_bounds_what_is_decompressed(codec: Compression) -> None:
    batch = RecordBatch(build_batch(RECORDS, compression=codec))
    size = len(records_payload(batch))
    assert len(list(decode_records(batch, max_bytes=size))) == len(RECORDS)
    with pytest.raises(MessageTooLargeError):
        list(decode_records(batch, max_bytes=size - 1))


def test_batches_are_read_where_they_stand() -> None:
    data = b"before" + bytes(build_batch(RECORDS, base_offset=50)) + b"after"
    records = list(decode_records(RecordBatch(memoryview(data), 6)))
    assert [record.offset for record in records] == [50, 51, 52, 53]
    assert [SimpleRecord(*record[1:5]) for record in records] == RECORDS
    assert {type(record.key) for record in records} == {bytes, type(None)}
