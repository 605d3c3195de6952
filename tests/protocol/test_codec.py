"""Messages to bytes and back: every message, every version, and everything that is no message."""

import tracemalloc
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import InvalidRequestError
from ottla.common.uuid import Uuid
from ottla.protocol.codec import decode, decode_from, encode, encode_parts
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.message import BYTES, INT32, STRING, ArrayOf, Message, MessageType, Type, field
from ottla.protocol.messages.api_versions import ApiVersionsResponse
from ottla.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.produce import LeaderIdAndEpoch, ProduceRequest
from ottla.protocol.messages.streams_group_describe import StreamsGroupDescribeResponse
from ottla.protocol.varint import read_uvarint, uvarint
from tests.protocol.all_messages import MESSAGE_CLASSES, MESSAGES_AND_VERSIONS, filled
from tests.random_messages import random_message

HUGE = (b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x07", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe")

any_message = st.sampled_from(MESSAGES_AND_VERSIONS)
chance = st.integers(min_value=0, max_value=(1 << 64) - 1).map(Random)


@given(any_message, chance)
def test_what_is_written_can_be_read(kind: tuple[type[Message], int], rng: Random) -> None:
    cls, version = kind
    data = encode(random_message(cls, version, rng), version)
    message = decode(cls, data, version)
    assert encode(message, version) == data
    assert decode(cls, data, version) == message
    assert eval(repr(cls()), {cls.__name__: cls, "Uuid": Uuid}) == cls()


def test_a_message_read_back_equals_the_one_written() -> None:
    for cls, version in MESSAGES_AND_VERSIONS:
        message = filled(cls, version)
        assert decode(cls, encode(message, version), version) == message, (cls, version)


def test_no_message_ends_early() -> None:
    for cls, version in MESSAGES_AND_VERSIONS:
        data = encode(filled(cls, version), version)
        for size in range(len(data)):
            with pytest.raises(InvalidRequestError):
                decode(cls, data[:size], version)
        with pytest.raises(InvalidRequestError, match="left over"):
            decode(cls, data + b"\0", version)


@given(any_message, chance, st.data())
@settings(max_examples=300)
def test_changed_bytes_are_read_or_refused(kind: tuple[type[Message], int], rng: Random, draw: st.DataObject) -> None:
    cls, version = kind
    data = bytearray(encode(random_message(cls, version, rng), version))
    for _ in range(draw.draw(st.integers(1, 4))):
        position = draw.draw(st.integers(0, len(data)))
        data[position : position + draw.draw(st.integers(0, 5))] = draw.draw(st.binary(max_size=5))
    try:
        message = decode(cls, bytes(data), version)
    except InvalidRequestError:
        return
    assert decode(cls, encode(message, version), version) == message


def test_a_huge_length_anywhere_is_read_or_refused() -> None:
    for cls, version in MESSAGES_AND_VERSIONS:
        data = encode(filled(cls, version), version)
        for position in range(len(data)):
            for huge in HUGE:
                try:
                    decode(cls, data[:position] + huge + data[position + 1 :], version)
                except InvalidRequestError:
                    continue


def test_a_count_costs_no_memory_before_its_elements_are_there() -> None:
    tracemalloc.start()
    try:
        for version, count in ((0, b"\x7f\xff\xff\xff"), (12, uvarint((1 << 31) - 1))):
            with pytest.raises(InvalidRequestError, match="claims 21474836"):
                decode(MetadataRequest, count + b"\0" * 100, version)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


class Inner(Message):
    one: int = field(INT32, "0+", default=0)
    two: str = field(STRING, "0+", default="", tag=1, tagged="0+")


class Holder(Message):
    inner: Inner | None = field(Inner, "0+", default=None, nullable="0+")


class Sample(Message, versions="0-2", flexible="1+"):
    name: str | None = field(STRING, "0+", default="", nullable="2+")
    data: bytes = field(BYTES, "0+", default=b"")
    numbers: tuple[int, ...] | None = field(ArrayOf(INT32), "1+", default=(), nullable="1+", tag=0, tagged="1+")
    inner: Inner | None = field(Inner, "1+", default=None, nullable="1+", tag=1, tagged="1+")
    text: str = field(STRING, "1+", default="x", tag=2, tagged="1+")
    holders: list[Holder] | tuple[()] = field(ArrayOf(Holder), "1+", default=())


