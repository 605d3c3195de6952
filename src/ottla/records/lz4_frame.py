"""LZ4 frames, written as Apache's Lz4BlockOutputStream does: independent 64 KiB blocks, no checksums, no sizes.

Reading accepts every valid frame and several in a row: linked blocks, larger blocks, checksums, skippable frames.
The frame that Kafka clients actually write is decoded block by block, which spares the frame decoder's set-up. The
wrong header checksum that old Kafka clients wrote was tolerated only in message format 0, never in record batches: here
it is an error.
"""

import struct
from typing import Final

import cramjam

from ottla.records.bounded_output import corrupt, decompress_bounded, too_large

BLOCK_BYTES: Final = 64 * 1024
FRAME_HEADER: Final = bytes.fromhex("04224d18 60 40 82")
"""Magic, FLG (version 1, independent blocks), BD (64 KiB) and the header checksum."""

FAST_LEVEL: Final = 9
"""The default level, which means LZ4's fast compressor; every other level selects the high compressor."""

_HEADER_BYTES: Final = len(FRAME_HEADER)
_MAGIC: Final = 0x184D2204
_SKIPPABLE_MAGIC: Final = 0x184D2A5
_STORED: Final = 0x80000000
_EXPANSION_MAX: Final = 255
"""The most bytes that one byte of a compressed block can stand for."""

_UINT32_LE: Final = struct.Struct("<I")

_decompress_block_into: Final = cramjam.lz4.decompress_block_into
_idle_scratch: Final[list[memoryview]] = []
"""Calls may release the GIL: whoever needs one takes it out and puts it back."""


def compress(data: memoryview, level: int) -> bytes:
    """One frame that holds ``data``."""
    parts: list[bytes] = [FRAME_HEADER]
    for start in range(0, len(data), BLOCK_BYTES):
        block = data[start : start + BLOCK_BYTES]
        compressed = _compress_block(block, level)
        if len(compressed) < len(block):
            parts += (_UINT32_LE.pack(len(compressed)), compressed)
        else:
            parts += (_UINT32_LE.pack(len(block) | _STORED), bytes(block))
    parts.append(_UINT32_LE.pack(0))
    return b"".join(parts)


def decompress(data: memoryview, max_bytes: int) -> bytes:
    """The content of all frames in ``data``, at most ``max_bytes``."""
    if bytes(data[:_HEADER_BYTES]) == FRAME_HEADER:
        blocks = _only_frame_blocks(data)
        if blocks is not None:
            return _decompress_blocks(data, blocks, max_bytes)
    if not data:
        raise corrupt("lz4", "there is no frame")
    return decompress_bounded("lz4", cramjam.lz4.decompress_into, data, _content_bound(data, max_bytes), max_bytes)


def may_begin(data: bytes | bytearray | memoryview) -> bool:
    """Whether a frame begins here, or one to be skipped."""
    if len(data) < _UINT32_LE.size:
        return False
    magic: int = _UINT32_LE.unpack_from(data)[0]
    return magic == _MAGIC or magic >> 4 == _SKIPPABLE_MAGIC


def _compress_block(block: memoryview, level: int) -> bytes:
    if level == FAST_LEVEL:
        return bytes(cramjam.lz4.compress_block(block, store_size=False))
    return bytes(cramjam.lz4.compress_block(block, mode="high_compression", compression=level, store_size=False))


def _only_frame_blocks(data: memoryview) -> list[tuple[int, int, bool]] | None:
    """(position, size, stored) of each block if ``data`` is exactly one frame with Kafka's header; else None."""
    blocks: list[tuple[int, int, bool]] = []
    position, end = _HEADER_BYTES, len(data)
    while position + 4 <= end:
        word: int = _UINT32_LE.unpack_from(data, position)[0]
        position += 4
        size = word & ~_STORED
        if size == 0:
            return blocks if position == end else None
        if size > BLOCK_BYTES:
            return None
        blocks.append((position, size, word >= _STORED))
        position += size
    return None


def _decompress_blocks(data: memoryview, blocks: list[tuple[int, int, bool]], max_bytes: int) -> bytes:
    """Block by block through kept memory: a new buffer for each frame costs more than decompressing a small one."""
    parts: list[bytes] = []
    room = max_bytes
    try:
        scratch = _idle_scratch.pop()
    except IndexError:
        scratch = memoryview(bytearray(BLOCK_BYTES))
    try:
        for position, size, stored in blocks:
            source = data[position : position + size]
            if stored:
                parts.append(bytes(source))
            else:
                written = _decompress_block_into(source, scratch, output_len=BLOCK_BYTES)
                parts.append(scratch[:written].tobytes())
            room -= len(parts[-1])
            if room < 0:
                raise too_large(max_bytes)
    except cramjam.DecompressionError as error:
        raise corrupt("lz4", error) from error
    finally:
        _idle_scratch.append(scratch)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _content_bound(data: memoryview, max_bytes: int) -> int:
    """The most that the frames can yield. Malformed input ends the walk early: the decoder will name the fault."""
    bound, position, end = 0, 0, len(data)
    while position + _HEADER_BYTES <= end and bound <= max_bytes:
        magic: int = _UINT32_LE.unpack_from(data, position)[0]
        if magic >> 4 == _SKIPPABLE_MAGIC:
            if position + 8 > end:
                break
            position += 8 + _UINT32_LE.unpack_from(data, position + 4)[0]
            continue
        if magic != _MAGIC:
            break
        flags, block_descriptor = data[position + 4], data[position + 5]
        block_max = 1 << (2 * (block_descriptor >> 4 & 7) + 8)
        checksum_bytes = 4 if flags & 0x10 else 0
        position += _HEADER_BYTES + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        while position + 4 <= end:
            word: int = _UINT32_LE.unpack_from(data, position)[0]
            position += 4
            size = word & ~_STORED
            if size == 0:
                position += 4 if flags & 0x04 else 0
                break
            bound += size if word >= _STORED else min(block_max, size * _EXPANSION_MAX)
            position += size + checksum_bytes
    return bound
