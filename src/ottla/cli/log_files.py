"""The files of a partition, read for people: batches one after the other, and the entries of indexes."""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

from ottla.cli.errors import CommandError
from ottla.common.errors import CorruptRecordError
from ottla.records.batch import HEADER_BYTES, LOG_OVERHEAD, MAGIC, MAGIC_POSITION, RecordBatch

UNLIMITED_BYTES: Final = (1 << 31) - 1
_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8
_SMALLEST_LENGTH: Final = 14
"""The length of an empty message of the first format, the least that any format has."""

OFFSET_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")


class PlacedBatch(NamedTuple):
    """A batch, and where it begins in its file."""

    position: int
    batch: RecordBatch


def file_batches(path: Path, start: int = 0, max_bytes: int = UNLIMITED_BYTES) -> Iterator[PlacedBatch]:
    """The whole batches from ``start`` on, one in memory at a time; CorruptRecordError for a length that none has."""
    with path.open("rb") as stream:
        end = min(os.fstat(stream.fileno()).st_size, start + max_bytes)
        position = start
        while position < end - MAGIC_POSITION:
            stream.seek(position)
            head = stream.read(MAGIC_POSITION + 1)
            length: int = _LENGTH.unpack_from(head, _LENGTH_POSITION)[0]
            if length < _SMALLEST_LENGTH:
                raise CorruptRecordError(
                    f"Found record size {length} smaller than minimum record overhead ({_SMALLEST_LENGTH}) in file "
                    f"{path}."
                )
            if position > end - LOG_OVERHEAD - length:
                return
            if head[MAGIC_POSITION] != MAGIC:
                raise CommandError(
                    f"The batch at position {position} of {path} is in format {head[MAGIC_POSITION]}; only format "
                    f"{MAGIC}, which Kafka writes since 0.11, is known here"
                )
            if length + LOG_OVERHEAD < HEADER_BYTES:
                raise CorruptRecordError(f"The batch at position {position} of {path} is smaller than its header")
            stream.seek(position)
            yield PlacedBatch(position, RecordBatch(stream.read(length + LOG_OVERHEAD)))
            position += length + LOG_OVERHEAD


def base_offset(path: Path) -> int:
    """The offset that a file is named after."""
    name = path.name.split(".")[0]
    if not name.isdigit():
        raise CommandError(f"{path} is not named after an offset", hint="files of a log are, with twenty digits")
    return int(name)


def beside(path: Path, suffix: str) -> Path:
    """The file of the same segment with another suffix."""
    return path.with_name(path.name.split(".")[0] + suffix)


def offset_entries(path: Path) -> list[tuple[int, int]]:
    """(offset, position) of each entry of an offset index, as far as the file has whole ones."""
    base = base_offset(path)
    return [(base + relative, position) for relative, position in _entries(path, OFFSET_ENTRY)]


def time_entries(path: Path) -> list[tuple[int, int]]:
    """(timestamp, offset) of each entry of a time index."""
    base = base_offset(path)
    return [(timestamp, base + relative) for timestamp, relative in _entries(path, TIME_ENTRY)]


def index_damage(path: Path, form: Struct, entries: list[tuple[int, int]]) -> str | None:
    """What a broker would rebuild the index for at its start; None if nothing is wrong."""
    size = path.stat().st_size
    if size % form.size:
        return f"Index file {path} is corrupt, found {size} bytes which is not a multiple of {form.size}."
    base = base_offset(path)
    by_offset = form is OFFSET_ENTRY
    if entries and entries[-1][0 if by_offset else 1] < base:
        return f"Corrupt index found, index file ({path}) has non-zero size but the last offset is below {base}."
    if not by_offset and entries and entries[-1][0] < entries[0][0]:
        return f"Corrupt time index found, time index file ({path}) has a last timestamp below its first."
    return None


def _entries(path: Path, form: Struct) -> list[tuple[int, ...]]:
    data = path.read_bytes()
    return list(form.iter_unpack(data[: len(data) // form.size * form.size]))
