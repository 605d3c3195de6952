"""The validator's contract with the log: what is patched where, what comes back, what happens to compression."""

import cramjam
import pytest
from crc32c import crc32c

from ottla.common.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    OffsetsOutOfOrderError,
    UnexpectedAppendOffsetError,
)
from ottla.config.topic import LogConfig
from ottla.records import inspection
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES, Buffer, RecordBatch
from ottla.records.builder import build_batch
from ottla.records.compression import Compression, decompress, may_begin
from ottla.records.record import Header, Record, SimpleRecord, decode_records
from ottla.records.replicated import analyze_replicated
from ottla.records.validator import validate_and_assign_offsets
from tests.records.raw_batches import RawRecord, raw_batch

NOW_MS = 1_000_000
RECORDS = [
    SimpleRecord(NOW_MS - index, b"key%d" % index, b"value" * index, (Header("h", b"%d" % index),))
    for index in range(20)
]
LOG_APPEND_TIME = 0x08


def with_crc(records: bytearray) -> bytearray:
    records[CRC_POSITION:ATTRIBUTES_POSITION] = crc32c(records[ATTRIBUTES_POSITION:]).to_bytes(4, "big")
    return records


def validate(records: Buffer, policy: AppendPolicy | None = None, **changes: object) -> AppendInfo:
    arguments: dict[str, object] = {
        "next_offset": 100,
        "leader_epoch": 4,
        "now_ms": NOW_MS,
        "origin": AppendOrigin.CLIENT,
    }
    return validate_and_assign_offsets(records, policy or AppendPolicy(), **(arguments | changes))  # type: ignore[arg-type]


def contents(info: AppendInfo) -> list[tuple[object, ...]]:
    [batch] = info.batches
    batch.ensure_valid()
    return [(r.offset, r.timestamp, r.key, r.value, r.headers, r.sequence) for r in decode_records(batch)]


def expected(base_sequence: int = -1) -> list[tuple[object, ...]]:
    return [
        (100 + i, r.timestamp, r.key, r.value, r.headers, -1 if base_sequence < 0 else base_sequence + i)
        for i, r in enumerate(RECORDS)
    ]


def test_a_bytearray_is_patched_in_place() -> None:
    records = build_batch(RECORDS)
    info = validate(records)
    assert info.records is records
    assert RecordBatch(records).base_offset == 100
    assert RecordBatch(records).partition_leader_epoch == 4
    assert contents(info) == expected()


def test_a_writable_memoryview_is_patched_in_place() -> None:
    records = build_batch(RECORDS)
    frame = bytearray(b"before") + records + b"after"
    view = memoryview(frame)[6 : 6 + len(records)]
    info = validate(view)
    assert info.records is view
    assert RecordBatch(frame, 6).base_offset == 100
    assert frame.startswith(b"before")
    assert frame.endswith(b"after")


@pytest.mark.parametrize("readonly", [bytes, lambda data: memoryview(bytes(data))], ids=["bytes", "memoryview"])
def test_read_only_records_are_copied(readonly: type[bytes]) -> None:
    records = readonly(build_batch(RECORDS))
    info = validate(records)
    assert RecordBatch(records).base_offset == 0
    assert contents(info) == expected()
    assert not info.recompressed


@pytest.mark.uncompiled
def test_the_view_that_is_returned_agrees_with_the_bytes() -> None:
    for policy in (
        AppendPolicy(),
        AppendPolicy(log_append_time=True),
        AppendPolicy(target_compression=Compression.LZ4),
    ):
        info = validate(build_batch(RECORDS), policy)
        [batch] = info.batches
        again = RecordBatch(info.records)
        assert all(getattr(batch, name) == getattr(again, name) for name in RecordBatch.__slots__ if name != "buffer")


def test_append_info_of_a_plain_batch() -> None:
    records = build_batch(RECORDS)
    info = validate(records)
    assert info == AppendInfo(
        records=records,
        batches=info.batches,
        first_offset=100,
        last_offset=119,
        max_timestamp=NOW_MS,
        offset_of_max_timestamp=119,
        size_in_bytes=len(records),
        append_time=-1,
        source_compression=0,
        target_compression=0,
        records_count=20,
        recompressed=False,
    )


def test_log_append_time() -> None:
    info = validate(build_batch(RECORDS), AppendPolicy(log_append_time=True), now_ms=NOW_MS + 77)
    assert info.append_time == info.max_timestamp == NOW_MS + 77
    assert {timestamp for _, timestamp, *_ in contents(info)} == {NOW_MS + 77}
    assert info.batches[0].is_log_append_time


