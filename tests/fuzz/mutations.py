"""Damage to valid requests: at lengths, counts, tags and numbers, in headers, in sizes, and anywhere."""

import struct
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.fuzz.edge_numbers import damaged_bytes, damaged_length, damaged_uvarint, uvarint_of
from tests.fuzz.spans import Kind, Span
from tests.fuzz.valid_requests import CLIENT_ID, CORRELATION_POSITION, Valid, frame

_HEADER_FIELDS = ((0, 2), (2, 2), (8, 2))
"""Api key, version and the length of the client id: all but the correlation id, by which answers are known."""
_FOREIGN = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    bytes.fromhex("16030100c8010000c40303") + bytes(190),
    b"SSH-2.0-OpenSSH_9.6\r\n",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
)


UNDAMAGED = "none"


class Frame(NamedTuple):
    """What goes over a connection."""

    data: bytes
    correlation_id: int
    ends_connection: bool
    """Whether nothing that follows can be understood: the size of this frame does not hold."""
    mutation: str


def mutated(valid: Valid, correlation_id: int, rng: Random) -> Frame:
    """A request with some damage, or with none."""
    mutation = rng.choice(_MUTATIONS)
    name = UNDAMAGED if mutation is _nothing else mutation.__name__
    return Frame(frame(mutation(valid, rng), correlation_id), correlation_id, False, name)


def whole(valid: Valid, correlation_id: int) -> Frame:
    """A request as it is."""
    return Frame(frame(valid.header + valid.body, correlation_id), correlation_id, False, UNDAMAGED)


def size_damaged(valid: Valid, correlation_id: int, rng: Random) -> Frame:
    """A frame whose size lies, bytes that are no frame, or half a frame."""
    data = frame(valid.header + valid.body, correlation_id)
    match rng.randrange(4):
        case 0:
            data = rng.choice(_FOREIGN)
        case 1:
            data = damaged_bytes(data[:4], rng) + data[4:]
        case 2:
            data = data[: rng.randrange(1, len(data))]
        case _:
            (size,) = struct.unpack_from(">i", data)
            data = struct.pack(">i", size + rng.choice((-1, 1, -size, 1000, 1 << 20))) + data[4:]
    return Frame(data, correlation_id, True, "size")


def _nothing(valid: Valid, _rng: Random) -> bytes:
    return valid.header + valid.body


def _bit_flips(valid: Valid, rng: Random) -> bytes:
    body = bytearray(valid.body)
    if body:
        for _ in range(rng.choice((1, 1, 2, 8))):
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    return valid.header + body


def _truncation(valid: Valid, rng: Random) -> bytes:
    whole = valid.header + valid.body
    return whole[: rng.randrange(len(whole))]


def _extension(valid: Valid, rng: Random) -> bytes:
    return valid.header + valid.body + rng.randbytes(rng.choice((1, 4, 100)))


def _concatenation(valid: Valid, _rng: Random) -> bytes:
    return (valid.header + valid.body) * 2


def _header(valid: Valid, rng: Random) -> bytes:
    start, size = rng.choice(_HEADER_FIELDS)
    header = bytearray(valid.header)
    header[start : start + size] = damaged_bytes(bytes(header[start : start + size]), rng)
    return bytes(header) + valid.body


def _header_bytes(valid: Valid, rng: Random) -> bytes:
    """Any byte after the correlation id: the client id and the header's tagged fields."""
    header = bytearray(valid.header)
    header[rng.randrange(CORRELATION_POSITION + 4, len(header))] = rng.randrange(256)
    return bytes(header) + valid.body


def _header_tags(valid: Valid, rng: Random) -> bytes:
    """Tagged fields in the header, where it has room for them, true or lying."""
    if not valid.header.endswith(CLIENT_ID + b"\0"):
        return _header(valid, rng)
    count = rng.choice((1, 3, 1000))
    tags = b"".join(uvarint_of(tag) + b"\1x" for tag in range(count))
    return valid.header[:-1] + uvarint_of(count + rng.choice((0, 0, 1, -1))) + tags + valid.body


def _spans(valid: Valid, rng: Random) -> bytes:
    """One or two values of the body, each replaced by another of its kind."""
    if not valid.spans:
        return _extension(valid, rng)
    body = valid.body
    chosen = sorted(rng.sample(valid.spans, min(rng.choice((1, 1, 2)), len(valid.spans))), key=lambda span: -span.start)
    for span in chosen:
        end = span.start + span.size
        body = body[: span.start] + _damaged(span, body, rng) + body[end:]
    return valid.header + body


def _damaged(span: Span, body: bytes, rng: Random) -> bytes:
    end = span.start + span.size
    value, left = body[span.start : end], len(body) - end
    match span.kind:
        case Kind.LENGTH:
            if rng.random() < 0.3:
                return damaged_bytes(value, rng)
            bits = 8 * span.size
            length = damaged_length(int.from_bytes(value), left, rng)
            return (length % (1 << bits)).to_bytes(span.size)
        case Kind.NUMBER:
            return damaged_bytes(value, rng)
        case Kind.TEXT:
            return rng.choice((rng.randbytes(span.size), b"", b"\0" * span.size, b"\xff" * span.size))
        case _:
            number = sum((byte & 127) << (7 * index) for index, byte in enumerate(value))
            return damaged_uvarint(number, left, rng)


def _tags(valid: Valid, rng: Random) -> bytes:
    """Tagged fields in the body that nobody knows, where it has room for them: many, large or lying."""
    places = [span for span in valid.spans if span.kind is Kind.TAG_COUNT and valid.body[span.start] == 0]
    if not places:
        return _spans(valid, rng)
    place = rng.choice(places)
    count, size = rng.choice(((1, 0), (3, 100), (1000, 1)))
    tags = b"".join(uvarint_of(tag + 10) + uvarint_of(size) + bytes(size) for tag in range(count))
    stated = uvarint_of(max(count + rng.choice((0, 0, 1, -1, 1 << 31)), 0))
    return valid.header + valid.body[: place.start] + stated + tags + valid.body[place.start + 1 :]


_MUTATIONS: tuple[Callable[[Valid, Random], bytes], ...] = (
    _nothing,
    _nothing,
    _spans,
    _spans,
    _spans,
    _spans,
    _bit_flips,
    _bit_flips,
    _truncation,
    _extension,
    _concatenation,
    _header,
    _header_bytes,
    _header_tags,
    _tags,
)
