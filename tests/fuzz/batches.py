"""Record batches, sound and damaged: with a checksum that tells, and with one that does not."""

import struct
from collections.abc import Callable, Sequence
from random import Random

from crc32c import crc32c

from ottla.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES
from ottla.records.builder import build_batch, seal_batch
from ottla.records.compression import Compression, compress
from ottla.records.record import Header, SimpleRecord
from tests.fuzz.edge_numbers import damaged_bytes

_NOW_MS = 1_700_000_000_000
_INT32_MAX = (1 << 31) - 1
_HEADER_FIELDS = {
    "base_offset": (0, 8),
    "batch_length": (8, 4),
    "leader_epoch": (12, 4),
    "magic": (16, 1),
    "crc": (17, 4),
    "attributes": (21, 2),
    "last_offset_delta": (23, 4),
    "base_timestamp": (27, 8),
    "max_timestamp": (35, 8),
    "producer_id": (43, 8),
    "producer_epoch": (51, 2),
    "base_sequence": (53, 4),
    "records_count": (57, 4),
}
_HEADERS: tuple[tuple[Header, ...], ...] = ((), (Header("h", b"v"),), (Header("", None), Header("x", b"")))
_CODECS = (*(Compression.NONE,) * 4, *Compression)
_NOBODYS: Sequence[tuple[int, int]] = ((0, 0), (1, 1), (7, 0), (1000, 32767), (1 << 39, 0))
"""Producer ids and epochs of which no coordinator knows."""
BOMB_BYTES = 64 * 1024 * 1024


def seal(batch: bytearray) -> bytearray:
    """Give a batch the checksum of what it says now, so that its damage is seen by nobody but who reads on."""
    if len(batch) > ATTRIBUTES_POSITION:
        struct.pack_into(">I", batch, CRC_POSITION, crc32c(batch[ATTRIBUTES_POSITION:]))
    return batch


def sound_batch(rng: Random, producers: Sequence[tuple[int, int]] = ()) -> bytearray:
    """A batch as a client may send it: plain, compressed, idempotent, transactional or (which it may not) control.

    ``producers`` are ids and epochs that the coordinator has given out.
    """
    records = [
        SimpleRecord(
            _NOW_MS + rng.randrange(1000),
            rng.choice((None, b"key", rng.randbytes(20))),
            rng.choice((None, b"", rng.randbytes(rng.choice((10, 100, 1000))))),
            rng.choice(_HEADERS),
        )
        for _ in range(rng.choice((1, 1, 2, 20)))
    ]
    producer = rng.random()
    codec = rng.choice(_CODECS)
    if producer < 0.6:
        batch = build_batch(records, compression=codec)
    else:
        producer_id, producer_epoch = rng.choice((*_NOBODYS, *producers, *producers))
        batch = build_batch(
            records,
            compression=codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=rng.choice((0, 0, 1, _INT32_MAX)),
            transactional=producer > 0.8,
            control=producer > 0.95,
        )
    return batch


def _bit_flips(batch: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 3))):
        batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)


def _header_field(batch: bytearray, rng: Random) -> None:
    start, size = rng.choice(list(_HEADER_FIELDS.values()))
    batch[start : start + size] = damaged_bytes(bytes(batch[start : start + size]), rng)


def _records(batch: bytearray, rng: Random) -> None:
    """Records are all varints: any byte is a length, a delta or a count to somebody."""
    for _ in range(rng.choice((1, 1, 2, 8))):
        if len(batch) > HEADER_BYTES:
            batch[rng.randrange(HEADER_BYTES, len(batch))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, 64))


def _cut(batch: bytearray, rng: Random) -> None:
    del batch[rng.randrange(len(batch)) :]


def _grow(batch: bytearray, rng: Random) -> None:
    batch += rng.choice((b"\0", rng.randbytes(61), bytes(batch)))


def _attributes(batch: bytearray, rng: Random) -> None:
    struct.pack_into(">H", batch, ATTRIBUTES_POSITION, rng.choice((*range(128), 0xFFFF, 1 << 15)))


_DAMAGES: tuple[Callable[[bytearray, Random], None], ...] = (
    _bit_flips,
    _header_field,
    _header_field,
    _records,
    _records,
    _cut,
    _grow,
    _attributes,
)


def damaged_batch(rng: Random, producers: Sequence[tuple[int, int]] = ()) -> bytearray:
    """A batch with something wrong in it, four times of five under a checksum that holds."""
    batch = sound_batch(rng, producers)
    rng.choice(_DAMAGES)(batch, rng)
    return seal(batch) if rng.random() < 0.8 else batch


def bomb(codec: Compression, records_count: int = 1, expanded_bytes: int = BOMB_BYTES) -> bytearray:
    """A small batch whose records are zeros without end."""
    payload = compress(codec, bytes(expanded_bytes))
    return seal_batch(
        payload,
        records_count=records_count,
        base_offset=0,
        last_offset_delta=records_count - 1,
        leader_epoch=-1,
        attributes=int(codec),
        base_timestamp=_NOW_MS,
        max_timestamp=_NOW_MS,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
    )