@pytest.mark.parametrize("source", Compression)
@pytest.mark.parametrize("target", Compression)
@pytest.mark.parametrize("log_append_time", [False, True])
def test_compression_type_of_the_topic(source: Compression, target: Compression, log_append_time: bool) -> None:
    records = build_batch(
        RECORDS, compression=source, producer_id=9, producer_epoch=3, base_sequence=70, transactional=True
    )
    policy = AppendPolicy(target_compression=target, log_append_time=log_append_time)
    info = validate(records, policy)
    [batch] = info.batches
    assert (info.source_compression, info.target_compression) == (source, target)
    assert info.recompressed == (source != target)
    assert batch.compression == target
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 3, 70)
    assert batch.is_transactional
    assert batch.base_timestamp == NOW_MS
    assert info.size_in_bytes == len(info.records) == batch.size_in_bytes
    if log_append_time:
        assert batch.max_timestamp == NOW_MS
        assert batch.is_log_append_time
    else:
        assert contents(info) == expected(70)


def test_compression_level_of_the_topic() -> None:
    records = build_batch([SimpleRecord(NOW_MS, None, bytes(range(256)) * 40)])
    sizes = [
        validate(
            bytes(records),
            AppendPolicy.from_config(
                LogConfig.from_props({"compression.type": "gzip", "compression.gzip.level": str(level)})
            ),
        ).size_in_bytes
        for level in (1, 9)
    ]
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize("strict", [False, True])
def test_offset_gaps_are_closed_when_records_are_walked(strict: bool) -> None:
    gaps = raw_batch(tuple(RawRecord(index, index * 3, b"k", b"%d" % index) for index in range(4)))
    info = validate(gaps, AppendPolicy(strict=strict, compacted=not strict))
    assert [(offset, value) for offset, _, _, value, *_ in contents(info)] == [
        (100, b"0"),
        (101, b"1"),
        (102, b"2"),
        (103, b"3"),
    ]
    assert info.recompressed


def test_a_refused_batch_is_left_as_it_was() -> None:
    refused = [
        (raw_batch((RawRecord(key=None),)), AppendPolicy(compacted=True)),
        (raw_batch(base_timestamp=NOW_MS * 9), AppendPolicy()),
        (
            raw_batch((RawRecord(value=b"x" * 999),), attributes=1),
            AppendPolicy(target_compression=Compression.NONE, max_message_bytes=500),
        ),
    ]
    for records, policy in refused:
        before = bytes(records)
        with pytest.raises((InvalidRecordError, InvalidTimestampError, MessageTooLargeError)):
            validate(records, policy)
        assert records == before


