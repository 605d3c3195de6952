"""What the consumer's decoder says of a batch is what the records' own decoder says of it, garbage included."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.consumer.batch_decoder import decode_batch
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import HEADER_BYTES, RecordBatch, TimestampType
from ottla.records.builder import build_batch
from ottla.records.record import Header, SimpleRecord, decode_records

PARTITION = TopicPartition("topic", 7)

data = st.none() | st.binary(max_size=200) | st.integers(8_000, 9_000).map(bytes)
records = st.lists(
    st.builds(
        SimpleRecord,
        st.integers(-1, 2**63 - 1) | st.integers(1_000, 20_000),
        data,
        data,
        st.lists(st.builds(Header, st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=150,
)


def same(batch: RecordBatch) -> None:
    def plain() -> list[tuple[object, ...]]:
        return [(one.offset, one.timestamp, one.key, one.value, one.headers) for one in decode_records(batch)]

    try:
        expected = plain()
    except KafkaError as error:
        try:
            decode_batch(batch, PARTITION)
        except KafkaError as other:
            assert type(other) is type(error)
            return
        raise AssertionError(f"accepted what is refused: {error}") from error
    decoded = decode_batch(batch, PARTITION)
    assert [(one.offset, one.timestamp_ms, one.key, one.value, one.headers) for one in decoded] == expected
    assert all(one.topic_partition == PARTITION for one in decoded)
    assert all(one.timestamp_type is batch.timestamp_type for one in decoded)
    assert all(one.leader_epoch == batch.partition_leader_epoch for one in decoded)


@given(records=records, codec=st.integers(0, 4), append_time=st.none() | st.integers(0, 2**62))
def test_valid_batches(records: list[SimpleRecord], codec: int, append_time: int | None) -> None:
    kind = TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME
    made = build_batch(
        records, base_offset=5, leader_epoch=9, compression=codec, timestamp_type=kind, log_append_time_ms=append_time
    )
    same(RecordBatch(bytes(made)))


@given(records=records, place=st.floats(0, 1), byte=st.integers(0, 255), count=st.integers(-1, 3))
def test_damaged_batches(records: list[SimpleRecord], place: float, byte: int, count: int) -> None:
    made = bytearray(build_batch(records[:20]))
    made[HEADER_BYTES + int(place * (len(made) - HEADER_BYTES - 1))] = byte
    same(RecordBatch(bytes(made)))
    made[57:61] = (len(records) + count).to_bytes(4, "big", signed=True)
    same(RecordBatch(bytes(made)))
