"""A request may not have more elements than anybody needs, however many its bytes have room for."""

import struct

import pytest

from ottla.common.errors import InvalidRequestError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import REQUEST_ELEMENTS_MAX, decode, encode
from ottla.protocol.headers import decode_request_body, parse_request_header
from ottla.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
)
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.varint import uvarint


def metadata_request(topics: int, name: bytes = b"abc") -> memoryview:
    """Version 1, which is a count and names."""
    return memoryview(struct.pack(">i", topics) + (struct.pack(">h", len(name)) + name) * topics)


def test_as_many_as_allowed() -> None:
    body = decode_request_body(MetadataRequest, metadata_request(REQUEST_ELEMENTS_MAX), 1)
    assert body.topics is not None
    assert len(body.topics) == REQUEST_ELEMENTS_MAX


def test_one_more_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="more than 131072 elements"):
        decode_request_body(MetadataRequest, metadata_request(REQUEST_ELEMENTS_MAX + 1), 1)


def test_elements_of_nested_arrays_count_together() -> None:
    partitions = [AlterPartitionRequestPartitionData(partition_index=index) for index in range(1000)]
    topics = [AlterPartitionRequestTopicData(partitions=partitions)] * 140
    body = memoryview(encode(AlterPartitionRequest(topics=topics), 2))
    assert len(decode(AlterPartitionRequest, body, 2).topics) == 140
    with pytest.raises(InvalidRequestError, match="elements in all"):
        decode_request_body(AlterPartitionRequest, body, 2)


def test_tagged_fields_count() -> None:
    tags = REQUEST_ELEMENTS_MAX + 1
    body = encode(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    with pytest.raises(InvalidRequestError, match="elements in all"):
        decode_request_body(MetadataRequest, memoryview(body[:-1] + uvarint(tags) + b"\x63\0" * tags), 12)


def test_tagged_fields_of_a_header_count() -> None:
    tags = REQUEST_ELEMENTS_MAX + 1
    header = struct.pack(">hhih", ApiKey.METADATA, 12, 1, -1) + uvarint(tags) + b"\x63\0" * tags
    with pytest.raises(InvalidRequestError, match="131073 tagged fields"):
        parse_request_header(memoryview(header))


def test_bytes_are_no_elements() -> None:
    """A large produce is large by its records."""
    partition = PartitionProduceData(index=0, records=bytes(1 << 20))
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    read = decode_request_body(ProduceRequest, memoryview(encode(request, 9)), 9)
    assert read == request
