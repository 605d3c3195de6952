"""Requests and responses with their headers, as they stand in a frame.

A request's header is version 2 where its body is flexible and version 1 elsewhere; a response's is version 1 or 0 in
the same way, but for ApiVersions, whose response always has the old header: a client reads it before it knows what the
broker speaks.
"""

import struct
from typing import Final, NamedTuple, TypeVar

from ottla.common.errors import InvalidRequestError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import REQUEST_ELEMENTS_MAX, Part, decode, decode_request_from, encode_parts
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.message import Message
from ottla.protocol.varint import read_uvarint

M = TypeVar("M", bound=Message)

_FIXED: Final = struct.Struct(">hhih")
_fixed: Final = _FIXED.unpack_from
_SIZE: Final = struct.Struct(">i")
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")


class RequestHeader(NamedTuple):
    """What every request begins with."""

    api_key: ApiKey
    api_version: int
    correlation_id: int
    client_id: str | None


_new_header: Final = tuple.__new__  # a named tuple's own __new__ is Python, and this runs for every request
_API_KEYS: Final = {int(key): key for key in ApiKey}
_flexible_from: dict[int, int] = {}


def flexible_from(api_key: ApiKey) -> int:
    """The first version of an API that has compact lengths and tagged fields."""
    found = _flexible_from.get(api_key)
    if found is None:
        flexible = api_key.request_class.schema.flexible
        found = _flexible_from[api_key] = flexible.lowest if flexible.highest >= 0 else 1 << 15
    return found


def parse_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """The header of a request, and where its body begins; InvalidRequestError if no request can begin like that."""
    try:
        key, version, correlation_id, length = _fixed(frame)
    except struct.error:
        raise InvalidRequestError(f"a request of {len(frame)} bytes has no room for a header") from None
    api_key = _API_KEYS.get(key)
    if api_key is None:
        raise InvalidRequestError(f"unknown api key {key}")
    client_id = None
    position = 10
    if length >= 0:
        position += length
        if position > len(frame):
            raise InvalidRequestError(f"a client id of {length} bytes in a request of {len(frame)}")
        try:
            client_id = str(frame[10:position], "utf-8")
        except UnicodeDecodeError:
            raise InvalidRequestError("a client id that is no UTF-8") from None
    elif length != -1:
        raise InvalidRequestError(f"a client id of {length} bytes")
    first_flexible = _flexible_from.get(key)
    if version >= (flexible_from(api_key) if first_flexible is None else first_flexible):
        if position < len(frame) and frame[position] == 0:  # as in every request seen so far
            position += 1
        else:
            position = _skip_tagged_fields(frame, position)
    return _new_header(RequestHeader, (api_key, version, correlation_id, client_id)), position


def _skip_tagged_fields(frame: memoryview, position: int) -> int:
    try:
        if frame[position] == 0:
            return position + 1
        count, position = read_uvarint(frame, position)
        if count * 2 > len(frame) - position:
            raise IndexError
        if count > REQUEST_ELEMENTS_MAX:
            raise InvalidRequestError(f"a request header with {count} tagged fields")
        for _ in range(count):
            _tag, position = read_uvarint(frame, position)
            size, position = read_uvarint(frame, position)
            position += size
    except IndexError:
        raise InvalidRequestError("the tagged fields of a request header end early") from None
    if position > len(frame):
        raise InvalidRequestError("the tagged fields of a request header end early")
    return position


def encode_request(api_key: ApiKey, version: int, correlation_id: int, client_id: str | None, body: Message) -> bytes:
    """A request with its header, after its size."""
    client = b"" if client_id is None else client_id.encode()
    header = _FIXED.pack(api_key, version, correlation_id, -1 if client_id is None else len(client)) + client
    if version >= flexible_from(api_key):
        header += b"\0"
    parts = encode_parts(body, version, header)
    frame = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
    return _SIZE.pack(len(frame)) + frame


def response_frame(api_key: ApiKey, version: int, correlation_id: int, body: Message) -> list[Part]:
    """A response with its header, after its size, as parts to send one after the other."""
    if version >= flexible_from(api_key) and api_key is not ApiKey.API_VERSIONS:
        parts = encode_parts(body, version, _SIZE_AND_CORRELATION.pack(0, correlation_id) + b"\0")
    else:
        parts = encode_parts(body, version, _SIZE_AND_CORRELATION.pack(0, correlation_id))
    first = parts[0]
    assert isinstance(first, bytearray), "the first part is the buffer that holds the header"
    size = len(first)
    for part in parts[1:]:
        size += part.size if isinstance(part, FileSlice) else len(part)
    _SIZE.pack_into(first, 0, size - 4)
    return parts


def decode_response(api_key: ApiKey, version: int, frame: memoryview) -> tuple[int, Message]:
    """The correlation id and the body of a response; ``frame`` begins after the size."""
    try:
        (correlation_id,) = _SIZE.unpack_from(frame)
    except struct.error:
        raise InvalidRequestError(f"a response of {len(frame)} bytes") from None
    position = 4
    if version >= flexible_from(api_key) and api_key is not ApiKey.API_VERSIONS:
        position = _skip_tagged_fields(frame, position)
    return correlation_id, decode(api_key.response_class, frame[position:], version)


def decode_request_body(cls: type[M], body: memoryview, version: int) -> M:
    """The body of a request. Bytes after it are ignored, as Apache does: some clients are careless."""
    message, _end = decode_request_from(cls, body, 0, version)
    return message
