"""Requests and responses in their frames."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidRequestError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.headers import (
    decode_request_body,
    decode_response,
    encode_request,
    flexible_from,
    parse_request_header,
    response_frame,
)
from ottla.protocol.message import VERSION_MAX
from ottla.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.headers import RequestHeader, ResponseHeader
from tests.protocol.all_messages import filled

VERSIONS = [
    (key, version)
    for key in ApiKey
    for version in range(key.request_class.schema.versions.lowest, key.request_class.schema.versions.highest + 1)
]


def _flexible(key: ApiKey, version: int) -> bool:
    return version in key.request_class.schema.flexible


@pytest.mark.parametrize("client_id", [None, "", "ottla-ä"])
def test_requests_of_all_versions_have_the_header_of_the_schema(client_id: str | None) -> None:
    for key, version in VERSIONS:
        body = filled(key.request_class, version)
        data = encode_request(key, version, 77, client_id, body)
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        header, position = parse_request_header(memoryview(data)[4:])
        assert header == (key, version, 77, client_id)
        assert header.api_key is key
        assert decode(key.request_class, data[4 + position :], version) == body
        declared = RequestHeader(
            request_api_key=key, request_api_version=version, correlation_id=77, client_id=client_id
        )
        assert data[4 : 4 + position] == encode(declared, 2 if _flexible(key, version) else 1)


def test_responses_of_all_versions_have_the_header_of_the_schema() -> None:
    for key, version in VERSIONS:
        body = filled(key.response_class, version)
        data = b"".join(
            part.read() if isinstance(part, FileSlice) else part for part in response_frame(key, version, -5, body)
        )
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        assert decode_response(key, version, memoryview(data)[4:]) == (-5, body)
        flexible = _flexible(key, version) and key is not ApiKey.API_VERSIONS
        assert data[4:].startswith(encode(ResponseHeader(correlation_id=-5), int(flexible)))


def test_every_api_is_flexible_from_the_version_on_that_its_schema_states() -> None:
    assert flexible_from(ApiKey.PRODUCE) == 9
    assert flexible_from(ApiKey.SASL_HANDSHAKE) > VERSION_MAX
    for key in ApiKey:
        assert key.request_class.schema.flexible == key.response_class.schema.flexible
        assert key.request_class.schema.versions == key.response_class.schema.versions


def test_a_frame_states_the_size_of_files_too() -> None:
    class File:
        path = "/a/file"

        def fileno(self) -> int:
            raise OSError

        def pread(self, size: int, position: int) -> bytes:
            return b"x" * size

    partition = PartitionData(records=FileSlice(File(), 0, 1000))
    body = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    parts = response_frame(ApiKey.FETCH, 12, 1, body)
    assert isinstance(parts[0], bytearray)
    sizes = [part.size if isinstance(part, FileSlice) else len(part) for part in parts]
    assert int.from_bytes(parts[0][:4], "big") == sum(sizes) - 4 > 1000


FLEXIBLE = b"\x00\x03\x00\x0c\x00\x00\x00\x01\xff\xff"  # Metadata v12, without a client id
SKIPPED = b"\x02\x07\x02ab\x09\x00"
TAGGED_FIELDS_ENDLESS = b"\xff\xff\xff\xff\x0f"


def test_tagged_fields_of_a_header_are_skipped() -> None:
    assert parse_request_header(memoryview(FLEXIBLE + SKIPPED + b"rest")) == ((ApiKey.METADATA, 12, 1, None), 17)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "0 bytes has no room"),
        (b"\x00\x03\x00\x01\x00\x00\x00\x01\x00", "9 bytes has no room"),
        (b"\x00\x04\x00\x01\x00\x00\x00\x01\xff\xff", "unknown api key 4"),
        (b"\xff\xff\x00\x01\x00\x00\x00\x01\xff\xff", "unknown api key -1"),
        (b"\x00\x03\x00\x01\x00\x00\x00\x01\xff\xfe", "a client id of -2 bytes"),
        (b"\x00\x03\x00\x01\x00\x00\x00\x01\x00\x02a", "a client id of 2 bytes in a request of 11"),
        (b"\x00\x03\x00\x01\x00\x00\x00\x01\x00\x01\xff", "no UTF-8"),
        (FLEXIBLE, "end early"),
        (FLEXIBLE + b"\x01\x00", "end early"),
        (FLEXIBLE + b"\x01\x00\x05abc", "end early"),
        (FLEXIBLE + b"\x01\x00" + TAGGED_FIELDS_ENDLESS, "end early"),
        (FLEXIBLE + TAGGED_FIELDS_ENDLESS, "end early"),
        (FLEXIBLE + TAGGED_FIELDS_ENDLESS + bytes(1000), "end early"),
        (FLEXIBLE + b"\xff\xff\xff\xff\xff\x01", "longer than 32 bits"),
    ],
)
def test_malformed_headers_are_refused(frame: bytes, reason: str) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        parse_request_header(memoryview(frame))


@given(st.binary(max_size=40))
def test_any_bytes_are_a_header_or_refused(data: bytes) -> None:
    try:
        _header, position = parse_request_header(memoryview(data))
    except InvalidRequestError:
        return
    assert position <= len(data)


@given(st.sampled_from(VERSIONS), st.binary(max_size=60))
def test_any_bytes_are_a_response_or_refused(kind: tuple[ApiKey, int], data: bytes) -> None:
    key, version = kind
    try:
        decode_response(key, version, memoryview(data))
    except InvalidRequestError:
        return


def test_bytes_after_a_request_are_ignored_as_by_apache() -> None:
    body = filled(ApiKey.METADATA.request_class, 12)
    data = memoryview(encode(body, 12) + b"more")
    assert decode_request_body(ApiKey.METADATA.request_class, data, 12) == body
