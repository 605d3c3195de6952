"""Recovery of one segment after an unclean stop: read it all, keep the longest sound prefix, rebuild its indexes.

A batch is sound when it is whole, has magic 2 and a correct CRC, and continues the log: its offsets lie after those
before it and before the next segment, its leader epoch does not fall. The CRC does not cover base offset, length,
leader epoch and magic; what these checks cannot see of a flip there is listed in docs/recovery.md. Apache Kafka looks
at length, magic and CRC, and at the distance from the segment's base offset.
"""

import logging
import zlib
from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple, Protocol

from ottla.common.errors import KafkaStorageError
from ottla.log.segment import READ_CHUNK_BYTES, LogSegment
from ottla.log.time_index import TimestampOffset
from ottla.records.batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    RecordBatch,
)
from ottla.records.crc32c import crc32c

logger = logging.getLogger(__name__)

_RELATIVE_OFFSET_MAX: Final = (1 << 31) - 1
_LEGACY_CRC_AND_MAGIC: Final = Struct(">Ib")


class Epochs(Protocol):
    """The leader epochs that recovery brings in line with what it finds in batches."""

    def agrees(self, epoch: int, offset: int) -> bool:
        """Whether ``offset`` was written in ``epoch`` as far as the checkpoint knows."""

    def begin(self, epoch: int, base_offset: int, offset_before: int | None) -> None:
        """Note that a batch has another epoch than the one before it."""

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after ``end_offset``."""


class Producers(Protocol):
    """The producer state that recovery rebuilds."""

    def replay(self, batch: RecordBatch, segment: LogSegment) -> None:
        """Apply a batch of an idempotent producer or a marker; an abort goes into the segment's transaction index."""

    def update_map_end_offset(self, offset: int) -> None:
        """Note how far the log was read."""


class Jump(NamedTuple):
    """A batch that does not continue the one before it, though it may be right: suspicious if the next contradicts."""

    position: int
    base_offset: int
    epoch: int
    expected_offset: int
    expected_epoch: int
    last_offset_delta: int
    contradicts_checkpoint: bool
    """Whether the checkpoint, which is written before the first batch of an epoch, has another epoch for it."""


class Tail(NamedTuple):
    """How the log ends so far: the last batch's epoch and last offset, and that batch itself if it jumped."""

    epoch: int = -1
    jump: Jump | None = None
    last_offset: int | None = None
    """Before the segment's end where compaction has emptied that; None before the first batch."""


class Recovered(NamedTuple):
    """What recovery did to a segment.

    ``again`` asks for another pass with fresh producer state: the damaged batch had been taken for sound and replayed
    before its successor gave it away. It has been cut, so the next pass is the last.
    """

    cut_bytes: int
    again: bool
    tail: Tail
    blames_previous: bool = False
    """Whether the damage is the last batch of the segment before, which jumped, and nothing of this one stays."""


class _Damage(NamedTuple):
    """Where the sound prefix ends, and why."""

    position: int
    reason: str
    liar: Jump | None = None
    """The batch before, if that one is to blame."""


def recover_segment(
    segment: LogSegment,
    producers: Producers,
    epochs: Epochs,
    *,
    next_base_offset: int | None = None,
    before: Tail | None = None,
    before_cut: Callable[[], None] = lambda: None,
) -> Recovered:
    """Rebuild the indexes of a segment and cut it before its first damage.

    ``next_base_offset`` is where the following segment begins: no batch reaches it. ``before`` is how the segment
    before ended, if it was scanned. ``before_cut`` removes what lies behind the damage: were it still there after a
    second crash, the cut would become a hole in the log. Producers and epochs are brought to the segment's end. Raises
    KafkaStorageError for a record format that Ottla cannot read, rather than cut such data away.
    """
    tail, damage = _scan(segment, producers, epochs, next_base_offset, before)
    cut_bytes = 0
    blames_previous = False
    if damage is not None:
        blames_previous = before is not None and damage.liar is not None and damage.liar is before.jump
        position = 0 if blames_previous else damage.position
        cut_bytes = segment.size - position
        logger.warning(
            "Found invalid messages in log segment %s at byte offset %d: %s. Truncating %d bytes.",
            segment.log_file.path,
            position,
            damage.reason,
            cut_bytes,
        )
        before_cut()
        segment.truncate_file(position)
    segment.time_index.maybe_append(*segment.max_timestamp_and_offset)
    segment.write_out_indexes()
    again = damage is not None and damage.liar is not None and not blames_previous
    return Recovered(cut_bytes, again, tail, blames_previous)


