"""Files to tasks: large segments are split where their offset index says that a batch begins."""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from ottla.log.names import INDEX_SUFFIX, LOG_SUFFIX
from ottla.log.offset_index import OffsetIndex
from ottla.spark.log_table.batch_bounds import BatchBounds
from ottla.spark.log_table.byte_window import ByteWindow
from ottla.spark.log_table.log_files import PartitionFiles, SegmentFile, find_files, with_end_offsets
from ottla.spark.log_table.log_piece import LogPiece, LogTask
from ottla.spark.log_table.table_options import TableOptions

TASK_BYTES_MIN: Final = 4 * 1024 * 1024
"""Below that a task costs more than what it reads."""
PIECE_COST_BYTES: Final = 1024 * 1024
"""Opening a file is as dear as reading so much of it."""
_TRIES: Final = 8
_HEADER_WINDOW_BYTES: Final = 64 * 1024


def plan_tasks(options: TableOptions) -> list[LogTask]:
    """All that is to be read, in tasks of about the same size, and at least ``min_partitions`` of these if it pays."""
    files = find_files(options)
    total = sum(segment.size_in_bytes for partition in files for segment in partition.segments)
    task_bytes = min(options.max_partition_bytes, max(total // options.min_partitions, TASK_BYTES_MIN))
    pieces = [piece for partition in files for piece in plan_pieces(partition, task_bytes, options.max_batch_bytes)]
    return list(pack_pieces(pieces, task_bytes))


def pack_pieces(pieces: Sequence[LogPiece], task_bytes: int) -> Iterator[LogTask]:
    """Neighbours together, as long as they are small."""
    packed: list[LogPiece] = []
    packed_bytes = 0
    for piece in pieces:
        piece_bytes = piece.stop - piece.start + PIECE_COST_BYTES
        if packed and packed_bytes + piece_bytes > task_bytes + PIECE_COST_BYTES:
            yield LogTask(tuple(packed))
            packed, packed_bytes = [], 0
        packed.append(piece)
        packed_bytes += piece_bytes
    if packed:
        yield LogTask(tuple(packed))


def plan_pieces(partition: PartitionFiles, piece_bytes: int, max_batch_bytes: int) -> Iterator[LogPiece]:
    """The pieces of a partition's segments, in order; empty files have none."""
    segments = partition.segments
    for segment, end_offset in with_end_offsets(segments):
        is_last = segment is segments[-1]
        if not segment.size_in_bytes:
            continue
        bounds = BatchBounds(segment.base_offset, end_offset, max_batch_bytes)
        begins = [(0, segment.base_offset), *split_points(segment, piece_bytes, bounds)]
        for at, (start, first_offset) in enumerate(begins):
            ends_file = at == len(begins) - 1
            stop, piece_end = (segment.size_in_bytes, end_offset) if ends_file else begins[at + 1]
            yield LogPiece(
                partition.topic,
                partition.partition,
                segment.path,
                segment.inode,
                segment.base_offset,
                end_offset,
                start,
                stop,
                is_fixed=not ends_file,
                is_last=ends_file and is_last,
                first_offset=first_offset,
                end_offset=piece_end,
            )


def split_points(segment: SegmentFile, piece_bytes: int, bounds: BatchBounds) -> list[tuple[int, int]]:
    """Positions, about ``piece_bytes`` apart, where sound batches begin, and those batches' base offsets.

    The index says where; the batch there must be sound and end with the offset that the index has. Without an index
    the segment stays whole: bytes that look like a batch may be a record's.
    """
    count = segment.size_in_bytes // piece_bytes
    if count < 2 or not segment.path.endswith(LOG_SUFFIX):
        return []
    entries = read_index(segment)
    try:
        descriptor = os.open(segment.path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    points: list[tuple[int, int]] = []
    try:
        window = ByteWindow(
            lambda size, position: os.pread(descriptor, size, position), segment.size_in_bytes, _HEADER_WINDOW_BYTES
        )
        at = 0
        for target in range(piece_bytes, piece_bytes * count, piece_bytes):
            while at < len(entries) and entries[at][1] < target:
                at += 1
            for offset, position in entries[at : at + _TRIES]:
                base_offset = _sound_batch_offset(window, position, offset, bounds)
                if base_offset is not None and (not points or position > points[-1][0]):
                    points.append((position, base_offset))
                    break
    finally:
        os.close(descriptor)
    return points


def _sound_batch_offset(window: ByteWindow, position: int, last_offset: int, bounds: BatchBounds) -> int | None:
    """The base offset of the batch that begins there and ends with that offset; None if there is none."""
    header = window.header_at(position)
    if header is None or header.last_offset != last_offset or not bounds.is_plausible(header, window.end - position):
        return None
    batch = window.batch_at(position, header)
    return batch.base_offset if batch is not None and batch.is_crc_valid() else None


def read_index(segment: SegmentFile) -> list[tuple[int, int]]:
    """(last offset, position) of the offset index, as far as it rises: behind that is damage, or nothing yet."""
    try:
        with open(segment.path.removesuffix(LOG_SUFFIX) + INDEX_SUFFIX, "rb") as stream:
            data = stream.read()
    except OSError:
        return []
    size = OffsetIndex.ENTRY.size
    entries: list[tuple[int, int]] = []
    before = (-1, 0)
    for entry in OffsetIndex.ENTRY.iter_unpack(data[: len(data) // size * size]):
        if entry[0] <= before[0] or entry[1] <= before[1]:
            break
        before = entry
        entries.append((segment.base_offset + entry[0], entry[1]))
    return entries
