"""What a task reads: pieces of record files."""

from typing import NamedTuple


class LogPiece(NamedTuple):
    """Part of a segment, from one batch to another; the batches in it have base offsets in a range.

    The range finds them again in a file that the cleaner has written anew since: ``inode`` tells.
    """

    topic: str
    partition: int
    path: str
    inode: int
    base_offset: int
    segment_end_offset: int
    """The first offset that is not the segment's."""
    start: int
    stop: int
    is_fixed: bool
    """Whether a batch is known to begin at ``stop``; otherwise that was the end of the file."""
    is_last: bool
    """Whether it is the end of the partition's last segment, which may be growing."""
    first_offset: int
    end_offset: int
    by_offset: bool = False
    """Whether the file is another than the planned one: the offsets say what of it belongs to the piece."""


class LogTask(NamedTuple):
    """Pieces that one task reads, one after the other."""

    pieces: tuple[LogPiece, ...]
