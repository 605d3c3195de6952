"""Finding a batch in a record file by offset: the index first, then the batch headers after its entry."""

from struct import Struct
from typing import Final, NamedTuple

from ottla.log.offset_index import OffsetIndex, OffsetPosition
from ottla.records.batch import HEADER_BYTES, LOG_OVERHEAD
from ottla.runtime.port import File

_SCAN_BYTES: Final = 8192
_SCAN_HEADER: Final = Struct(">qi11xi")
"""Base offset, batch length and last offset delta: what a search looks at."""


class BatchPosition(NamedTuple):
    """A batch found in the record file."""

    base_offset: int
    position: int
    size_in_bytes: int


def find_batch(file: File, size: int, index: OffsetIndex, offset: int) -> BatchPosition | None:
    """The first batch whose last offset is at least ``offset``; None past the end, which is at ``size``."""
    position, chunk = indexed_start(file, size, index, offset)
    chunk_position, at = position, 0
    unpack = _SCAN_HEADER.unpack_from
    while position + HEADER_BYTES <= size:
        if at + HEADER_BYTES > len(chunk):
            chunk = file.pread(_SCAN_BYTES, position)
            chunk_position, at = position, 0
        base_offset, length, last_offset_delta = unpack(chunk, at)
        if length < HEADER_BYTES - LOG_OVERHEAD:
            return None
        if base_offset + last_offset_delta >= offset:
            return BatchPosition(base_offset, position, length + LOG_OVERHEAD)
        position += length + LOG_OVERHEAD
        at = position - chunk_position
    return None


def indexed_start(file: File, size: int, index: OffsetIndex, offset: int) -> tuple[int, bytes]:
    """The position of the last trusted index entry up to ``offset``, and what was read there; the start without one.

    An entry is trusted only if the batch at its position ends with its offset, so a damaged index makes a search
    longer but never wrong.
    """
    slot = index.floor_slot(offset)
    while slot >= 0:
        indexed_offset, position = index.entry(slot)
        chunk = file.pread(_SCAN_BYTES, position) if position < size else b""
        if len(chunk) >= HEADER_BYTES:
            base_offset, _, last_offset_delta = _SCAN_HEADER.unpack_from(chunk)
            if base_offset + last_offset_delta == indexed_offset:
                return position, chunk
        slot -= 1
    return 0, b""


def first_indexed_at_or_after(file: File, size: int, index: OffsetIndex, position: int) -> OffsetPosition | None:
    """The first index entry at ``position`` or behind it, if it can be trusted."""
    entry = index.first_at_or_after_position(position)
    if entry is None or entry.position + HEADER_BYTES > size:
        return None
    base_offset, _, last_offset_delta = _SCAN_HEADER.unpack(file.pread(_SCAN_HEADER.size, entry.position))
    return entry if base_offset + last_offset_delta == entry.offset else None
