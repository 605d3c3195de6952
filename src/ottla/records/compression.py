"""The codecs of record batches: gzip, snappy, lz4 and zstd, in the framings that Kafka's clients write and read.

``decompress`` never allocates more than ``max_bytes`` (and a block) of output, whatever the input claims.
"""

import zlib
from collections.abc import Callable
from enum import IntEnum
from io import BytesIO
from typing import Final, NamedTuple

from ottla.common.errors import InvalidConfigError, UnsupportedCompressionTypeError
from ottla.records import lz4_frame, xerial, zstd_frame
from ottla.records.bounded_output import corrupt, too_large

GZIP_WINDOW_BITS: Final = 31
"""zlib's way to say: 32 KiB window, gzip header and trailer."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_BEGINNING: Final = b"\x1f\x8b\x08"
"""Magic, and deflate, the one method there is."""
_GZIP_INPUT_BYTES: Final = 16 * 1024
_GZIP_OUTPUT_BYTES: Final = 256 * 1024


Buffer = bytes | bytearray | memoryview


class Compression(IntEnum):
    """Codec ids as they stand in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CompressionLevels(NamedTuple):
    """The levels that a codec takes: a range, and a default that may lie outside it (gzip's -1)."""

    lowest: int
    highest: int
    default: int


COMPRESSION_LEVELS: Final = {
    Compression.GZIP: CompressionLevels(1, 9, -1),
    Compression.LZ4: CompressionLevels(1, 17, lz4_frame.FAST_LEVEL),
    Compression.ZSTD: CompressionLevels(-131072, 22, 3),
}
"""Snappy, and no compression, have no levels."""

_BY_NAME: Final = {codec.name.lower(): codec for codec in Compression}


def compression_name(codec: int) -> str:
    """``gzip`` for ``Compression.GZIP`` and so on; raises UnsupportedCompressionTypeError for unknown ids."""
    return compression_for_id(codec).name.lower()


def compression_for_name(name: str) -> Compression:
    """The codec called ``name``; raises UnsupportedCompressionTypeError if there is none."""
    codec = _BY_NAME.get(name)
    if codec is None:
        raise UnsupportedCompressionTypeError(f"Unknown compression name: {name}")
    return codec


def compression_for_id(codec: int) -> Compression:
    """The codec with this id; raises UnsupportedCompressionTypeError if there is none."""
    try:
        return Compression(codec)
    except ValueError as error:
        raise UnsupportedCompressionTypeError(f"Unknown compression type id: {codec}") from error


def compress(codec: int, data: bytes | bytearray | memoryview, level: int | None = None) -> bytes:
    """``data`` compressed; ``level`` None is the codec's default.

    Raises InvalidConfigError for a level that the codec does not have, UnsupportedCompressionTypeError for the codec.
    """
    codec = compression_for_id(codec)
    levels = COMPRESSION_LEVELS.get(codec)
    if levels is None:
        level = 0
    elif level is None:
        level = levels.default
    elif not levels.lowest <= level <= levels.highest and level != levels.default:
        raise InvalidConfigError(f"{compression_name(codec)} doesn't support given compression level: {level}")
    return _COMPRESSORS[codec](memoryview(data), level)


def decompress(codec: int, data: bytes | bytearray | memoryview, max_bytes: int) -> bytes:
    """``data`` decompressed.

    Raises CorruptRecordError for bad data, MessageTooLargeError when the output would exceed ``max_bytes``, and
    UnsupportedCompressionTypeError for unknown codecs.
    """
    return _DECOMPRESSORS[compression_for_id(codec)](memoryview(data), max_bytes)


def may_begin(codec: int, data: Buffer) -> bool:
    """Whether ``data`` begins as this codec's streams do; what does not, no client can decompress."""
    if codec == Compression.GZIP:
        return data[:3] == _GZIP_BEGINNING
    if codec == Compression.SNAPPY:
        return xerial.may_begin(data)
    if codec == Compression.LZ4:
        return lz4_frame.may_begin(data)
    return codec != Compression.ZSTD or zstd_frame.may_begin(data)


def _copy(data: memoryview, level: int) -> bytes:  # noqa: ARG001 - the table's signature
    return bytes(data)


def _bounded_copy(data: memoryview, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise too_large(max_bytes)
    return bytes(data)


def _gzip(data: memoryview, level: int) -> bytes:
    compressor = zlib.compressobj(level, zlib.DEFLATED, GZIP_WINDOW_BITS)
    return compressor.compress(data) + compressor.flush()


def _gunzip(data: memoryview, max_bytes: int) -> bytes:
    """All members; what follows the last is ignored unless it begins another, as Java's GZIPInputStream does.

    Input and output go in pieces: zlib copies what it leaves over, and a stream may consist of tiny members only.
    """
    output = BytesIO()
    position, end, room = 0, len(data), max_bytes
    try:
        while True:
            decompressor = zlib.decompressobj(GZIP_WINDOW_BITS)
            while not decompressor.eof:
                if position >= end:
                    raise corrupt("gzip", "unexpected end of the stream")
                piece = data[position : position + _GZIP_INPUT_BYTES]
                room -= output.write(decompressor.decompress(piece, min(room + 1, _GZIP_OUTPUT_BYTES)))
                if room < 0:
                    raise too_large(max_bytes)
                position += len(piece) - len(decompressor.unconsumed_tail) - len(decompressor.unused_data)
            if bytes(data[position : position + 2]) != _GZIP_MAGIC:
                return output.getvalue()
    except zlib.error as error:
        raise corrupt("gzip", error) from error


_COMPRESSORS: Final[dict[Compression, Callable[[memoryview, int], bytes]]] = {
    Compression.NONE: _copy,
    Compression.GZIP: _gzip,
    Compression.SNAPPY: xerial.compress,
    Compression.LZ4: lz4_frame.compress,
    Compression.ZSTD: zstd_frame.compress,
}

_DECOMPRESSORS: Final[dict[Compression, Callable[[memoryview, int], bytes]]] = {
    Compression.NONE: _bounded_copy,
    Compression.GZIP: _gunzip,
    Compression.SNAPPY: xerial.decompress,
    Compression.LZ4: lz4_frame.decompress,
    Compression.ZSTD: zstd_frame.decompress,
}
