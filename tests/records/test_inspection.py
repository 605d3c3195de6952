"""How much is read in place, and that an inspection made elsewhere is as good."""

import pickle

import pytest

from ottla.common.errors import InvalidRecordError, MessageTooLargeError
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.inline_reading import INLINE_BYTES_MAX, INLINE_RECORDS_MAX
from ottla.records.inspection import (
    InlineInspector,
    Inspection,
    InspectionPutOff,
    inspect_bytes,
    inspect_inline,
)
from ottla.records.record import SimpleRecord
from ottla.records.validator import validate_and_assign_offsets
from tests.records.raw_batches import RawRecord, raw_batch

NOW_MS = 1_000_000
COMPACTED = AppendPolicy(compacted=True)
GZIPPED = AppendPolicy(target_compression=Compression.GZIP)


def batch_of(count: int, value: bytes = b"", compression: Compression = Compression.NONE) -> RecordBatch:
    records = [SimpleRecord(NOW_MS, b"key", value) for _ in range(count)]
    return RecordBatch(build_batch(records, compression=compression))


def test_as_many_records_as_a_moment_allows() -> None:
    assert inspect_inline(batch_of(INLINE_RECORDS_MAX), COMPACTED, NOW_MS).max_timestamp == NOW_MS
    with pytest.raises(InspectionPutOff) as put_off:
        inspect_inline(batch_of(INLINE_RECORDS_MAX + 1), COMPACTED, NOW_MS)
    assert put_off.value.policy is COMPACTED
    assert put_off.value.now_ms == NOW_MS


@pytest.mark.parametrize("count", [1, 10])
def test_the_batches_of_one_turn_share_the_bounds(count: int) -> None:
    inspector = InlineInspector()
    for _ in range(count):
        inspector.inspect(batch_of(INLINE_RECORDS_MAX // count), COMPACTED, NOW_MS)
    with pytest.raises(InspectionPutOff):
        inspector.inspect(batch_of(1), COMPACTED, NOW_MS)
    inspector = InlineInspector()
    for _ in range(count):
        inspector.inspect(batch_of(1, bytes(INLINE_BYTES_MAX // count - 20)), GZIPPED, NOW_MS)
    with pytest.raises(InspectionPutOff):
        inspector.inspect(batch_of(1, bytes(300)), GZIPPED, NOW_MS)


def test_bytes_count_where_they_are_decompressed_or_compressed() -> None:
    large = bytes(INLINE_BYTES_MAX)
    assert inspect_inline(batch_of(1, large), COMPACTED, NOW_MS).rewritten is None
    for batch, policy in (
        (batch_of(1, large), GZIPPED),
        (batch_of(1, large, Compression.ZSTD), COMPACTED),
        (batch_of(1, large, Compression.ZSTD), AppendPolicy(target_compression=Compression.NONE)),
    ):
        with pytest.raises(InspectionPutOff):
            inspect_inline(batch, policy, NOW_MS)


def test_what_is_refused_anyhow_is_not_put_off() -> None:
    policy = AppendPolicy(target_compression=Compression.NONE, max_message_bytes=1_000)
    with pytest.raises(MessageTooLargeError):
        inspect_inline(batch_of(1, bytes(2_000), Compression.GZIP), policy, NOW_MS)


def test_an_inspection_in_another_process_is_as_good() -> None:
    records = build_batch([SimpleRecord(NOW_MS + index, b"key", b"value") for index in range(9)])
    for policy in (COMPACTED, GZIPPED, AppendPolicy(strict=True, log_append_time=True)):
        made: Inspection = pickle.loads(pickle.dumps(inspect_bytes(bytes(records), policy, NOW_MS)))
        here, there = (
            validate_and_assign_offsets(
                bytes(records),
                policy,
                next_offset=7,
                leader_epoch=3,
                now_ms=NOW_MS,
                origin=AppendOrigin.CLIENT,
                inspect_records=inspect,
            )
            for inspect in (inspect_inline, made.recall)
        )
        assert bytes(here.records) == bytes(there.records)
        assert here[2:] == there[2:]


def test_an_inspection_by_other_rules_is_not_recalled() -> None:
    batch = batch_of(1)
    with pytest.raises(InspectionPutOff) as put_off:
        inspect_inline(batch, COMPACTED, NOW_MS).recall(batch, GZIPPED, NOW_MS + 1)
    assert put_off.value.policy is GZIPPED


def test_compressed_records_have_consecutive_offsets_unless_they_are_rewritten() -> None:
    gaps = raw_batch(tuple(RawRecord(0, index * 2) for index in range(3)), attributes=Compression.GZIP)
    for policy in (COMPACTED, AppendPolicy(strict=True)):
        with pytest.raises(InvalidRecordError, match="Record 1 of a compressed batch has the offset delta 2"):
            inspect_bytes(bytes(gaps), policy, NOW_MS)
    assert inspect_bytes(bytes(gaps), AppendPolicy(target_compression=Compression.ZSTD), NOW_MS).rewritten is not None