def _scan(
    segment: LogSegment, producers: Producers, epochs: Epochs, next_base_offset: int | None, before: Tail | None
) -> tuple[Tail, _Damage | None]:
    """One pass over the file: indexes, producers and epochs follow the sound batches; returns how they end, and
    the damage.

    Written for speed, with no object for a plain batch: an unclean start reads every byte since the recovery point.
    """
    offset_index, time_index = segment.offset_index, segment.time_index
    offset_index.reset()
    time_index.reset()
    segment.txn_index.reset()
    offset_limit = segment.base_offset + _RELATIVE_OFFSET_MAX + 1
    if next_base_offset is not None:
        offset_limit = min(offset_limit, next_base_offset)
    interval_bytes = segment.index_interval_bytes
    unpack, pread, file_size = HEADER.unpack_from, segment.log_file.pread, segment.size
    expected_offset, (expected_epoch, jump, offset_before) = segment.base_offset, before or Tail()
    max_timestamp, max_timestamp_offset = NO_TIMESTAMP, segment.base_offset
    position = indexed_position = 0
    chunk_bytes = READ_CHUNK_BYTES
    damage: _Damage | None = None

    while position < file_size and damage is None:
        chunk = memoryview(pread(chunk_bytes, position))
        at, end = 0, len(chunk)
        size = HEADER_BYTES
        while end - at >= HEADER_BYTES:
            base_offset, length, epoch, magic, crc, _, delta, _, timestamp, producer_id, _, _, _ = unpack(chunk, at)
            size = length + LOG_OVERHEAD
            if at + size > end and size >= HEADER_BYTES:
                break
            last_offset = base_offset + delta
            if size < HEADER_BYTES:
                damage = _Damage(position + at, f"a batch cannot have length {length}")
            elif magic != MAGIC:
                _refuse_legacy(segment, chunk[at : at + size], position + at)
                damage = _Damage(position + at, f"magic {magic} is not a record batch's")
            elif crc32c(chunk[at + ATTRIBUTES_POSITION : at + size]) != crc:
                damage = _Damage(position + at, "the CRC does not match")
            elif base_offset < expected_offset or epoch < expected_epoch or delta < 0 or last_offset >= offset_limit:
                found = Jump(position + at, base_offset, epoch, expected_offset, expected_epoch, delta, False)
                damage = _blame(jump, found)
            if damage is not None:
                break
            if base_offset == expected_offset and epoch == expected_epoch:
                jump = None
            else:
                lies = not epochs.agrees(epoch, base_offset)
                jump = Jump(position + at, base_offset, epoch, expected_offset, expected_epoch, delta, lies)
                if epoch != expected_epoch:
                    epochs.begin(epoch, base_offset, expected_offset - 1 if position + at else offset_before)
                    expected_epoch = epoch
            expected_offset = last_offset + 1
            if timestamp > max_timestamp:
                max_timestamp, max_timestamp_offset = timestamp, last_offset
            if position + at - indexed_position > interval_bytes:
                indexed_position = position + at
                offset_index.append(last_offset, indexed_position)
                time_index.maybe_append(max_timestamp, max_timestamp_offset)
            if producer_id >= 0:
                producers.replay(RecordBatch(chunk, at), segment)
            at += size
        position += at
        if at == 0 and damage is None:
            if end < HEADER_BYTES or position + size > file_size:
                damage = _Damage(position, f"{file_size - position} bytes are not a whole batch")
            chunk_bytes = size

    segment.restore_after_recovery(TimestampOffset(max_timestamp, max_timestamp_offset))
    producers.update_map_end_offset(expected_offset)
    if damage is not None and damage.liar is not None:
        epochs.truncate_from_end(damage.liar.expected_offset)
    return Tail(expected_epoch, jump, expected_offset - 1 if position else offset_before), damage


def _blame(jump: Jump | None, found: Jump) -> _Damage:
    """Two neighbours contradict each other: which one is damaged?

    The earlier one if it jumped, and the later one fits what stood before the jump.
    """
    reason = (
        f"offset {found.base_offset} in epoch {found.epoch} cannot follow offset {found.expected_offset - 1} "
        f"in epoch {found.expected_epoch}"
    )
    if jump is not None:
        offset_lies = jump.expected_offset + jump.last_offset_delta < found.base_offset < found.expected_offset
        epoch_lies = jump.contradicts_checkpoint and jump.expected_epoch <= found.epoch < jump.epoch
        if offset_lies or epoch_lies:
            return _Damage(jump.position, reason, jump)
    return _Damage(found.position, reason)


def _refuse_legacy(segment: LogSegment, message: memoryview, position: int) -> None:
    """Raise if the bytes are a sound message of format 0 or 1: real data, not damage."""
    crc, magic = _LEGACY_CRC_AND_MAGIC.unpack_from(message, LOG_OVERHEAD)
    if magic in (0, 1) and zlib.crc32(message[LOG_OVERHEAD + 4 :]) == crc:
        raise KafkaStorageError(
            f"{segment.log_file.path} holds messages of format {magic} at position {position}, which Ottla does not "
            "read; rewrite the topic with a Kafka that does"
        )
