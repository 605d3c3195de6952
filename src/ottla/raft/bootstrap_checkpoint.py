"""``bootstrap.checkpoint``: the records that a new cluster begins with, in a formatted data directory."""

from collections.abc import Iterable
from typing import Final, TypeVar

from ottla.raft.batch import RecordSerde
from ottla.raft.snapshot_reader import read_snapshot
from ottla.raft.snapshot_writer import SnapshotBatches
from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

T = TypeVar("T")

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"


def read_bootstrap_checkpoint(files: Files, directory: str, serde: RecordSerde[T]) -> list[T] | None:
    """The records, or None if the directory has no such file; CorruptRecordError if it is damaged."""
    path = f"{directory}/{BOOTSTRAP_FILE}"
    if not files.exists(path):
        return None
    return [record for batch in read_snapshot(files, path, serde) for record in batch.records]


def write_bootstrap_checkpoint(files: Files, directory: str, values: Iterable[bytes], now_ms: int) -> None:
    """Replace the file; durable on return. It has the form of a snapshot, with epoch 0 and no log behind it."""
    batches = SnapshotBatches(0)
    parts = [batches.header(0, now_ms), *(batches.add(value, now_ms) or b"" for value in values)]
    write_atomically(files, f"{directory}/{BOOTSTRAP_FILE}", b"".join((*parts, batches.footer(now_ms))))
