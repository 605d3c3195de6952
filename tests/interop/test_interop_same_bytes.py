"""The same life of a partition in Apache's log and in ours leaves the same answers and the same bytes in every file."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from ottla.records.batch import batches
from ottla.records.compression import Compression
from ottla.records.record import decode_records
from tests.interop.histories import History
from tests.interop.log_script import compared_files, perform_by_apache, perform_by_ottla
from tests.oracle import Oracle

CONFIGS = {
    "defaults": {},
    "rolls by size, many index entries": {"internal.segment.bytes": "60000", "index.interval.bytes": "100"},
    "rolls by time, an entry for each batch": {"segment.ms": "15000", "index.interval.bytes": "0"},
    "rolls by full index": {"segment.index.bytes": "48", "index.interval.bytes": "500"},
    "log append time": {"message.timestamp.type": "LogAppendTime", "internal.segment.bytes": "100000"},
    "preallocated": {"preallocate": "true", "internal.segment.bytes": "100000"},
}
ROLLS_BY_INDEX = CONFIGS["rolls by full index"]
SEEDS = 3


def both_do(oracle: Oracle, history: History, scratch: Path) -> tuple[Path, Path, list[str], list[str]]:
    """Have both logs live the history to its end; returns the two directories and the answers, Apache's first."""
    history.add("close")
    apache, ottla = scratch / "apache" / "t-0", scratch / "ottla" / "t-0"
    for directory in (apache, ottla):
        directory.parent.mkdir(parents=True)
    expected = perform_by_apache(oracle, history.commands, apache, scratch)
    return apache, ottla, expected, perform_by_ottla(history.commands, ottla)


def assert_same_bytes(oracle: Oracle, history: History, scratch: Path) -> None:
    """Both logs answer the same and leave the same files with the same bytes."""
    apache, ottla, expected, answers = both_do(oracle, history, scratch)
    for number, (command, theirs, ours) in enumerate(zip(history.commands, expected, answers, strict=True)):
        assert ours == theirs, f"{number}: {command[:3]}"
    apache_files, ottla_files = compared_files(apache), compared_files(ottla)
    assert ottla_files.keys() == apache_files.keys()
    assert [name for name, data in apache_files.items() if ottla_files[name] != data] == []


def assert_same_contents(oracle: Oracle, history: History, scratch: Path) -> None:
    """Both logs hold the same batches and records, whatever their codecs made of them."""
    apache, ottla, _, _ = both_do(oracle, history, scratch)
    assert contents(ottla) == contents(apache)


def appending(history: History) -> None:
    # Apache cannot add two entries to an index with room for one, so there an append is one batch.
    history.live(150, () if history.configs == ROLLS_BY_INDEX else (history.follow,))


def operating(history: History) -> None:
    # Where a truncation inside a batch leaves a gap and the log rolls right there, we name the new segment otherwise.
    roll = lambda: history.add("roll")  # noqa: E731
    history.live(150, (history.truncate_to_batch, history.delete_records, history.truncate_fully, roll))


def stopping_cleanly(history: History) -> None:
    history.live(150, (history.truncate_to_batch, lambda: history.restart(clean=True)))


def stopping_uncleanly(history: History) -> None:
    if history.configs == ROLLS_BY_INDEX:
        return  # Apache's recovery adds other entries than its appends did, and fails where they do not fit
    history.live(150, (history.truncate_to_batch, lambda: history.restart(clean=False)))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("lives", [appending, operating, stopping_cleanly, stopping_uncleanly])
def test_the_same_history_leaves_the_same_files(
    oracle: Oracle, scratch: Path, name: str, lives: Callable[[History], None]
) -> None:
    for seed in range(SEEDS):
        history = History(Random(f"{lives.__name__} {name} {seed}"), configs=CONFIGS[name])
        for _ in range(3):
            lives(history)
            if history.log_start_offset == 0:
                # Where the record with that timestamp is gone, we look on in later segments and Apache gives up.
                history.add("time", history.now_ms - 3000)
        assert_same_bytes(oracle, history, scratch / str(seed))


@pytest.mark.parametrize("interval", [1, 300, 4096, 20_000])
def test_index_entries_fall_on_the_same_batches(oracle: Oracle, scratch: Path, interval: int) -> None:
    history = History(Random(interval), codecs=(Compression.NONE,), configs={"index.interval.bytes": str(interval)})
    for _ in range(1500):
        history.append()
    assert_same_bytes(oracle, history, scratch)


def compacted(name: str, seed: int, codecs: tuple[Compression, ...]) -> History:
    """A partition that is cleaned again and again, with transactions, tombstones and producers that go on."""
    configs = {
        **CONFIGS[name],
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "delete.retention.ms": "5000",
    }
    history = History(Random(f"{name} {seed} {codecs}"), codecs=codecs, keys=15, configs=configs)
    for _ in range(6):
        history.live(30)
        history.add("roll")
        history.add("clean")
        if seed % 2:
            history.restart(clean=True)
            history.add("high_watermark", history.end_offset)
    return history


@pytest.mark.parametrize("name", CONFIGS)
def test_both_cleaners_leave_the_same_files(oracle: Oracle, scratch: Path, name: str) -> None:
    for seed in range(2 * SEEDS):
        assert_same_bytes(oracle, compacted(name, seed, (Compression.NONE,)), scratch / str(seed))


@pytest.mark.parametrize("name", ["defaults", "rolls by size, many index entries"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
def test_truncations_inside_batches_leave_the_same_records(
    oracle: Oracle, scratch: Path, name: str, clean: bool
) -> None:
    """In segments that may begin elsewhere: decision 0008."""
    history = History(Random(f"{name} {clean}"), configs=CONFIGS[name])
    history.live(450, (history.truncate, lambda: history.restart(clean=clean)))
    apache, ottla, _, _ = both_do(oracle, history, scratch)
    assert [batch[1:] for batch in contents(ottla)] == [batch[1:] for batch in contents(apache)]


def contents(directory: Path) -> list[tuple[object, ...]]:
    """All batches of a partition with their records; not their sizes and checksums, which the codecs decide."""
    found: list[tuple[object, ...]] = []
    for path in sorted(directory.glob("*.log")):
        for batch in batches(path.read_bytes()):
            batch.ensure_valid()
            header = (batch.base_offset, batch.last_offset_delta, batch.records_count, batch.attributes)
            times = (batch.base_timestamp, batch.max_timestamp, batch.partition_leader_epoch)
            producer = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
            found.append((path.name, header, times, producer, list(decode_records(batch))))
    return found


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_both_cleaners_leave_the_same_records_in_compressed_batches(
    oracle: Oracle, scratch: Path, codec: Compression
) -> None:
    assert_same_contents(oracle, compacted("defaults", codec, (codec,)), scratch)


@pytest.mark.parametrize("codec", list(Compression))
def test_both_leaders_recompress_to_the_same_records(oracle: Oracle, scratch: Path, codec: Compression) -> None:
    name = "uncompressed" if codec is Compression.NONE else codec.name.lower()
    history = History(Random(codec), configs={"compression.type": name})
    history.live(100)
    assert_same_contents(oracle, history, scratch)
