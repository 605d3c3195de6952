"""Requests as bytes, for load that costs its generator nothing: written once, sent many times."""

import struct
from collections.abc import Sequence

from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord

_PRODUCE, _FETCH, _API_VERSIONS = 0, 1, 18
_PRODUCE_VERSION, _FETCH_VERSION = 9, 12  # flexible, and the topic still goes by its name
_CLIENT_ID = b"bench"
ACKS_ALL = -1
SIZE = struct.Struct(">i")


def produce_frame(topic: str, partitions: Sequence[int], batch: bytes, acks: int = ACKS_ALL) -> bytes:
    """Return a request with one batch for each partition."""
    records = b"%b%b\0" % (_uvarint(len(batch) + 1), batch)
    body = b"\0" + struct.pack(">hi", acks, 30_000) + b"\2" + _name(topic) + _uvarint(len(partitions) + 1)
    body += b"".join(struct.pack(">i", partition) + records for partition in partitions) + b"\0\0"
    return _frame(_PRODUCE, _PRODUCE_VERSION, body)


def produce_error(topic: str, frame: bytes) -> int:
    """Return the error code in the answer to `produce_frame`, without its size."""
    position = 4 + 1 + 1 + len(_name(topic)) + 1 + 4
    return int(struct.unpack_from(">h", frame, position)[0])


def fetch_frame(topic: str, partition: int, offset: int, max_bytes: int) -> bytes:
    """Return a request for one partition, outside of any fetch session."""
    body = struct.pack(">iiiibii", -1, 500, 1, max_bytes, 0, 0, -1)
    body += b"\2" + _name(topic) + b"\2" + struct.pack(">iiqiqi", partition, -1, offset, -1, -1, max_bytes)
    return _frame(_FETCH, _FETCH_VERSION, body + b"\0\0" + b"\1" + b"\1" + b"\0")


def api_versions_frame() -> bytes:
    """Return the request that every client begins with."""
    header = struct.pack(">hhih", _API_VERSIONS, 0, 0, len(_CLIENT_ID)) + _CLIENT_ID
    return SIZE.pack(len(header)) + header


def batch_of(value_bytes: int, records: int, timestamp_ms: int) -> bytes:
    """Return a batch of records with values of this size."""
    return bytes(build_batch([SimpleRecord(timestamp_ms, None, bytes(value_bytes)) for _ in range(records)]))


def _frame(api_key: int, version: int, body: bytes) -> bytes:
    header = struct.pack(">hhih", api_key, version, 0, len(_CLIENT_ID)) + _CLIENT_ID + b"\0"
    return SIZE.pack(len(header) + len(body)) + header + body


def _name(text: str) -> bytes:
    return _uvarint(len(text) + 1) + text.encode()


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
