"""Whatever arrives, the validator accepts it or says what is wrong in Kafka's terms; it never breaks."""

import struct

from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import KafkaError
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import CRC_POSITION, HEADER, HEADER_BYTES, RecordBatch
from ottla.records.builder import build_batch
from ottla.records.compression import Compression
from ottla.records.record import Header, SimpleRecord, decode_records
from ottla.records.replicated import analyze_replicated
from ottla.records.validator import validate_and_assign_offsets

NOW_MS = 1_000_000
FORMATS = "qiibIhiqqqhii"
HEADER_FIELDS = [(struct.calcsize(">" + FORMATS[:index]), ">" + code) for index, code in enumerate(FORMATS)]

records = st.lists(
    st.builds(
        SimpleRecord,
        st.integers(NOW_MS - 2000, NOW_MS + 2000),
        st.none() | st.binary(max_size=20),
        st.none() | st.binary(max_size=200),
        st.lists(st.builds(Header, st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=8,
)
policies = st.builds(
    AppendPolicy,
    compacted=st.booleans(),
    target_compression=st.none() | st.sampled_from(Compression),
    log_append_time=st.booleans(),
    before_max_ms=st.sampled_from([0, 1000, (1 << 63) - 1]),
    after_max_ms=st.sampled_from([0, 1000, (1 << 63) - 1]),
    max_message_bytes=st.sampled_from([100, 1 << 20]),
    strict=st.booleans(),
)


@st.composite
def field_edits(draw: st.DrawFn) -> tuple[int, bytes]:
    """New bytes for a field of the header: its edges, small numbers, or anything."""
    position, code = draw(st.sampled_from(HEADER_FIELDS))
    size = struct.calcsize(code)
    edges = [b"\0" * size, b"\xff" * size, b"\x7f" + b"\xff" * (size - 1), b"\x80" + b"\0" * (size - 1)]
    small = st.integers(-3, 100).map(lambda number: number.to_bytes(size, "big", signed=True))
    return position, draw(st.sampled_from(edges) | small | st.binary(min_size=size, max_size=size))


edits = st.lists(
    field_edits() | st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=4)), min_size=0, max_size=4
)


@st.composite
def mutated(draw: st.DrawFn, base_offset: int = 0) -> bytearray:
    """A batch that was sound, with bytes changed, cut off or added, and more often than not a CRC that holds again."""
    codec = draw(st.sampled_from(Compression))
    batch = build_batch(draw(records), base_offset=base_offset, leader_epoch=1, compression=codec)
    for position, data in draw(edits):
        if position + len(data) <= len(batch):
            batch[position : position + len(data)] = data
    if draw(st.integers(0, 3)) == 0:
        batch = batch[: draw(st.integers(0, len(batch)))]
    elif draw(st.integers(0, 3)) == 0:
        batch += draw(st.binary(max_size=80) | st.just(bytes(batch)))
    if len(batch) >= HEADER_BYTES and draw(st.integers(0, 4)):
        batch[CRC_POSITION : CRC_POSITION + 4] = crc32c(batch[CRC_POSITION + 4 :]).to_bytes(4, "big")
    return batch


@settings(max_examples=400, deadline=None)
@given(mutated(), policies, st.sampled_from([AppendOrigin.CLIENT, AppendOrigin.COORDINATOR]))
def test_only_kafka_errors_escape(batch: bytearray, policy: AppendPolicy, origin: AppendOrigin) -> None:
    sent = bytes(batch)
    try:
        info = validate_and_assign_offsets(batch, policy, next_offset=50, leader_epoch=3, now_ms=NOW_MS, origin=origin)
    except KafkaError:
        assert batch == sent
        return
    [stored] = info.batches
    if origin is AppendOrigin.CLIENT:  # nobody looks at the CRC of a coordinator, which it has just computed
        stored.ensure_valid()
    assert stored.bytes == info.records
    assert HEADER.unpack_from(info.records)[:3] == (50, info.size_in_bytes - 12, 3)
    assert info.last_offset - info.first_offset + 1 == info.records_count > 0
    assert stored.is_log_append_time == policy.log_append_time
    if policy.target_compression is not None and not stored.is_control:
        assert stored.compression == policy.target_compression
    if policy.strict:
        walked = list(decode_records(stored))
        assert [record.offset for record in walked] == list(range(50, 50 + info.records_count))
        assert max(-1, *(record.timestamp for record in walked)) == info.max_timestamp
        assert not policy.compacted or all(record.key is not None for record in walked)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(mutated(base_offset=50), max_size=3), st.sampled_from([AppendOrigin.REPLICATION, AppendOrigin.RAFT_LEADER])
)
def test_only_kafka_errors_escape_from_replication(batches: list[bytearray], origin: AppendOrigin) -> None:
    try:
        info = analyze_replicated(b"".join(batches), next_offset=50, leader_epoch=1, origin=origin)
    except KafkaError:
        return
    assert b"".join(batch.bytes for batch in info.batches) == info.records
    assert all(batch.is_crc_valid() for batch in info.batches)
    assert not info.batches or info.first_offset >= 50


@settings(max_examples=150, deadline=None)
@given(records, st.sampled_from(Compression), st.none() | st.sampled_from(Compression), st.booleans())
def test_sound_records_survive(
    sent: list[SimpleRecord], source: Compression, target: Compression | None, strict: bool
) -> None:
    policy = AppendPolicy(target_compression=target, strict=strict)
    info = validate_and_assign_offsets(
        build_batch(sent, compression=source),
        policy,
        next_offset=50,
        leader_epoch=3,
        now_ms=NOW_MS,
        origin=AppendOrigin.CLIENT,
    )
    received = [SimpleRecord(*record[1:5]) for record in decode_records(RecordBatch(info.records))]
    assert received == sent
    assert info.max_timestamp == max(record.timestamp for record in sent)
