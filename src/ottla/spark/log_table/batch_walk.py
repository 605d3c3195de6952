"""The batches of a segment one after the other, and past damage to the next that can be found.

What a batch's checksum covers is sound or it is not. The fields in front of it (base offset, length, leader epoch,
format) are checked against the segment and the neighbours. After damage, in this order:

1. Inside the damaged bytes, as far as their length says they go, a sound batch may begin: if it, and those after it,
   end exactly where the damaged ones do, the length was wrong and they are read. (A batch that is the payload of a
   record does not end there.)
2. If a header follows where the length says, or the end of the file, the walk goes on there.
3. Otherwise at the next position where a sound batch begins: format, length, attributes and offsets are possible in
   this segment, and the checksum is right.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.spark.log_table.batch_bounds import BatchBounds
from ottla.spark.log_table.batch_search import sound_batches
from ottla.spark.log_table.byte_window import ByteWindow


class SoundBatch(NamedTuple):
    """A batch whose bytes are those that were written; ``error``: why its offsets are not to be believed, if so."""

    position: int
    batch: RecordBatch
    error: str | None = None


class DamagedBytes(NamedTuple):
    """Bytes that are no batch, up to where the walk goes on; ``base_offset`` is what they say, if that is possible."""

    position: int
    size_in_bytes: int
    reason: str
    base_offset: int | None


Found: TypeAlias = SoundBatch | DamagedBytes


class BatchWalk:
    """From ``start`` to ``stop`` of a file. A batch that begins before ``stop`` may end behind it, unless ``fixed``:
    then a batch is known to begin at ``stop``, which is a bound for damage too.
    """

    __slots__ = ("_bounds", "_expected_offset", "_fixed", "_start", "_stop", "_window", "_zeros_end")

    def __init__(
        self,
        window: ByteWindow,
        start: int,
        stop: int,
        bounds: BatchBounds,
        *,
        fixed: bool = False,
        zeros_end: bool = False,
        first_offset: int | None = None,
    ) -> None:
        """``zeros_end``: zeros to the end of the file are room that nobody has written to yet."""
        self._window = window
        self._start = start
        self._stop = stop
        self._bounds = bounds
        self._fixed = fixed
        self._zeros_end = zeros_end
        self._expected_offset = bounds.first_offset if first_offset is None else first_offset

    def __iter__(self) -> Iterator[Found]:
        position = self._start
        while position < min(self._stop, self._window.end):
            found = self._look_at(position)
            if isinstance(found, DamagedBytes):
                position += found.size_in_bytes
                if self._zeros_end and self._is_unused(found):
                    return
            else:
                position += found.batch.size_in_bytes
            yield found

    @property
    def _end(self) -> int:
        return self._stop if self._fixed else self._window.end

    def _look_at(self, position: int) -> Found:
        batch = self._window.header_at(position)
        room = self._end - position
        if batch is None or room < HEADER_BYTES:
            return DamagedBytes(position, room, f"torn: {room} bytes are fewer than a header's {HEADER_BYTES}", None)
        damage = self._bounds.frame_damage(batch, room)
        if damage is None:
            whole = self._window.batch_at(position, batch)
            if whole is not None and whole.is_crc_valid():
                return self._placed(position, whole)
            damage = "the CRC does not match"
            if whole is not None:
                damage = f"the CRC does not match: stored {whole.crc}, computed {whole.compute_crc()}"
        return self._damaged(position, batch, damage)

    def _placed(self, position: int, batch: RecordBatch) -> SoundBatch:
        following = None
        if batch.base_offset > self._expected_offset:
            following = self._next_header(position + batch.size_in_bytes)
        error = self._bounds.offset_damage(batch, self._expected_offset, following)
        if error is None:
            self._expected_offset = batch.next_offset
        return SoundBatch(position, batch, error)

    def _next_header(self, position: int) -> RecordBatch | None:
        """The header there or, behind damage, the next of a sound batch."""
        header = self._header_at(position)
        if header is None:
            for place in sound_batches(self._window, position, self._end, self._bounds):
                return self._window.header_at(place)
        return header

    def _header_at(self, position: int) -> RecordBatch | None:
        """The header there, if it can be one."""
        batch = self._window.header_at(position)
        return batch if batch is not None and self._bounds.is_plausible(batch, self._end - position) else None

    def _damaged(self, position: int, batch: RecordBatch, reason: str) -> DamagedBytes:
        frame_end = self._frame_end(position, batch)
        end = self._end if frame_end is None else frame_end
        resumed = end
        led_to = position
        for place in sound_batches(self._window, position + 1, end, self._bounds):
            if place < led_to:  # one of those that led nowhere
                continue
            led_to = end if frame_end is None else self._chain_end(place, end)
            if led_to == end:
                resumed = place
                break
        said = batch.base_offset
        is_possible = self._expected_offset <= said < self._bounds.end_offset
        return DamagedBytes(position, resumed - position, reason, said if is_possible else None)

    def _frame_end(self, position: int, batch: RecordBatch) -> int | None:
        """Where the damaged batch ends, if its length can be believed: another follows, or nothing."""
        end = position + batch.size_in_bytes
        if batch.size_in_bytes < HEADER_BYTES or end > self._end:
            return None
        return end if end == self._end or self._header_at(end) is not None else None

    def _chain_end(self, position: int, end: int) -> int:
        """How far sound batches follow each other from there on."""
        while position < end:
            header = self._window.header_at(position)
            if header is None or not self._bounds.is_plausible(header, end - position):
                break
            batch = self._window.batch_at(position, header)
            if batch is None or not batch.is_crc_valid():
                break
            position += header.size_in_bytes
        return position

    def _is_unused(self, damage: DamagedBytes) -> bool:
        end = damage.position + damage.size_in_bytes
        return end == self._window.end and self._window.is_zero(damage.position, end)
