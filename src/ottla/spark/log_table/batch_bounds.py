"""What the header of a batch in a given segment can say. Pure."""

from typing import Final, NamedTuple

from ottla.records.batch import COMPRESSION_MASK, DELETE_HORIZON_FLAG, HEADER_BYTES, MAGIC, RecordBatch
from ottla.records.compression import Compression

MAX_BATCH_BYTES: Final = 64 * 1024 * 1024
"""How large a batch may be unless somebody says otherwise: it is held in memory whole."""
RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
"""How far a segment's offsets reach from its base offset: indexes have 32 bits for it."""

_KNOWN_ATTRIBUTES: Final = DELETE_HORIZON_FLAG * 2 - 1
_CODEC_MAX: Final = max(Compression)
_LEGACY_MAGICS: Final = (0, 1)


class BatchBounds(NamedTuple):
    """Between which offsets the batches of a segment lie, and how many bytes one may have."""

    first_offset: int
    end_offset: int
    """The first offset that is not the segment's: the next segment's base offset, or as far as an index reaches."""
    max_batch_bytes: int = MAX_BATCH_BYTES

    def frame_damage(self, batch: RecordBatch, room_bytes: int) -> str | None:
        """Why its bytes cannot be taken for a batch of that length; ``room_bytes``: how many there are to the end."""
        size = batch.size_in_bytes
        if batch.magic in _LEGACY_MAGICS and size > 0:
            return f"message format {batch.magic} is older than Kafka 0.11 and is not read"
        if size < HEADER_BYTES:
            return f"a batch cannot have length {size}"
        if batch.magic != MAGIC:
            return f"magic {batch.magic} is not a record batch's"
        if size > self.max_batch_bytes:
            return f"its {size} bytes are more than the {self.max_batch_bytes} that a batch may have"
        if size > room_bytes:
            return f"torn: {room_bytes} of its {size} bytes are there"
        return None

    def is_plausible(self, batch: RecordBatch, room_bytes: int) -> bool:
        """Whether the header is one that a writer of this segment may have written.

        A header has some hundred bits that are the same, or nearly, in all batches; chance does not produce them.
        """
        return (
            batch.magic == MAGIC
            and HEADER_BYTES <= batch.size_in_bytes <= min(room_bytes, self.max_batch_bytes)
            and 0 <= batch.attributes <= _KNOWN_ATTRIBUTES
            and batch.attributes & COMPRESSION_MASK <= _CODEC_MAX
            and batch.last_offset_delta >= 0
            and batch.records_count >= 0
            and batch.producer_id >= -1
            and batch.partition_leader_epoch >= -1
            and self.first_offset <= batch.base_offset
            and batch.last_offset < self.end_offset
        )

    def offset_damage(self, batch: RecordBatch, expected_offset: int, following: RecordBatch | None) -> str | None:
        """Why the offsets of a batch with a sound checksum, which does not cover them, cannot be right.

        ``expected_offset``: the one after the last batch that was right. ``following``: the batch after this one.
        Compaction leaves gaps, so an offset that is too high is found out by the batch that follows it.
        """
        first, end = batch.base_offset, batch.next_offset
        if batch.last_offset_delta < 0:
            return f"it ends at offset {end - 1}, before it begins at {first}"
        if first < expected_offset:
            return f"offset {first} cannot follow offset {expected_offset - 1}"
        if end > self.end_offset:
            return f"offset {end - 1} lies beyond its segment, which ends before {self.end_offset}"
        if first > expected_offset and following is not None and expected_offset <= following.base_offset < end:
            return f"offset {first} cannot come before offset {following.base_offset}, which follows it"
        return None
