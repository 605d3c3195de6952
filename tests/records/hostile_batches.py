"""Batches that are small on the wire and large once they are read."""

from collections.abc import Callable, Mapping

from crc32c import crc32c

from ottla.records.batch import ATTRIBUTES_POSITION, CRC_POSITION
from ottla.records.builder import seal_batch
from ottla.records.compression import Compression, compress
from tests.records.raw_batches import RawRecord, encode_record

NOW_MS = 1_700_000_000_000
SMALLEST = encode_record(RawRecord(key=b"", value=b""))
"""Seven bytes."""
NULL_KEY = encode_record(RawRecord(key=None, value=b""))


def sealed(payload: bytes, count: int, codec: Compression, max_timestamp: int = NOW_MS) -> bytearray:
    """A batch whose header is right for ``count`` records."""
    return seal_batch(
        compress(codec, payload),
        records_count=count,
        base_offset=0,
        last_offset_delta=count - 1,
        leader_epoch=-1,
        attributes=codec,
        base_timestamp=NOW_MS,
        max_timestamp=max_timestamp,
    )


def repeated(record: bytes, count: int, codec: Compression = Compression.ZSTD) -> bytearray:
    """One record over and over, its offset included."""
    return sealed(record * count, count, codec)


def counted(count: int, value: bytes = b"", codec: Compression = Compression.ZSTD) -> bytearray:
    """Records that a producer might have sent: their offsets are consecutive."""
    return sealed(b"".join(encode_record(RawRecord(0, index, b"k", value)) for index in range(count)), count, codec)


def later_than_its_records(count: int, codec: Compression = Compression.ZSTD) -> bytearray:
    """Whoever looks for a record of the batch's largest timestamp reads them all, and finds none."""
    records = b"".join(encode_record(RawRecord(0, index, b"k", b"")) for index in range(count))
    return sealed(records, count, codec, NOW_MS + 1)


def claiming(batch: bytearray, count: int) -> bytearray:
    """The batch with another count in its header."""
    changed = bytearray(batch)
    changed[57:61] = count.to_bytes(4, "big")
    changed[23:27] = (count - 1).to_bytes(4, "big")
    changed[CRC_POSITION:ATTRIBUTES_POSITION] = crc32c(memoryview(changed)[ATTRIBUTES_POSITION:]).to_bytes(4, "big")
    return changed


HOSTILE: Mapping[str, Callable[[], bytearray]] = {
    "ten million small records": lambda: repeated(SMALLEST, 10_000_000),
    "two million small records": lambda: repeated(SMALLEST, 2_000_000),
    "a million null keys": lambda: repeated(NULL_KEY, 1_000_000),
    "as many records as are believed": lambda: claiming(repeated(SMALLEST, 20_000), 4 * 20),
    "consecutive offsets": lambda: counted(100_000),
    "one huge record": lambda: counted(1, bytes(100_000_000)),
    "megabytes to compress": lambda: counted(1_000, bytes(15_000)),
}
