"""Batches made by hand, byte by byte, so that a test can make one lie about itself. Uses none of Ottla's writers."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c


class RawRecord(NamedTuple):
    """A record as it is encoded: deltas, not absolute values."""

    timestamp_delta: int = 0
    offset_delta: int = 0
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: tuple[tuple[bytes, bytes | None], ...] = ()


def varint(value: int) -> bytes:
    """Zig-zag, seven bits a byte, least first."""
    number = (value << 1) ^ (value >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def encode_record(record: RawRecord, *, attributes: int = 0, extra: bytes = b"") -> bytes:
    """The record with its length; ``extra`` stands unannounced at the end of the body."""
    body = bytes([attributes]) + varint(record.timestamp_delta) + varint(record.offset_delta)
    body += _nullable(record.key) + _nullable(record.value) + varint(len(record.headers))
    for key, value in record.headers:
        body += varint(len(key)) + key + _nullable(value)
    return varint(len(body + extra)) + body + extra


def encode_records(records: Sequence[RawRecord]) -> bytes:
    """The records one after another."""
    return b"".join(map(encode_record, records))


def gzip_member(data: bytes) -> bytes:
    """The same bytes from every version of Python, which differ in what they say of the operating system."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(data) + deflate.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\x04\x03" + body + struct.pack("<II", zlib.crc32(data), len(data))


def raw_batch(
    records: Sequence[RawRecord] | bytes = (RawRecord(),),
    *,
    base_offset: int = 0,
    length: int | None = None,
    leader_epoch: int = -1,
    magic: int = 2,
    crc: int | None = None,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = 1_000_000,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    count: int | None = None,
) -> bytearray:
    """A batch whose header says what it is told to; what it is not told is right. Codec 1 in ``attributes`` gzips."""
    if isinstance(records, bytes):
        payload, known = records, 1
        latest = base_timestamp
    else:
        payload, known = encode_records(records), len(records)
        latest = max((base_timestamp + record.timestamp_delta for record in records), default=-1)
        if attributes & 7 == 1:
            payload = gzip_member(payload)
    tail = struct.pack(
        ">hiqqqhii",
        attributes,
        known - 1 if last_offset_delta is None else last_offset_delta,
        base_timestamp,
        latest if max_timestamp is None else max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        known if count is None else count,
    )
    tail += payload
    crc = crc32c(tail) if crc is None else crc
    length = len(tail) + 9 if length is None else length
    return bytearray(struct.pack(">qiibI", base_offset, length, leader_epoch, magic, crc) + tail)
