import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.producer_snapshot import CorruptSnapshotError, decode_snapshot, encode_snapshot

# Written by Apache Kafka 4.3.1's ProducerStateManager.takeSnapshot, driven by tests/java/ProducerStateFacts.java:
# producer 0 wrote a plain batch of five; producer 1 a transactional one that a v2 marker (epoch 4, coordinator epoch 6)
# aborted; producer 2 two batches of a transaction that is open, the first of which wraps around.
APACHE_SNAPSHOT = bytes.fromhex(
    "0001" "f9f7dae9" "00000003"
    "0000000000000000" "0000" "00000004" "0000000000000004" "00000004" "0000018bcfe56800" "ffffffff" "ffffffffffffffff"
    "0000000000000001" "0004" "ffffffff" "ffffffffffffffff" "00000000" "0000018bcfe56802" "00000006" "ffffffffffffffff"
    "0000000000000002" "0000" "00000002" "000000000000000c" "00000000" "0000018bcfe56804" "ffffffff" "0000000000000008"
)  # fmt: skip
NOW = 1_700_000_000_000


def entry(
    producer_id: int,
    epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    txn_first_offset: int | None,
    *batches: BatchMetadata,
) -> ProducerEntry:
    made = ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, txn_first_offset)
    for batch in batches:
        made.retain(batch)
    return made


ENTRIES = [
    entry(0, 0, -1, NOW, None, BatchMetadata(4, 4, 4, NOW)),
    entry(1, 4, 6, NOW + 2, None),
    entry(2, 0, -1, NOW + 4, 8, BatchMetadata(2, 12, 0, NOW + 4)),
]


def test_bytes_are_apaches() -> None:
    assert encode_snapshot(reversed(ENTRIES)) == APACHE_SNAPSHOT
    assert repr(decode_snapshot(APACHE_SNAPSHOT)) == repr(ENTRIES)


def test_only_the_last_batch_is_kept() -> None:
    many = entry(2, 0, -1, NOW + 4, 8, *(BatchMetadata(i, 10 + i, 0, NOW + i) for i in range(5)))
    [loaded] = decode_snapshot(bytes(encode_snapshot([many])))
    assert loaded.batches == [BatchMetadata(4, 14, 0, NOW + 4)]
    assert loaded.is_partial


def test_an_entry_without_a_batch_lacks_nothing() -> None:
    [loaded] = decode_snapshot(bytes(encode_snapshot([entry(1, 4, 6, NOW, None)])))
    assert not loaded.is_partial


def test_no_producers_make_a_snapshot_too() -> None:
    empty = bytes(encode_snapshot([]))
    assert len(empty) == 10
    assert decode_snapshot(empty) == []


@pytest.mark.parametrize("end", [0, 1, 9, 10, 55, len(APACHE_SNAPSHOT) - 1])
def test_a_cut_snapshot_is_corrupt(end: int) -> None:
    with pytest.raises(CorruptSnapshotError):
        decode_snapshot(APACHE_SNAPSHOT[:end])


@given(st.integers(0, len(APACHE_SNAPSHOT) * 8 - 1))
def test_any_flipped_bit_is_found(bit: int) -> None:
    damaged = bytearray(APACHE_SNAPSHOT)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptSnapshotError):
        decode_snapshot(bytes(damaged))


def test_a_tail_is_found_and_an_unknown_version_named() -> None:
    with pytest.raises(CorruptSnapshotError, match="CRC is no longer valid"):
        decode_snapshot(APACHE_SNAPSHOT + b"\0")
    with pytest.raises(CorruptSnapshotError, match="unknown file version 2"):
        decode_snapshot(b"\x00\x02" + APACHE_SNAPSHOT[2:])
    with pytest.raises(CorruptSnapshotError, match="-1 entries"):
        decode_snapshot(struct.pack(">hIi", 1, 0, -1))


def _int(bits: int, low: int | None = None) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1) if low is None else low, (1 << bits - 1) - 1)


@st.composite
def _entries(draw: st.DrawFn) -> list[ProducerEntry]:
    made = []
    for producer_id in draw(st.sets(_int(64, 0), max_size=5)):
        timestamp = draw(_int(64))
        batch = BatchMetadata(draw(_int(32, -1)), draw(_int(64, 0)), draw(_int(32, 0)), timestamp)
        batches = [batch] if draw(st.booleans()) else []
        first_offset = draw(st.none() | _int(64, 0))
        made.append(entry(producer_id, draw(_int(16)), draw(_int(32)), timestamp, first_offset, *batches))
    return made


@given(_entries())
def test_round_trip(entries: list[ProducerEntry]) -> None:
    loaded = decode_snapshot(bytes(encode_snapshot(entries)))
    assert list(map(repr, loaded)) == [repr(made) for made in sorted(entries, key=lambda made: made.producer_id)]