BODY = b"\x01\x01\x01"  # an empty name, no data, no holders


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x02\xff\x01\x01\x00", "no UTF-8"),
        (b"\x00\x01\x01\x00", "name is null"),
        (b"\x01\x00\x01\x00", "data is null"),
        (b"\x01\x01\x00\x00", "holders is null"),
        (b"\xff\xff\xff\xff\xff\x01", "longer than 32 bits"),
        (b"\xff\xff\xff\xff\x1f", "longer than 32 bits"),
        (uvarint(32769) + b"a" * 32768 + b"\x01\x01\x00", "name has the length 32768"),
        (BODY + b"\x03\x00\x00", "claims 3 elements"),
        (BODY + b"\xff\xff\xff\xff\x0f\x00\x00", "claims 4294967295 elements"),
        (BODY + b"\x01\x02\x05\x01", "ends early"),
        (BODY + b"\x01\x02\x01\x02a", "does not fill"),
        (BODY + b"\x01\x02\x03\x02ab", "does not fill"),
        (BODY + b"\x01\x02\x01\x00", "text is null"),
    ],
)
def test_malformed_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        decode(Sample, data, 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff\x00\x00\x00\x00", "name is null"),
        (b"\xff\xfe\x00\x00\x00\x00", "name has the length -2"),
        (b"\x00\x00\xff\xff\xff\xff", "data is null"),
        (b"\x00\x00\x80\x00\x00\x00", "data has the length -2147483648"),
        (b"\x00\x00\x7f\xff\xff\xff", "ends early"),
    ],
)
def test_malformed_bytes_of_old_versions_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        decode(Sample, data, 0)


def test_unknown_tagged_fields_are_skipped_inside_known_ones_too() -> None:
    # The inner struct's unknown field has the tag of one of the outer struct's.
    inner = b"\x01" + b"\x00\x00\x00\x07" + b"\x01\x02\x03abc"
    data = BODY + b"\x03" + b"\x01" + uvarint(len(inner)) + inner + b"\x02\x02\x02h" + b"\x09\x02zz"
    message = decode(Sample, data, 1)
    assert message == Sample(inner=Inner(one=7), text="h")


def test_null_differs_from_the_default_of_a_tagged_array() -> None:
    assert encode(Sample(numbers=None), 1) == BODY + b"\x01\x00\x01\x00"
    assert decode(Sample, encode(Sample(numbers=None), 1), 1).numbers is None
    assert encode(Sample(numbers=()), 1) == BODY + b"\x00"


def test_an_array_of_null_structs_is_no_longer_than_it_says() -> None:
    message = Sample(holders=[Holder()] * 9)
    assert decode(Sample, encode(message, 1), 1) == message


def test_a_struct_without_a_value_is_written_with_its_defaults() -> None:
    data = encode(StreamsGroupDescribeResponse(), 0)
    assert decode(StreamsGroupDescribeResponse, data, 0) == StreamsGroupDescribeResponse()
    assert LeaderIdAndEpoch() == LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)


def test_a_version_leaves_out_what_it_lacks() -> None:
    topic_id = Uuid(b"0123456789abcdef")
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="a", topic_id=topic_id)], allow_auto_topic_creation=False
    )
    assert decode(MetadataRequest, encode(request, 3), 3) == MetadataRequest(topics=[MetadataRequestTopic(name="a")])
    assert decode(MetadataRequest, encode(request, 12), 12) == request


class _File:
    path = "/a/file"

    def fileno(self) -> int:
        raise OSError

    def pread(self, size: int, position: int) -> bytes:
        return b"0123456789"[position : position + size]


def test_records_stay_where_they_are_until_they_are_sent() -> None:
    records = FileSlice(_File(), 2, 3)
    partitions = [PartitionData(partition_index=index, records=records) for index in range(2)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="a", partitions=partitions)])
    parts = encode_parts(response, 4, b"head")
    assert [part for part in parts if isinstance(part, FileSlice)] == [records, records]
    assert isinstance(parts[0], bytearray) and parts[0].startswith(b"head")
    read = decode(FetchResponse, encode(response, 4), 4)
    assert [partition.records for partition in read.responses[0].partitions] == [b"234", b"234"]


def test_records_are_read_as_a_view_of_the_request() -> None:
    data = encode(filled(ProduceRequest, 9), 9)
    request = decode(ProduceRequest, data, 9)
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is data


def test_a_message_may_stand_amid_other_bytes() -> None:
    data = encode(ApiVersionsResponse(throttle_time_ms=7), 4)
    message, end = decode_from(ApiVersionsResponse, memoryview(b"ab" + data + b"cd"), 2, 4)
    assert (message.throttle_time_ms, end) == (7, 2 + len(data))


def test_messages_compare_by_value_and_have_no_hash() -> None:
    for cls in MESSAGE_CLASSES:
        assert cls() == cls()
        with pytest.raises(TypeError):
            hash(cls())
        with pytest.raises(TypeError):
            cls(no_such_field=1)
        assert not hasattr(cls(), "__dict__")
    assert Sample() != Inner()
    assert Sample(name="a") != Sample()


@given(st.integers(0, (1 << 32) - 1))
def test_varints(value: int) -> None:
    assert read_uvarint(b"\xff" + uvarint(value), 1) == (value, 1 + len(uvarint(value)))


def test_every_type_has_bounds_that_are_checked() -> None:
    for kind in Type:
        value = {"value": field(kind, "0+", default=None)}
        cls: Any = MessageType("One", (Message,), value, versions="0", flexible="0+")
        with pytest.raises(InvalidRequestError):
            decode(cls, b"", 0)
