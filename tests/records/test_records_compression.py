import gzip
import struct
import subprocess
import sys
from contextlib import suppress
from random import Random

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import (
    CorruptRecordError,
    InvalidConfigError,
    KafkaError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
)
from ottla.records import lz4_frame, xerial
from ottla.records.compression import (
    COMPRESSION_LEVELS,
    Compression,
    compress,
    compression_for_id,
    compression_for_name,
    compression_name,
    decompress,
)

CODECS = list(Compression)[1:]
MIXED = b"".join(index.to_bytes(4, "big") * 7 for index in range(9000))  # 252 KB: several blocks of every codec
NOISE = Random(3).randbytes(70_000)
SAMPLES = [b"", b"x", bytes(25), MIXED, NOISE, MIXED[: 64 * 1024], MIXED[: 64 * 1024 + 1], MIXED[: 32 * 1024]]


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_round_trip(codec: Compression, data: bytes) -> None:
    for source in (data, bytearray(data), memoryview(data)):
        compressed = compress(codec, source)
        assert type(compressed) is bytes
        restored = decompress(codec, memoryview(compressed), len(data))
        assert type(restored) is bytes
        assert restored == data


@pytest.mark.parametrize("codec", Compression)
def test_one_byte_more_than_allowed_is_too_large(codec: Compression) -> None:
    for data in SAMPLES[1:]:
        compressed = compress(codec, data)
        with pytest.raises(MessageTooLargeError):
            decompress(codec, compressed, len(data) - 1)
        with pytest.raises(MessageTooLargeError):
            decompress(codec, compressed, 0)


@pytest.mark.parametrize(
    ("codec", "levels", "none"),
    [
        (Compression.GZIP, (-1, 1, 9), (-2, 0, 10)),
        (Compression.LZ4, (1, 2, 9, 12, 17), (-1, 0, 18)),
        (Compression.ZSTD, (-131072, -5, 0, 1, 3, 19, 22), (-131073, 23)),
    ],
)
def test_levels(codec: Compression, levels: tuple[int, ...], none: tuple[int, ...]) -> None:
    for level in levels:
        assert decompress(codec, compress(codec, MIXED, level), len(MIXED)) == MIXED
    assert compress(codec, MIXED) == compress(codec, MIXED, COMPRESSION_LEVELS[codec].default)
    for level in none:
        with pytest.raises(InvalidConfigError, match="doesn't support given compression level"):
            compress(codec, b"", level)


def test_names_and_ids() -> None:
    assert [compression_name(codec) for codec in range(5)] == ["none", "gzip", "snappy", "lz4", "zstd"]
    for codec in Compression:
        assert compression_for_name(compression_name(codec)) is codec
        assert compression_for_id(int(codec)) is codec
    for name in ("GZIP", "producer", "uncompressed", ""):
        with pytest.raises(UnsupportedCompressionTypeError):
            compression_for_name(name)
    for unknown in (-1, 5, 7):
        with pytest.raises(UnsupportedCompressionTypeError):
            compression_for_id(unknown)
        with pytest.raises(UnsupportedCompressionTypeError):
            compress(unknown, b"")
        with pytest.raises(UnsupportedCompressionTypeError):
            decompress(unknown, b"", 0)


# What Apache Kafka 4.3.1's own streams write for 24 zeros and a one: RecordFacts.java, compress|<codec>||<hex>.
APACHE = {
    Compression.GZIP: "1f8b08000000000000ff6360c00e1801193ec89e19000000",
    Compression.SNAPPY: "82534e41505059000000000100000001000000081900005a01000001",
    Compression.LZ4: "04224d186040820b0000001f0001000050000000000100000000",
    Compression.ZSTD: "28b52ffd00584c00001800000101000ac002010000",
}


@pytest.mark.parametrize("codec", CODECS)
def test_what_apache_writes_is_read(codec: Compression) -> None:
    assert decompress(codec, bytes.fromhex(APACHE[codec]), 25) == bytes(24) + b"\x01"


def test_lz4_and_snappy_are_framed_as_apache_frames_them() -> None:
    data = bytes(24) + b"\x01"
    assert compress(Compression.LZ4, data)[:11].hex() == APACHE[Compression.LZ4][:22]
    assert compress(Compression.SNAPPY, data)[:16].hex() == APACHE[Compression.SNAPPY][:32]
    assert compress(Compression.LZ4, b"") == lz4_frame.FRAME_HEADER + bytes(4)
    assert compress(Compression.SNAPPY, b"") == xerial.STREAM_HEADER


