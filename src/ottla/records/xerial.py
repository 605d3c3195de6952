"""Snappy as Java writes it (xerial's snappy-java): a 16-byte header, then length-prefixed raw blocks of 32 KiB.

Some clients (librdkafka, at times) send one raw block with no header; both are read. A header in the middle starts
another stream that was appended to the first.
"""

import struct
from typing import Final

import cramjam

from ottla.records.bounded_output import allocate, corrupt, too_large

BLOCK_BYTES: Final = 32 * 1024
MAGIC: Final = b"\x82SNAPPY\x00"
STREAM_HEADER: Final = MAGIC + struct.pack(">ii", 1, 1)
"""Magic, version, oldest compatible version."""

_HEADER_BYTES: Final = len(STREAM_HEADER)
_SIZE_BYTES_MAX: Final = 5
"""A raw block begins with its size, a varint of 32 bits."""
_INT32: Final = struct.Struct(">i")
_VERSION: Final = 1
_EXPANSION_MAX: Final = 22
"""The most bytes that one byte of a raw block can stand for: a copy of three bytes repeats 64."""


def compress(data: memoryview, level: int) -> bytes:  # noqa: ARG001 - snappy has no levels
    """One stream that holds ``data``."""
    parts: list[bytes] = [STREAM_HEADER]
    for start in range(0, len(data), BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + BLOCK_BYTES]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: memoryview, max_bytes: int) -> bytes:
    """The content of the stream, or of the raw block, in ``data``, at most ``max_bytes``."""
    try:
        return _decompress_blocks(_blocks(data) if bytes(data[: len(MAGIC)]) == MAGIC else [data], max_bytes)
    except cramjam.DecompressionError as error:
        raise corrupt("snappy", error) from error


def may_begin(data: bytes | bytearray | memoryview) -> bool:
    """Whether a stream begins here, or a raw block whose stated size its bytes could yield."""
    if data[: len(MAGIC)] == MAGIC:
        return True
    size = shift = 0
    for byte in data[:_SIZE_BYTES_MAX]:
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return size <= len(data) * _EXPANSION_MAX
        shift += 7
    return False


def _blocks(data: memoryview) -> list[memoryview]:
    """The raw blocks of a stream; raises CorruptRecordError where its framing breaks."""
    blocks: list[memoryview] = []
    position, end = 0, len(data)
    while position < end:
        if bytes(data[position : position + len(MAGIC)]) == MAGIC:
            if position + _HEADER_BYTES > end:
                raise corrupt("snappy", "the stream header is cut")
            compatible_version: int = _INT32.unpack_from(data, position + 12)[0]
            if compatible_version > _VERSION:
                raise corrupt("snappy", f"the stream needs version {compatible_version}")
            position += _HEADER_BYTES
            continue
        size = _INT32.unpack_from(data, position)[0] if position + 4 <= end else -1
        position += 4
        if not 0 <= size <= end - position:
            raise corrupt("snappy", f"a block of {size} bytes does not fit")
        blocks.append(data[position : position + size])
        position += size
    return blocks


def _decompress_blocks(blocks: list[memoryview], max_bytes: int) -> bytes:
    """Every block says how much it holds, so the output is allocated once, exactly."""
    sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
    total = sum(sizes)
    if total > max_bytes:
        raise too_large(max_bytes)
    output = allocate(total)
    position = 0
    with output.getbuffer() as view:
        for block, size in zip(blocks, sizes, strict=True):
            with view[position : position + size] as room:
                written = cramjam.snappy.decompress_raw_into(block, room)
            if written != size:
                raise corrupt("snappy", f"a block of {size} bytes yields {written}")
            position += size
    return output.getvalue()
