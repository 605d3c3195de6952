"""Whatever an append to a compacted topic takes can be compacted, in memory that its bytes justify."""

import tempfile
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import CorruptRecordError, InvalidRecordError, InvalidTimestampError
from ottla.log.cleaner import log_cleaner
from ottla.log.cleaner.offset_map import SLICE_RECORDS_MAX
from ottla.records.batch import TimestampType
from ottla.records.record import decode_records
from ottla.runtime.inline import run
from tests.log.cleaner.cleaner_logs import NOW_MS, CleanerBench
from tests.records.hostile_batches import counted
from tests.records.raw_batches import RawRecord, encode_records, gzip_member, raw_batch, varint

INT64_MAX = (1 << 63) - 1
GZIP = 1
BYTES_A_RECORD = 1_000
"""Of a slice; the plain map takes some 500."""


def encoded(index: int, timestamp_delta: int, key: bytes, lengths: tuple[int, int], headers: bytes) -> bytes:
    """A record whose key and value have these lengths, if those are negative."""
    key_length, value_length = lengths
    body = b"\x00" + varint(timestamp_delta) + varint(index)
    body += varint(len(key)) + key if key_length >= 0 else varint(key_length)
    body += varint(1) + b"v" if value_length >= 0 else varint(value_length)
    body += headers
    return varint(len(body)) + body


TIMESTAMP_DELTAS = {NOW_MS: [-1, 0, 1, -(1 << 62)], -1: [0, 1, NOW_MS], INT64_MAX - 1: [1 << 62, INT64_MAX]}
"""By the batch's base timestamp; the last one's sums are beyond an int64, and wrap."""
lengths = st.sampled_from([0, 0, 0, -1, -2, -(1 << 31)])
records = st.tuples(
    st.sampled_from([b"a", b"b", b"", bytes(64)]),
    st.tuples(st.sampled_from([0, 0, 0, 0, -1, -2]), lengths),
    st.sampled_from([b"\x00", b"\x00", b"\x02\x02h\x01", b"\x02\x00\x03", b"\x80\x00"]),
)


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    """Batches that a client might have made with more freedom than sense; about half of them are taken."""
    base_timestamp = draw(st.sampled_from(sorted(TIMESTAMP_DELTAS)))
    deltas = st.sampled_from(TIMESTAMP_DELTAS[base_timestamp])
    drawn = draw(st.lists(records, min_size=1, max_size=6))
    payload = bytearray(b"".join(encoded(index, draw(deltas), *record) for index, record in enumerate(drawn)))
    if draw(st.integers(0, 3)) == 0:
        payload[draw(st.integers(0, len(payload) - 1))] = draw(st.integers(0, 255))
    codec = draw(st.sampled_from([0, GZIP]))
    return raw_batch(
        gzip_member(bytes(payload)) if codec else bytes(payload),
        attributes=codec,
        base_timestamp=base_timestamp,
        max_timestamp=draw(st.sampled_from([base_timestamp, NOW_MS])),
        last_offset_delta=len(drawn) - 1,
        count=len(drawn),
    )


@settings(deadline=None, max_examples=200)
@given(
    batches=st.lists(batches(), min_size=1, max_size=4),
    timestamp_type=st.sampled_from(["CreateTime", "LogAppendTime"]),
    compiled=st.booleans(),
)
def test_what_is_appended_can_be_compacted(batches: list[bytearray], timestamp_type: str, compiled: bool) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_cleaner, "COMPILED_BYTES_MIN", 0 if compiled else 1 << 62)
        bench = CleanerBench(directory, {"message.timestamp.type": timestamp_type})
        latest: dict[bytes | None, tuple[int, int, bytes | None]] = {}
        for batch in batches:
            try:
                bench.append_batch(batch)
            except (CorruptRecordError, InvalidRecordError, InvalidTimestampError):
                continue
        for record in bench.records():
            latest[record.key] = (record.offset, record.timestamp, record.value)
        bench.append([(b"end", b"")])
        bench.roll()
        run(bench.cleaner.clean_filthiest())
        assert bench.cleaner.uncleanable_partitions(directory) == frozenset()
        assert {record.key: (*record[:2], record.value) for record in bench.records()[:-1]} == latest
        bench.log.close()


def test_a_value_of_length_minus_2_is_a_tombstone(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    bench.append([(b"k", b"1")])
    bench.append_batch(raw_batch(encoded(0, 0, b"k", (0, -2), b"\x00"), base_timestamp=NOW_MS))
    bench.append([(b"end", b"")])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert bench.values() == [(1, b"k", None), (2, b"end", b"")]
    assert bench.batches()[0].delete_horizon_ms is not None


def test_a_batch_is_compacted_in_slices(tmp_path: object) -> None:
    count = 3 * SLICE_RECORDS_MAX + 1
    bench = CleanerBench(str(tmp_path))
    records = encode_records([RawRecord(0, index, b"%d" % (index // 2)) for index in range(count)])
    bench.append_batch(
        raw_batch(
            gzip_member(records), attributes=GZIP, base_timestamp=NOW_MS, last_offset_delta=count - 1, count=count
        )
    )
    bench.append([(b"end", b"")])
    bench.roll()
    assert run(bench.cleaner.clean_filthiest()) is not None
    kept = bench.batches()[0]
    assert kept.timestamp_type is TimestampType.CREATE_TIME
    assert kept.records_count == count // 2 + 1
    offsets = [record.offset for record in decode_records(kept)]
    assert offsets == [min(2 * half + 1, count - 1) for half in range(count // 2 + 1)]


def test_the_memory_is_that_of_a_slice(tmp_path: object) -> None:
    bench = CleanerBench(str(tmp_path))
    bench.append_batch(counted(8 * SLICE_RECORDS_MAX))
    bench.append([(b"end", b"")])
    bench.roll()
    tracemalloc.start()
    assert run(bench.cleaner.clean_filthiest()) is not None
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < BYTES_A_RECORD * SLICE_RECORDS_MAX + 4 * 8 * SLICE_RECORDS_MAX * len(b"8 bytes a")
