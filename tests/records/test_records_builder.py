"""The builder against bytes that Apache Kafka 4.3.1 wrote.

The hex strings come from RecordFacts.java, run with Kafka's jars on a file with the line that each test quotes.
test_records_oracle.py asks Apache anew, with many more cases.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError, InvalidRecordError, InvalidTimestampError
from ottla.records.batch import RecordBatch, TimestampType
from ottla.records.builder import SimpleRecord, build_batch, build_empty_batch_header
from ottla.records.compression import Compression
from ottla.records.record import Header, Record, decode_records
from tests.records.record_strategies import placed, record_lists

NOW = 1_700_000_000_000


def test_one_plain_record_as_apache_writes_it() -> None:
    # build|0|-1|none||CreateTime|-1|-1|-1|false|false||||0,1700000000000,6b,76
    assert build_batch([SimpleRecord(NOW, b"k", b"v")]).hex() == (
        "00000000000000000000003affffffff02e99b8dd80000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff"
        "0000000110000000026b027600"
    )


def test_nulls_headers_gaps_and_a_transaction_as_apache_writes_them() -> None:
    # build|100|5|none||CreateTime|4000|3|17|true|false||||100,1700000000005,-,-;101,1700000000000,6b6579,;
    #     105,1699999999000,,76616c7565,6831=76,6832=-,c3a4=
    batch = build_batch(
        [
            Record(100, NOW + 5, None, None),
            SimpleRecord(NOW, b"key", b""),
            Record(105, NOW - 1000, b"", b"value", (Header("h1", b"v"), Header("h2", None), Header("ä", b""))),
        ],
        base_offset=100,
        leader_epoch=5,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=17,
        transactional=True,
    )
    assert batch.hex() == (
        "00000000000000640000005c0000000502ebf0606f0010000000050000018bcfe568050000018bcfe568050000000000000fa00003000000"
        "11000000030c00000001010012000902066b657900003200d90f0a000a76616c75650604683102760468320104c3a400"
    )


def test_log_append_time_as_apache_writes_it() -> None:
    # build|100|5|none||LogAppendTime|-1|-1|-1|false|false||1700000099999||100,1700000000005,61,62;101,-1,63,64
    batch = build_batch(
        [SimpleRecord(NOW + 5, b"a", b"b"), SimpleRecord(-1, b"c", b"d")],
        base_offset=100,
        leader_epoch=5,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=NOW + 99_999,
    )
    assert batch.hex() == (
        "00000000000000640000004800000005025810a4030008000000010000018bcfe568050000018bcfe6ee9fffffffffffffffffffffffffffff"
        "000000021000000002610262001a008ba0abfef962020263026400"
    )
    assert [record.timestamp for record in decode_records(RecordBatch(batch))] == [NOW + 99_999] * 2


def test_a_delete_horizon_and_a_kept_last_offset_as_apache_writes_them() -> None:
    # build|100|5|none||CreateTime|4000|3|17|false|false|1800000000000||120|101,1700000000005,61,-;
    #     103,1700000000006,63,64
    records = [Record(101, NOW + 5, b"a", None), Record(103, NOW + 6, b"c", b"d")]
    batch = build_batch(
        records,
        base_offset=100,
        leader_epoch=5,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=17,
        delete_horizon_ms=1_800_000_000_000,
        last_offset=120,
    )
    assert batch.hex() == (
        "00000000000000640000004c000000050270c4c5e4004000000014000001a3185c50000000018bcfe568060000000000000fa00003000000"
        "11000000021800f59fb787e90502026101001a00f39fb787e905060263026400"
    )
    view = RecordBatch(batch)
    assert (view.delete_horizon_ms, view.max_timestamp, view.last_offset) == (1_800_000_000_000, NOW + 6, 120)
    assert [record[:5] for record in decode_records(view)] == [record[:5] for record in records]
    assert [record.sequence for record in decode_records(view)] == [18, 20]


def test_an_empty_batch_header_as_apache_writes_it() -> None:
    # control|empty
    batch = build_empty_batch_header(
        base_offset=100,
        last_offset=142,
        leader_epoch=5,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        timestamp=NOW,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=17,
        transactional=True,
        control=False,
    )
    assert batch.hex() == (
        "00000000000000640000003100000005021bd5057600180000002affffffffffffffff0000018bcfe568000000000000000fa00003000000"
        "1100000000"
    )
    view = RecordBatch(batch)
    view.ensure_valid()
    assert (view.records_count, view.last_offset, view.last_sequence) == (0, 142, 59)
    assert list(decode_records(view)) == []


def test_no_records_are_no_batch() -> None:
    assert build_batch([]) == b""


@given(
    records=record_lists,
    codec=st.sampled_from(Compression),
    base_offset=st.integers(0, 1 << 62),
    gaps=st.lists(st.integers(0, 1 << 20), min_size=1, max_size=4),
    producer=st.none() | st.tuples(st.integers(0, 1 << 62), st.integers(0, 32767), st.integers(0, (1 << 31) - 1)),
    horizon=st.none() | st.integers(0, 1 << 62),
    log_append_time=st.none() | st.integers(0, 1 << 62),
)
def test_what_is_built_is_read_back(
    records: list[SimpleRecord],
    codec: Compression,
    base_offset: int,
    gaps: list[int],
    producer: tuple[int, int, int] | None,
    horizon: int | None,
    log_append_time: int | None,
) -> None:
    given_records = placed(records, base_offset, gaps)
    producer_id, producer_epoch, base_sequence = producer or (-1, -1, -1)
    data = build_batch(
        given_records,
        base_offset=base_offset,
        leader_epoch=3,
        compression=codec,
        timestamp_type=TimestampType.CREATE_TIME if log_append_time is None else TimestampType.LOG_APPEND_TIME,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=producer is not None,
        delete_horizon_ms=horizon,
        log_append_time_ms=log_append_time,
    )
    batch = RecordBatch(data)
    batch.ensure_valid()
    assert batch.size_in_bytes == len(data)
    assert (batch.records_count, batch.last_offset) == (len(records), given_records[-1].offset)
    assert (batch.compression, batch.delete_horizon_ms) == (codec, horizon)
    latest = max(record.timestamp for record in records)
    assert batch.max_timestamp == (latest if log_append_time is None else log_append_time)
    expected = [
        Record(
            record.offset,
            record.timestamp if log_append_time is None else log_append_time,
            record.key,
            record.value,
            record.headers,
            (base_sequence + record.offset - base_offset) % (1 << 31) if producer else -1,
        )
        for record in given_records
    ]
    assert list(decode_records(batch)) == expected
    assert all(type(record) is Record for record in decode_records(batch))


def test_what_a_client_can_get_wrong_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="Illegal offset 5 following previous offset 5"):
        build_batch([Record(5, 0, None, None), Record(5, 0, None, None)], base_offset=5)
    with pytest.raises(InvalidRecordError, match="Illegal offset 4"):
        build_batch([Record(4, 0, None, None)], base_offset=5)
    with pytest.raises(InvalidRecordError, match="Maximum offset delta exceeded"):
        build_batch([Record(1 << 31, 0, None, None)])
    with pytest.raises(InvalidTimestampError, match="Invalid negative timestamp -2"):
        build_batch([SimpleRecord(0, None, None), SimpleRecord(-2, None, None)])
    with pytest.raises(InvalidConfigError, match="gzip doesn't support given compression level: 10"):
        build_batch([SimpleRecord(0, None, None)], compression=Compression.GZIP, level=10)


def test_header_keys_that_utf8_cannot_say_become_question_marks_as_in_java() -> None:
    batch = build_batch([SimpleRecord(0, None, None, (Header("\ud800x", b""),))])
    (record,) = decode_records(RecordBatch(batch))
    assert record.headers == (Header("?x", b""),)
