"""What a snapshot has forgotten of a producer, read back from the log when a client repeats it.

Kafka's snapshots keep one batch a producer, but a producer has up to five on their way: after a start or a truncation a
retry of the first four of them would be refused, though they are in the log. So when one comes that is not among those
remembered, the log is read backwards from there on. Nothing is read at start: few producers have anything on its way.
"""

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from ottla.log.batch_search import first_indexed_at_or_after
from ottla.log.producer_entry import NUM_BATCHES_TO_RETAIN, BatchMetadata, ProducerEntry
from ottla.log.segment import LogSegment
from ottla.log.segments import LogSegments
from ottla.records.batch import HEADER_BYTES, MAGIC, RecordBatch, increment_sequence

logger = logging.getLogger(__name__)

RECALL_BYTES_MAX: Final = 64 << 20
"""How far back from the oldest batch that is known: four more of a million bytes (``max.request.size``), with fourteen
of other producers between each two. Only headers are read, whatever the batches' size.
"""

RECALL_BATCHES_MAX: Final = 5_000
"""How many headers: five of each of a thousand producers. They take the reactor 10 ms, 50 if each is a read of its own,
and that is paid only for what is not there, once: nothing more is looked for then. What is there takes less than 1 ms.
"""

RECALL_SEGMENTS_MAX: Final = 16
"""How many segments, whose indexes may have to be read: more than four batches that fill one each."""

_FIRST_STRETCH_BYTES: Final = 32 << 10
_CHUNK_BYTES: Final = 8 << 10


class _Stored(NamedTuple):
    """The header of a batch, and where the whole of it is."""

    header: RecordBatch
    segment: LogSegment
    position: int

    @property
    def is_intact(self) -> bool:
        """Whether the batch can be read. One that cannot is better written again than acknowledged."""
        data = self.segment.log_file.pread(self.header.size_in_bytes, self.position)
        return RecordBatch(data).is_crc_valid()


def earlier_batches(segments: LogSegments, entry: ProducerEntry, repeated: RecordBatch) -> list[BatchMetadata]:
    """The batches before those that ``entry`` remembers, oldest first: back to the one that ``repeated`` repeats, or as
    many as an entry has room for.

    All are of the entry's epoch and without a gap; what lies behind a gap, behind damage or too far away is not found.
    """
    found: list[BatchMetadata] = []
    room = NUM_BATCHES_TO_RETAIN - len(entry.batches)
    next_sequence = entry.first_sequence
    for stored in _backwards(segments, entry.first_data_offset):
        batch = stored.header
        if batch.producer_id != entry.producer_id or (batch.is_control and not batch.records_count):
            continue  # a marker that compaction has emptied says nothing any more
        if batch.producer_epoch != entry.producer_epoch:
            break
        if batch.is_control:
            continue
        if increment_sequence(batch.last_sequence, 1) != next_sequence or not stored.is_intact:
            break
        found.append(
            BatchMetadata(batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp)
        )
        next_sequence = batch.base_sequence
        if len(found) == room or next_sequence == repeated.base_sequence:
            break
    logger.info(
        "Producer %d repeats its sequence %d, which is before what the snapshot had: %d of its batches are known again",
        entry.producer_id,
        repeated.base_sequence,
        len(found),
    )
    return found[::-1]


def _backwards(segments: LogSegments, offset: int) -> Iterator[_Stored]:
    """The batches below ``offset``, newest first, within the bounds and down to the first damage."""
    bytes_left, batches_left = RECALL_BYTES_MAX, RECALL_BATCHES_MAX
    for segment in reversed(segments.between(0, offset)[-RECALL_SEGMENTS_MAX:]):
        known = segment.find_batch(offset)
        end = segment.size if known is None else known.position
        stretch = _FIRST_STRETCH_BYTES
        while end > 0:
            start = _indexed_before(segment, end, stretch, bytes_left)
            if start is None:
                return
            read = _walk(segment, start, end, batches_left)
            if read is None:
                return
            yield from reversed(read)
            bytes_left -= end - start
            batches_left -= len(read)
            end = start
            stretch *= 2


def _indexed_before(segment: LogSegment, end: int, stretch: int, stretch_max: int) -> int | None:
    """Where a batch begins about ``stretch`` bytes before ``end``, or farther away if the index has nothing there; None
    if it has nothing within ``stretch_max``.
    """
    while True:
        stretch = min(stretch, stretch_max)
        if end <= stretch:
            return 0
        entry = first_indexed_at_or_after(segment.log_file, segment.size, segment.offset_index, end - stretch)
        if entry is not None and entry.position < end:
            return entry.position
        if stretch == stretch_max:
            return None
        stretch *= 2


def _walk(segment: LogSegment, start: int, end: int, batches_max: int) -> list[_Stored] | None:
    """The batches of a stretch; None if they are too many, or what should be a header is none."""
    found: list[_Stored] = []
    position, next_offset = start, segment.base_offset
    chunk, chunk_position = b"", start
    while position < end:
        at = position - chunk_position
        if at + HEADER_BYTES > len(chunk):
            chunk, chunk_position, at = segment.log_file.pread(_CHUNK_BYTES, position), position, 0
            if len(chunk) < HEADER_BYTES:
                return None
        batch = RecordBatch(chunk, at)
        if (
            len(found) == batches_max
            or batch.size_in_bytes < HEADER_BYTES
            or batch.magic != MAGIC
            or not next_offset <= batch.base_offset <= batch.last_offset
        ):
            return None
        found.append(_Stored(batch, segment, position))
        position += batch.size_in_bytes
        next_offset = batch.next_offset
    return found
