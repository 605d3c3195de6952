"""The short way for a produce of one batch says byte for byte what the codec says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.headers import response_frame
from ottla.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from ottla.protocol.single_produce import read_single_produce, write_single_produce_response

VERSIONS = range(9, 14)
TOPIC_ID = Uuid(bytes(range(16)))


def request(name: str = "orders", records: bytes = b"r" * 70, **changes: object) -> ProduceRequest:
    body = ProduceRequest(
        acks=-1,
        timeout_ms=1_500,
        topic_data=[
            TopicProduceData(
                name=name, topic_id=TOPIC_ID, partition_data=[PartitionProduceData(index=7, records=records)]
            )
        ],
    )
    for field, value in changes.items():
        setattr(body, field, value)
    return body


@given(
    version=st.sampled_from(VERSIONS),
    name=st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=126),
    records=st.binary(min_size=16, max_size=40_000),
    acks=st.integers(-1, 1),
    transactional_id=st.none() | st.text(st.characters(codec="ascii"), min_size=1, max_size=126),
)
def test_reading_gives_what_was_written(
    version: int, name: str, records: bytes, acks: int, transactional_id: str | None
) -> None:
    body = encode(request(name, records, acks=acks, transactional_id=transactional_id), version)
    single = read_single_produce(memoryview(body), version)
    assert single is not None
    read_acks, timeout_ms, read_name, topic_id, _field, partition, read_records, read_transactional_id = single
    assert (read_acks, timeout_ms, partition, bytes(read_records)) == (acks, 1_500, 7, records)
    assert read_transactional_id == transactional_id
    assert (read_name, topic_id) == ((None, TOPIC_ID) if version >= 13 else (name, None))


@given(
    version=st.sampled_from(VERSIONS),
    base_offset=st.integers(-1, 2**62),
    log_start_offset=st.integers(-1, 2**62),
    throttle_time_ms=st.integers(0, 2**31 - 1),
)
def test_the_answer_is_the_codecs(version: int, base_offset: int, log_start_offset: int, throttle_time_ms: int) -> None:
    single = read_single_produce(memoryview(encode(request(), version)), version)
    assert single is not None
    partition = PartitionProduceResponse(index=7, base_offset=base_offset, log_start_offset=log_start_offset)
    response = ProduceResponse(
        responses=[TopicProduceResponse(name="orders", topic_id=TOPIC_ID, partition_responses=[partition])],
        throttle_time_ms=throttle_time_ms,
    )
    expected = b"".join(bytes(part) for part in response_frame(ApiKey.PRODUCE, version, 99, response))  # type: ignore[arg-type]
    offsets = (base_offset, -1, log_start_offset)
    assert expected == write_single_produce_response(99, single[4], 7, *offsets, throttle_time_ms)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_plain_is_left_to_the_codec(version: int) -> None:
    plain = request()
    two_partitions = request()
    two_partitions.topic_data[0].partition_data = [plain.topic_data[0].partition_data[0]] * 2
    for body in (
        request(transactional_id=""),
        request(transactional_id="t" * 127),
        request(topic_data=[]),
        request(topic_data=[*plain.topic_data, *plain.topic_data]),
        request(records=b""),
        two_partitions,
    ):
        assert read_single_produce(memoryview(encode(body, version)), version) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional_id", [None, "txn"])
def test_damage_is_left_to_the_codec(version: int, transactional_id: str | None) -> None:
    whole = encode(request(transactional_id=transactional_id), version)
    for end in range(len(whole)):
        assert read_single_produce(memoryview(whole[:end]), version) is None
    tagged = whole[:-1] + b"\x01\x63\x00"
    assert read_single_produce(memoryview(tagged), version) is None
    assert read_single_produce(memoryview(whole + b"\0"), version) is None
    assert read_single_produce(memoryview(whole), 8) is None
