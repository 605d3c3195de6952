"""Apache Kafka's own Cleaner on a copy of the directory leaves the same files behind, byte for byte."""

import shutil
from pathlib import Path
from random import Random

import pytest

from ottla.log.cleaner import log_cleaner
from ottla.records.batch import TimestampType, batches
from ottla.records.compression import Compression
from ottla.records.record import decode_records
from ottla.runtime.inline import run
from tests.log.cleaner.cleaner_logs import PARTITION, CleanerBench
from tests.oracle import Oracle

CLEAN_DIRECTORY = Path(__file__).parents[2] / "java" / "CleanDirectory.java"
DELETE_RETENTION_MS = 1000
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
HEADER_FIELDS = (
    "base_offset",
    "partition_leader_epoch",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "records_count",
)


def grow(bench: CleanerBench, rng: Random, codecs: list[int]) -> None:
    """Append what a compacted topic may see, with several segments; every transaction ends."""
    open_producers: set[int] = set()
    for _ in range(rng.randrange(20, 60)):
        kind = rng.random()
        records = [
            (b"key-%d" % rng.randrange(12), None if rng.random() < 0.2 else rng.randbytes(rng.randrange(60)))
            for _ in range(rng.randrange(1, 6))
        ]
        codec = rng.choice(codecs)
        timestamp = bench.clock.now_ms() - rng.randrange(500)
        if kind < 0.5:
            bench.append(records, codec=codec, timestamp=timestamp)
        elif kind < 0.65:
            bench.append(records, codec=codec, producer_id=rng.randrange(20, 22), timestamp=timestamp)
        elif kind < 0.85:
            producer_id = rng.randrange(1, 4)
            open_producers.add(producer_id)
            bench.append(records, codec=codec, producer_id=producer_id, transactional=True, timestamp=timestamp)
        elif kind < 0.95 and open_producers:
            bench.end_transaction(open_producers.pop(), commit=rng.random() < 0.5)
        else:
            bench.roll()
    for producer_id in sorted(open_producers):
        bench.end_transaction(producer_id, commit=rng.random() < 0.5)
    bench.roll()


def files(directory: str) -> dict[str, bytes]:
    """What is in the files that both must write alike; an empty transaction index is as good as none."""
    found = {path.name: path.read_bytes() for path in Path(directory).iterdir() if path.suffix in SUFFIXES}
    return {name: data for name, data in found.items() if data or not name.endswith(".txnindex")}


def contents(directory: str) -> list[object]:
    """The batches and records of all segments, without what a codec's implementation decides: sizes and checksums."""
    found: list[object] = []
    for path in sorted(Path(directory).glob("*.log")):
        found.append(path.name)
        for batch in batches(path.read_bytes()):
            batch.ensure_valid()
            header = {field: getattr(batch, field) for field in HEADER_FIELDS}
            found.append((header, list(decode_records(batch)) if batch.records_count else []))
    return found


def clean_with_both(oracle: Oracle, bench: CleanerBench, theirs: Path, props: dict[str, str]) -> None:
    """Clean the log, and with Apache Kafka a copy of it; both are closed then."""
    bench.log.close()
    shutil.copytree(bench.log.directory, theirs)
    first_dirty_offset = bench.cleaner.cleaner_checkpoints().get(PARTITION, 0)
    done = oracle.run_source(
        CLEAN_DIRECTORY,
        str(theirs),
        ",".join(f"{key}={value}" for key, value in props.items()),
        str(bench.clock.now_ms()),
        "0",
        str(first_dirty_offset),
    )
    assert done.returncode == 0, done.stderr
    reopen(bench)
    assert run(bench.cleaner.clean_filthiest()) is not None
    assert f"endOffset={bench.cleaner.cleaner_checkpoints()[PARTITION]} " in done.stdout
    bench.log.close()


def reopen(bench: CleanerBench) -> None:
    """Load the log; all of it is on the disk and replicated."""
    bench.log = bench.logs[PARTITION] = bench.load()
    run(bench.log.flush())
    bench.log.update_high_watermark(bench.log.log_end_offset)


@pytest.mark.parametrize("timestamp_type", list(TimestampType))
@pytest.mark.parametrize("seed", range(4))
def test_the_same_files_as_apache_kafka(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, timestamp_type: TimestampType
) -> None:
    rng = Random(seed)
    if seed >= 2:
        monkeypatch.setattr(log_cleaner, "COMPILED_BYTES_MIN", 0)
    props = {
        "segment.index.bytes": "10485760" if seed % 2 else "96",  # merges all segments, or few
        "index.interval.bytes": "300",
        "delete.retention.ms": str(DELETE_RETENTION_MS),
        "message.timestamp.type": "LogAppendTime" if timestamp_type else "CreateTime",
    }
    bench = CleanerBench(str(tmp_path / "ours"), props)
    for number in range(4):
        grow(bench, rng, [Compression.NONE])
        theirs = tmp_path / f"theirs-{number}" / Path(bench.log.directory).name
        clean_with_both(oracle, bench, theirs, props)
        assert files(bench.log.directory) == files(str(theirs))
        reopen(bench)
        bench.clock.advance_ms(rng.choice([1, DELETE_RETENTION_MS, 3 * DELETE_RETENTION_MS]))


@pytest.mark.parametrize("seed", range(4, 6))
def test_the_same_records_as_apache_kafka_with_codecs(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    props = {"delete.retention.ms": str(DELETE_RETENTION_MS)}
    bench = CleanerBench(str(tmp_path / "ours"), props)
    for number in range(4):
        grow(bench, rng, list(Compression))
        theirs = tmp_path / f"theirs-{number}" / Path(bench.log.directory).name
        clean_with_both(oracle, bench, theirs, props)
        assert contents(bench.log.directory) == contents(str(theirs))
        reopen(bench)
        bench.clock.advance_ms(rng.choice([1, DELETE_RETENTION_MS, 3 * DELETE_RETENTION_MS]))
