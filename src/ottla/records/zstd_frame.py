"""Zstandard frames: how much can come out of them, read from their headers before anything is decompressed.

The usual stream is one frame; it goes through a kept context, because setting one up costs twice what decompressing a
small batch does. Any other stream, and any damage, takes the general way.

Streams of several frames and skippable frames are valid, and Apache's reader takes them. Frames written by streaming
clients carry no content size; then each compressed block counts as the 128 KiB that a block yields at most.
"""

import struct
from collections import defaultdict
from typing import Final

import cramjam
import zstandard

from ottla.records.bounded_output import decompress_bounded, too_large

_MAGIC: Final = 0xFD2FB528
_SKIPPABLE_MAGIC: Final = 0x184D2A5
_BLOCK_BYTES_MAX: Final = 128 * 1024
_RAW_BLOCK, _RLE_BLOCK = 0, 1
_DICTIONARY_ID_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_KEPT_CONTEXT_BYTES_MAX: Final = 4 * 1024 * 1024
"""A frame without a size gets as much memory as it may yield, for a moment; larger ones take the general way."""
_UINT32_LE: Final = struct.Struct("<I")

# A context serves one call at a time, and calls release the GIL: whoever needs one takes it out and puts it back.
_idle_compressors: Final[defaultdict[int, list[zstandard.ZstdCompressor]]] = defaultdict(list)
_idle_decompressors: Final[list[zstandard.ZstdDecompressor]] = []


def compress(data: memoryview, level: int) -> bytes:
    """One frame that holds ``data``."""
    idle = _idle_compressors[level]
    try:
        compressor = idle.pop()
    except IndexError:
        compressor = zstandard.ZstdCompressor(level=level)
    frame = compressor.compress(data)
    idle.append(compressor)
    return frame


def decompress(data: memoryview, max_bytes: int) -> bytes:
    """The content of all frames in ``data``, at most ``max_bytes``."""
    try:
        size = zstandard.frame_content_size(data)
        if 0 < size <= max_bytes:
            return _decompress_frame(data, 0)
        bound = _content_bound(data, max_bytes)
        if size < 0 < bound <= min(max_bytes, _KEPT_CONTEXT_BYTES_MAX):
            return _decompress_frame(data, bound)
    except zstandard.ZstdError:
        pass  # more than one frame, or damage: the general way finds out
    return decompress_bounded("zstd", cramjam.zstd.decompress_into, data, _content_bound(data, max_bytes), max_bytes)


def may_begin(data: bytes | bytearray | memoryview) -> bool:
    """Whether a frame begins here, or one to be skipped."""
    if len(data) < _UINT32_LE.size:
        return False
    magic: int = _UINT32_LE.unpack_from(data)[0]
    return magic == _MAGIC or magic >> 4 == _SKIPPABLE_MAGIC


def _decompress_frame(data: memoryview, bound: int) -> bytes:
    """A frame that states its size, or that yields at most ``bound``."""
    try:
        decompressor = _idle_decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor()
    content = decompressor.decompress(data, max_output_size=bound, allow_extra_data=False)
    _idle_decompressors.append(decompressor)
    return content


def _content_bound(data: memoryview, max_bytes: int) -> int:
    """The most that the frames can yield; raises MessageTooLargeError if they surely yield too much.

    Malformed input ends the walk early: the decoder will name the fault.
    """
    bound, position, end = 0, 0, len(data)
    while position + 5 <= end and bound <= max_bytes:
        magic: int = _UINT32_LE.unpack_from(data, position)[0]
        if magic >> 4 == _SKIPPABLE_MAGIC:
            if position + 8 > end:
                break
            position += 8 + _UINT32_LE.unpack_from(data, position + 4)[0]
            continue
        if magic != _MAGIC:
            break
        descriptor = data[position + 4]
        single_segment = descriptor >> 5 & 1
        content_size_bytes = _CONTENT_SIZE_BYTES[descriptor >> 6] or single_segment
        position += 5 + (1 - single_segment) + _DICTIONARY_ID_BYTES[descriptor & 3]
        content_size = int.from_bytes(data[position : position + content_size_bytes], "little")
        content_size += 256 if content_size_bytes == 2 else 0
        if content_size > max_bytes:
            raise too_large(max_bytes)
        position += content_size_bytes
        certain, uncertain, position = _walk_blocks(data, position, max_bytes)
        if certain > max_bytes:
            raise too_large(max_bytes)
        bound += content_size if content_size_bytes else certain + uncertain
        position += 4 if descriptor & 0x04 else 0
    return bound


def _walk_blocks(data: memoryview, position: int, max_bytes: int) -> tuple[int, int, int]:
    """What a frame's blocks yield for certain (raw, RLE), what they may yield besides, and where they end."""
    certain, uncertain, end = 0, 0, len(data)
    last = 0
    while not last and position + 3 <= end and certain <= max_bytes:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        position += 3
        if kind == _RLE_BLOCK:
            certain += size
            position += 1
        else:
            position += size
            if kind == _RAW_BLOCK:
                certain += size
            else:
                uncertain += _BLOCK_BYTES_MAX
    return certain, uncertain, position