def test_a_hundred_records_at_fault_are_named_and_all_are_counted() -> None:
    records = raw_batch(tuple(RawRecord(0, index, None) for index in range(250)), attributes=1)
    with pytest.raises(InvalidRecordError, match="due to 250 record errors in total") as refusal:
        validate(records, AppendPolicy(compacted=True))
    assert [error.batch_index for error in refusal.value.record_errors] == list(range(100))


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_no_more_records_than_the_bytes_can_hold(codec: Compression) -> None:
    def claiming(count: int) -> bytearray:
        return raw_batch((RawRecord(value=bytes(99)),), attributes=codec, count=count, last_offset_delta=count - 1)

    payload_bytes = len(claiming(1)) - HEADER_BYTES
    most = payload_bytes * 4 if codec else payload_bytes // 7
    validate(claiming(most))
    for policy in (AppendPolicy(), AppendPolicy(strict=True)):
        with pytest.raises(InvalidRecordError, match=f"cannot hold its {most + 1} records"):
            validate(claiming(most + 1), policy)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_what_does_not_begin_as_its_codec_does_is_corrupt(codec: Compression) -> None:
    records = build_batch(RECORDS, compression=codec)
    validate(bytes(records))
    records[HEADER_BYTES : HEADER_BYTES + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(CorruptRecordError, match=f"do not begin as {codec.name.lower()} does"):
        validate(with_crc(records))


def test_a_raw_block_of_snappy_states_a_size_that_it_can_have() -> None:
    block = bytes(cramjam.snappy.compress_raw(bytes(100_000)))
    assert may_begin(Compression.SNAPPY, block)
    assert not may_begin(Compression.SNAPPY, b"\xff\xff\x7f" + block)
    assert not may_begin(Compression.SNAPPY, b"\xff" * 9)
    assert not may_begin(Compression.SNAPPY, b"")


def test_all_records_at_fault_are_named_and_three_are_shown() -> None:
    records = raw_batch(tuple(RawRecord(0, index, None) for index in range(5)))
    with pytest.raises(InvalidRecordError) as refusal:
        validate(records, AppendPolicy(compacted=True))
    assert [error.batch_index for error in refusal.value.record_errors] == [0, 1, 2, 3, 4]
    assert "due to 5 record errors in total" in str(refusal.value)
    assert "batchIndex=2" in str(refusal.value)
    assert "batchIndex=3" not in str(refusal.value)


def test_records_may_decompress_to_sixteen_times_the_largest_batch() -> None:
    records = raw_batch((RawRecord(value=bytes(17 << 20)),), attributes=1)
    policy = AppendPolicy(strict=True)
    assert policy.decompressed_bytes_max == 16 * policy.max_message_bytes
    with pytest.raises(MessageTooLargeError, match="Decompressed records exceed the limit"):
        validate(bytes(records), policy)
    validate(bytes(records), AppendPolicy(strict=True, max_message_bytes=2 << 20))
    validate(records)


def test_what_is_to_be_stored_uncompressed_may_decompress_to_the_largest_batch() -> None:
    policy = AppendPolicy(target_compression=Compression.NONE, max_message_bytes=1_000)
    fits = raw_batch((RawRecord(value=bytes(929)),), attributes=1)
    assert len(validate(fits, policy).records) == 1_000
    with pytest.raises(MessageTooLargeError):
        validate(raw_batch((RawRecord(value=bytes(930)),), attributes=1), policy)


def test_the_default_depth_walks_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(*_: object, **__: object) -> None:
        raise AssertionError("walked")

    monkeypatch.setattr(inspection, "check_records", walk)
    validate(build_batch(RECORDS))
    validate(build_batch(RECORDS, compression=Compression.ZSTD))
    validate(build_batch(RECORDS), AppendPolicy(log_append_time=True))
    validate(build_batch(RECORDS), AppendPolicy(target_compression=Compression.NONE))
    for policy in (AppendPolicy(strict=True), AppendPolicy(compacted=True), AppendPolicy(after_max_ms=-1)):
        with pytest.raises(AssertionError, match="walked"):
            validate(build_batch(RECORDS), policy)


def test_unchanged_payload_is_compressed_as_it_stands() -> None:
    records = build_batch(RECORDS, compression=Compression.SNAPPY)
    info = validate(records, AppendPolicy(target_compression=Compression.ZSTD))
    payload = RecordBatch(records).payload
    limit = 1 << 20
    assert decompress(Compression.ZSTD, info.batches[0].payload, limit) == decompress(
        Compression.SNAPPY, payload, limit
    )


def test_policy_from_config() -> None:
    assert AppendPolicy.from_config(LogConfig()) == AppendPolicy()
    config = LogConfig.from_props(
        {
            "cleanup.policy": "compact,delete",
            "compression.type": "zstd",
            "compression.zstd.level": "7",
            "message.timestamp.type": "LogAppendTime",
            "message.timestamp.before.max.ms": "5",
            "message.timestamp.after.max.ms": "6",
            "max.message.bytes": "7",
        }
    )
    assert AppendPolicy.from_config(config, strict=True) == AppendPolicy(
        compacted=True,
        target_compression=Compression.ZSTD,
        level=7,
        log_append_time=True,
        before_max_ms=5,
        after_max_ms=6,
        max_message_bytes=7,
        strict=True,
    )
    uncompressed = LogConfig.from_props({"compression.type": "uncompressed"})
    assert AppendPolicy.from_config(uncompressed).target_compression is Compression.NONE


def replicated(*batches: bytes | bytearray, next_offset: int = 100) -> AppendInfo:
    return analyze_replicated(b"".join(batches), next_offset=next_offset, leader_epoch=4)


def test_replicated_batches_keep_their_offsets() -> None:
    first = build_batch([Record(100, 5, b"k", b"v"), Record(107, 9, b"k", b"v")], base_offset=100, leader_epoch=3)
    second = build_batch([Record(110, 7, b"k", b"v")], base_offset=110, leader_epoch=4, compression=Compression.GZIP)
    info = replicated(first, second)
    assert info.records == first + second
    assert [(batch.base_offset, batch.last_offset) for batch in info.batches] == [(100, 107), (110, 110)]
    assert (info.first_offset, info.last_offset) == (100, 110)
    assert (info.max_timestamp, info.offset_of_max_timestamp) == (9, 107)
    assert (info.records_count, info.source_compression) == (3, Compression.GZIP)


def test_replicated_offsets_before_the_end_of_the_log() -> None:
    with pytest.raises(UnexpectedAppendOffsetError) as refusal:
        replicated(raw_batch(base_offset=99), raw_batch(base_offset=100))
    assert (refusal.value.first_offset, refusal.value.last_offset) == (99, 100)


def test_replicated_offsets_out_of_order() -> None:
    with pytest.raises(OffsetsOutOfOrderError):
        replicated(raw_batch(base_offset=101), raw_batch(base_offset=101))


def test_replicated_batch_shorter_than_its_header() -> None:
    with pytest.raises(CorruptRecordError):
        replicated(raw_batch(base_offset=100, length=40)[:52])
