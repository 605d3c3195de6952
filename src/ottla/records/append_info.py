"""What the log needs to know about batches that are about to be appended."""

from typing import NamedTuple

from ottla.records.batch import Buffer, RecordBatch


class AppendInfo(NamedTuple):
    """Checked batches with their places in the log.

    ``records`` are the bytes to write: the caller's own buffer, patched, where that could be. No batch at all (a
    follower was sent a part of one, or only batches of a later epoch) gives offsets of -1 and nothing to write.
    """

    records: Buffer
    batches: list[RecordBatch]
    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    """The last offset of the first batch that has ``max_timestamp``, which is what the time index stores."""
    size_in_bytes: int
    append_time: int
    """The time that all records got, or -1 where they keep their own."""
    source_compression: int
    target_compression: int
    records_count: int
    recompressed: bool
    """Whether the records had to be written anew, by another codec or with other offsets."""
