"""How many records may be read in one turn of the reactor, whatever they are read for.

Reading costs by what a batch decompresses to, which a few bytes decide. What is more than a moment's work is for a
worker process (``Runtime.compute``).
"""

from typing import Final

from ottla.common.errors import MessageTooLargeError
from ottla.records.batch import COMPRESSION_MASK, RecordBatch
from ottla.records.compression import decompress
from ottla.records.record import DECOMPRESSED_BYTES_MAX

INLINE_RECORDS_MAX: Final = 1_000
"""How many records are read in place: one takes about 1.5 µs."""
INLINE_BYTES_MAX: Final = 64 * 1024
"""How many bytes are decompressed or compressed in place: gzip takes 2 ms to compress them."""


class InlineReading:
    """What is left of a turn."""

    __slots__ = ("_bytes_left", "_records_left")

    def __init__(self) -> None:
        self._records_left = INLINE_RECORDS_MAX
        self._bytes_left = INLINE_BYTES_MAX

    @property
    def is_whole(self) -> bool:
        """Whether nothing is taken yet."""
        return self._records_left == INLINE_RECORDS_MAX and self._bytes_left == INLINE_BYTES_MAX

    def payload(
        self, batch: RecordBatch, *, max_bytes: int = DECOMPRESSED_BYTES_MAX, is_recompressed: bool = False
    ) -> bytes | None:
        """The batch's encoded records, decompressed; None, and nothing taken, where the turn has less left than that.

        Raises CorruptRecordError for what does not decompress, MessageTooLargeError past ``max_bytes``.
        """
        codec, room = batch.attributes & COMPRESSION_MASK, self._bytes_left
        is_coded = codec or is_recompressed
        if batch.records_count > self._records_left or (is_coded and len(batch.payload) > room):
            return None
        try:
            data = decompress(codec, batch.payload, min(room, max_bytes)) if codec else bytes(batch.payload)
        except MessageTooLargeError:
            if room >= max_bytes:
                raise
            return None
        self._records_left -= batch.records_count
        if is_coded:
            self._bytes_left -= len(data)
        return data