def test_incompressible_lz4_blocks_are_stored() -> None:
    compressed = compress(Compression.LZ4, NOISE)
    assert compressed[7:11] == struct.pack("<I", 0x80000000 | 64 * 1024)
    assert compressed[11 : 11 + 64 * 1024] == NOISE[: 64 * 1024]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [2, 3, 50])
def test_streams_in_a_row(codec: Compression, count: int) -> None:
    parts = [MIXED[: 1000 * index] for index in range(count)]
    joined = b"".join(compress(codec, part) for part in parts)
    expected = b"".join(parts)
    assert decompress(codec, joined, len(expected)) == expected
    with pytest.raises(MessageTooLargeError):
        decompress(codec, joined, len(expected) - 1)


@pytest.mark.parametrize("codec", [Compression.LZ4, Compression.ZSTD])
def test_skippable_frames(codec: Compression) -> None:
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    joined = skippable + compress(codec, MIXED) + skippable + compress(codec, NOISE)
    assert decompress(codec, joined, 1 << 20) == MIXED + NOISE


@pytest.mark.parametrize("content_checksum", [True, False])
@pytest.mark.parametrize("block_linked", [True, False])
def test_any_lz4_frame_is_read(content_checksum: bool, block_linked: bool) -> None:
    compressor = cramjam.lz4.Compressor(level=4, content_checksum=content_checksum, block_linked=block_linked)
    compressor.compress(MIXED)
    frame = bytes(compressor.finish())
    assert decompress(Compression.LZ4, frame, len(MIXED)) == MIXED
    with pytest.raises(MessageTooLargeError):
        decompress(Compression.LZ4, frame, len(MIXED) - 1)


def test_an_lz4_header_with_a_wrong_checksum_is_corrupt() -> None:
    frame = bytearray(compress(Compression.LZ4, MIXED))
    frame[6] ^= 1
    with pytest.raises(CorruptRecordError):
        decompress(Compression.LZ4, frame, 1 << 20)


def test_raw_snappy_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(MIXED))
    assert decompress(Compression.SNAPPY, raw, len(MIXED)) == MIXED
    with pytest.raises(MessageTooLargeError):
        decompress(Compression.SNAPPY, raw, len(MIXED) - 1)


@pytest.mark.parametrize(
    "stream",
    [
        xerial.STREAM_HEADER[:12],
        xerial.MAGIC + struct.pack(">ii", 2, 2),
        xerial.STREAM_HEADER + b"\x00\x00",
        xerial.STREAM_HEADER + struct.pack(">i", -1),
        xerial.STREAM_HEADER + struct.pack(">i", 5) + b"\x00",
        xerial.STREAM_HEADER + struct.pack(">i", 6) + b"\xff" * 6,
    ],
)
def test_broken_snappy_framing_is_corrupt(stream: bytes) -> None:
    with pytest.raises(CorruptRecordError):
        decompress(Compression.SNAPPY, stream, 1 << 20)


def test_gzip_ignores_what_is_no_further_member_as_java_does() -> None:
    assert decompress(Compression.GZIP, gzip.compress(MIXED) + b"trailing", 1 << 20) == MIXED
    with pytest.raises(CorruptRecordError):
        decompress(Compression.GZIP, gzip.compress(MIXED) + b"\x1f\x8bx", 1 << 20)


def test_very_many_gzip_members_take_linear_time() -> None:
    member = gzip.compress(b"")
    assert decompress(Compression.GZIP, member * 20_000, 0) == b""


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_is_corrupt(codec: Compression) -> None:
    compressed = compress(codec, bytes(range(256)) * 3 + bytes(100))
    whole_prefixes = {16} if codec is Compression.SNAPPY else set()  # a snappy stream may end after any block
    for size in range(len(compressed)):
        if size in whole_prefixes or (size == 0 and codec is Compression.ZSTD):
            continue
        with pytest.raises(CorruptRecordError):
            decompress(codec, compressed[:size], 1 << 20)


