"""The task's side: pieces of record files to Arrow batches."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.log.names import DELETED_SUFFIX
from ottla.records.batch import RecordBatch
from ottla.spark.log_table.batch_bounds import BatchBounds
from ottla.spark.log_table.batch_walk import BatchWalk, DamagedBytes, Found, SoundBatch
from ottla.spark.log_table.byte_window import ByteWindow
from ottla.spark.log_table.log_files import list_segments, with_end_offsets
from ottla.spark.log_table.log_piece import LogPiece
from ottla.spark.log_table.table_options import TableOptions
from ottla.spark.log_table.transaction_fates import TransactionFates

if TYPE_CHECKING:
    import pyarrow

_ROWS_MAX: Final = 65_536
_BYTES_MAX: Final = 16 * 1024 * 1024
_NO_END: Final = 1 << 63


class OpenSegment(NamedTuple):
    """A record file that somebody reads."""

    descriptor: int

    def size(self) -> int:
        """How long it is now."""
        return os.fstat(self.descriptor).st_size

    def pread(self, size: int, position: int) -> bytes:
        """All of these bytes that there are; one call may bring fewer."""
        parts = []
        while size > 0 and (part := os.pread(self.descriptor, size, position)):
            parts.append(part)
            size -= len(part)
            position += len(part)
        return b"".join(parts) if len(parts) != 1 else parts[0]

    def close(self) -> None:
        """Let go of it."""
        os.close(self.descriptor)


def read_pieces(pieces: Iterable[LogPiece], options: TableOptions) -> Iterator["pyarrow.RecordBatch"]:
    """Their rows; what is wrong with a file is a row, too."""
    from ottla.spark.log_table.table_rows import TableRows

    for planned in pieces:
        for piece in whereabouts(planned):
            rows = TableRows(piece, options.columns)
            for found in _wanted(piece, options):
                rows.append(found)
                if rows.rows >= _ROWS_MAX or rows.size_in_bytes >= _BYTES_MAX:
                    yield from _sliced(rows.take())
            yield from _sliced(rows.take())


def _sliced(batches: Iterable["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS_MAX):
            yield batch.slice(start, _ROWS_MAX)


def whereabouts(piece: LogPiece) -> list[LogPiece]:
    """The piece, if its file is still the one that was planned, or waits for its deletion.

    Otherwise the cleaner has put others in its place, or retention has taken it: the files that hold its offsets now.
    """
    for path in (piece.path, piece.path + DELETED_SUFFIX):
        try:
            if os.stat(path).st_ino == piece.inode:
                return [piece._replace(path=path)]
        except FileNotFoundError:
            continue
    return list(_files_with(piece, piece.first_offset, piece.end_offset)) or [piece]


def _files_with(piece: LogPiece, first_offset: int, end_offset: int) -> Iterator[LogPiece]:
    """What may hold these offsets in the piece's directory, as it is now."""
    try:
        segments = list_segments(os.path.dirname(piece.path), frozenset())
    except FileNotFoundError:
        return
    for segment, segment_end in with_end_offsets(segments):
        if segment_end > first_offset and segment.base_offset < end_offset:
            yield LogPiece(
                piece.topic,
                piece.partition,
                segment.path,
                segment.inode,
                segment.base_offset,
                segment_end,
                0,
                segment.size_in_bytes,
                is_fixed=False,
                is_last=segment is segments[-1],
                first_offset=first_offset,
                end_offset=end_offset,
                by_offset=True,
            )


def _wanted(piece: LogPiece, options: TableOptions) -> Iterator[Found]:
    """What is in the piece, without what a consumer would not see if that is wanted."""
    if not options.read_committed:
        yield from walk_piece(piece, options)
        return
    fates = TransactionFates()
    fates.show(_sound(walk_piece(piece, options)))
    behind = _files_with(piece, piece.end_offset, _NO_END)
    fates.show_following(_sound(found for later in behind for found in walk_piece(later, options)))
    for found in walk_piece(piece, options):
        if isinstance(found, DamagedBytes) or fates.is_seen(found.batch):
            yield found


def _sound(founds: Iterable[Found]) -> Iterator[RecordBatch]:
    return (found.batch for found in founds if isinstance(found, SoundBatch) and found.error is None)


def walk_piece(piece: LogPiece, options: TableOptions) -> Iterator[Found]:
    """The batches and damages of a piece; that its file is gone is one, too."""
    try:
        segment = OpenSegment(os.open(piece.path, os.O_RDONLY))
    except FileNotFoundError:
        yield DamagedBytes(piece.start, piece.stop - piece.start, "the file was deleted before it was read", None)
        return
    with closing(segment):
        bounds = BatchBounds(piece.base_offset, piece.segment_end_offset, options.max_batch_bytes)
        walk = BatchWalk(
            ByteWindow(segment.pread, segment.size()),
            piece.start,
            piece.stop,
            bounds,
            fixed=piece.is_fixed,
            zeros_end=piece.is_last,
            first_offset=piece.first_offset,
        )
        for found in walk:
            if not piece.by_offset or _belongs(found, piece):
                yield found


def _belongs(found: Found, piece: LogPiece) -> bool:
    offset = found.base_offset if isinstance(found, DamagedBytes) else found.batch.base_offset
    return offset is not None and piece.first_offset <= offset < piece.end_offset
