"""The metadata that files hold: a snapshot, a segment of the metadata log, or the log's directory."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.errors import CommandError
from ottla.cli.log_files import base_offset, file_batches
from ottla.cli.segment_dump import BOOTSTRAP_NAME

if TYPE_CHECKING:
    from ottla.metadata.image.metadata import MetadataImage
    from ottla.metadata.records import MetadataRecord

LOG_NAME: Final = "__cluster_metadata-0"
_SNAPSHOT_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
"""First offset that it does not contain, and epoch."""

PlacedRecord = tuple[int, int, int, "MetadataRecord"]
"""Offset, epoch, timestamp and the record."""


def metadata_files(path: Path) -> list[Path]:
    """The files to read, in order: the file itself, or of a directory the last snapshot and the log from there on."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise CommandError(f"There is no {path}")
    directory = path / LOG_NAME if (path / LOG_NAME).is_dir() else path
    snapshots = sorted(
        each for each in directory.glob("*.checkpoint") if each.name != BOOTSTRAP_NAME and "-" in each.name
    )
    segments = sorted(directory.glob("*.log"))
    if not snapshots and not segments:
        raise CommandError(f"There is no metadata log in {path}", hint=f"name a log directory, or {LOG_NAME} in it")
    covered = int(snapshots[-1].name.partition("-")[0]) if snapshots else 0
    following = [
        segment
        for segment, after in zip(segments, [*segments[1:], None], strict=True)
        if after is None or base_offset(after) > covered
    ]
    return [*snapshots[-1:], *following]


def load_image(path: Path) -> "MetadataImage":
    """The image that the files give, to the end of the log: the last records of a live one may not be committed yet."""
    from ottla.metadata.image.metadata import MetadataImage
    from ottla.metadata.image.metadata_delta import MetadataDelta
    from ottla.metadata.image.provenance import MetadataProvenance

    delta = MetadataDelta.from_empty(MetadataImage())
    provenance = MetadataProvenance()
    covered = 0
    files = metadata_files(path)
    if not any(file.stat().st_size for file in files):
        raise CommandError(f"{path} is empty")
    for file in files:
        for offset, epoch, timestamp, record in _settled(_records(file, covered)):
            delta.replay(record)
            provenance = MetadataProvenance(offset, epoch, timestamp, True)
        snapshot = _SNAPSHOT_NAME.fullmatch(file.name)
        if snapshot is not None:
            covered = int(snapshot[1])
            provenance = MetadataProvenance(covered - 1, int(snapshot[2]), provenance[2], True)
    return delta.apply(provenance)


def _records(path: Path, covered: int) -> Iterator[PlacedRecord]:
    """The records of a file from offset ``covered`` on; a snapshot's count for themselves, and are there to its end."""
    from ottla.records.record import decode_records

    first = covered if path.suffix == ".log" else 0
    end = 0
    for position, batch in file_batches(path):
        batch.ensure_valid()
        end = position + len(batch.bytes)
        if batch.is_control:
            continue
        for record in decode_records(batch):
            if record.offset >= first:
                decoded = _decode(path, record.offset, record.value or b"")
                yield record.offset, batch.partition_leader_epoch, record.timestamp, decoded
    size = path.stat().st_size
    if size > end and (end == 0 or path.suffix != ".log"):
        raise CommandError(f"{path} is no whole snapshot or log: after {end} of {size} bytes there is no whole batch")


def _decode(path: Path, offset: int, value: bytes) -> "MetadataRecord":
    from ottla.metadata.serde import MetadataParseError, decode_record

    try:
        return decode_record(value)
    except MetadataParseError as error:
        raise CommandError(
            f"The record at offset {offset} of {path} is none of the metadata's: {error}",
            hint=f"name a file of {LOG_NAME}",
        ) from error


def _settled(records: Iterator[PlacedRecord]) -> Iterator[PlacedRecord]:
    """Without those of metadata transactions that were aborted, or have not ended."""
    from ottla.metadata.records import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

    open_ones: list[PlacedRecord] | None = None
    for placed in records:
        record = placed[3]
        if isinstance(record, BeginTransactionRecord):
            open_ones = []
        elif isinstance(record, EndTransactionRecord):
            yield from open_ones or ()
            open_ones = None
        elif isinstance(record, AbortTransactionRecord):
            open_ones = None
        elif open_ones is not None:
            open_ones.append(placed)
        else:
            yield placed