@settings(max_examples=200)
@given(
    codec=st.sampled_from(CODECS),
    data=st.binary(max_size=300) | st.just(MIXED),
    flips=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), min_size=1, max_size=5),
)
def test_corruption_is_an_error_or_other_bytes(codec: Compression, data: bytes, flips: list[tuple[int, int]]) -> None:
    compressed = bytearray(compress(codec, data))
    for position, flip in flips:
        compressed[position % len(compressed)] ^= flip
    with suppress(KafkaError):
        assert len(decompress(codec, compressed, 1 << 19)) <= 1 << 19


@given(codec=st.sampled_from(CODECS), data=st.binary(max_size=100))
def test_random_bytes_are_an_error_or_bytes(codec: Compression, data: bytes) -> None:
    heads = {
        Compression.GZIP: b"\x1f\x8b\x08",
        Compression.LZ4: lz4_frame.FRAME_HEADER,
        Compression.ZSTD: b"\x28\xb5\x2f\xfd",
    }
    for stream in (data, heads.get(codec, xerial.STREAM_HEADER) + data):
        with suppress(KafkaError):
            decompress(codec, stream, 1 << 16)


BOMBS = """
import struct, zlib
import cramjam
from ottla.common.errors import KafkaError
from ottla.records.compression import Compression, compress, decompress

def gzip_bomb():
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    return b"".join(compressor.compress(block) for _ in range(192)) + compressor.flush()

def streamed(compressor):
    for _ in range(192):
        compressor.compress(bytes(1 << 20))
    return bytes(compressor.finish())

def zstd_frame(descriptor, size_field, block, count):
    return struct.pack("<I", 0xFD2FB528) + descriptor + size_field + block * count

def peak_memory_kb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

lz4_block = bytes(cramjam.lz4.compress_block(bytes(1 << 16), store_size=False))
lz4_block = struct.pack("<I", len(lz4_block)) + lz4_block
snappy_block = bytes(cramjam.snappy.compress_raw(bytes(1 << 15)))
snappy_block = struct.pack(">i", len(snappy_block)) + snappy_block
rle_block = struct.pack("<I", 1 << 1 | (128 * 1024) << 3)[:3] + bytes(1)
bombs = {
    "gzip": (Compression.GZIP, gzip_bomb()),
    "gzip members": (Compression.GZIP, compress(Compression.GZIP, bytes(1 << 16)) * 4000),
    "lz4": (Compression.LZ4, compress(Compression.LZ4, b"")[:7] + lz4_block * 4000 + bytes(4)),
    "lz4 linked": (Compression.LZ4, streamed(cramjam.lz4.Compressor(level=1))),
    "lz4 frames": (Compression.LZ4, compress(Compression.LZ4, bytes(1 << 16)) * 4000),
    "snappy": (Compression.SNAPPY, compress(Compression.SNAPPY, b"") + snappy_block * 8000),
    "snappy raw claim": (Compression.SNAPPY, bytes.fromhex("ffffffff0f") + bytes(100)),
    "zstd blocks": (Compression.ZSTD, zstd_frame(bytes.fromhex("00"), bytes.fromhex("58"), rle_block, 8000)),
    "zstd small claim": (Compression.ZSTD, zstd_frame(bytes.fromhex("20"), bytes.fromhex("01"), rle_block, 8000)),
    "zstd large claim": (Compression.ZSTD, zstd_frame(bytes.fromhex("e0"), struct.pack("<Q", 1 << 40), rle_block, 1)),
    "zstd stream": (Compression.ZSTD, streamed(cramjam.zstd.Compressor(level=1))),
    "zstd frames": (Compression.ZSTD, compress(Compression.ZSTD, bytes(128 << 10)) * 8000),
}
before = peak_memory_kb()
for name, (codec, bomb) in bombs.items():
    try:
        outcome = len(decompress(codec, bomb, 1 << 20))
    except KafkaError as error:
        outcome = type(error).__name__
    print(f"{name}|{outcome}|{before}|{peak_memory_kb()}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from /proc")
def test_bombs_do_not_take_memory() -> None:
    """Streams of 190 MB to 1 TB, and a limit of 1 MiB: the process's peak memory shows the limit and little more."""
    done = subprocess.run([sys.executable, "-c", BOMBS], capture_output=True, text=True, check=True)
    facts = [line.split("|") for line in done.stdout.splitlines()]
    assert [outcome for _, outcome, _, _ in facts] == ["MessageTooLargeError"] * 12
    for name, _, before, peak in facts:
        assert int(before) < 64 << 10, "the test itself takes so much that it could not see"
        assert int(peak) - int(before) < 8 << 10, name
