"""The first record of a batch at or after a time, and at or after an offset.

That takes reading records, which the reactor does only up to a bound: see :mod:`ottla.records.inline_reading`. What is
beyond it a :class:`TimestampSearch` puts off, to be found elsewhere and told to it; the lookup is then made once more,
from its beginning, for the log may have changed.
"""

from collections.abc import Callable

from ottla.records.batch import RecordBatch
from ottla.records.inline_reading import InlineReading
from ottla.records.record import decode_records

Found = tuple[int, int] | None
"""A record's timestamp and offset; None where all are earlier."""
Search = Callable[[RecordBatch, int, int], Found]
"""How a lookup has a batch searched, by (batch, timestamp, starting_offset)."""


def first_record(batch: RecordBatch, timestamp: int, starting_offset: int, payload: bytes | None = None) -> Found:
    """Search here and now, however much there is to read: a :data:`Search`. Raises what ``decode_records`` raises."""
    for record in decode_records(batch, payload=payload):
        if record.timestamp >= timestamp and record.offset >= starting_offset:
            return record.timestamp, record.offset
    return None


def first_record_of_bytes(batch: bytes, timestamp: int, starting_offset: int) -> Found:
    """:func:`first_record` in another process."""
    return first_record(RecordBatch(batch), timestamp, starting_offset)


class SearchPutOff(Exception):  # noqa: N818 - no error: the lookup is to be made again, with what is found
    """The batch is more than can be read in place."""

    def __init__(self, batch: RecordBatch, timestamp: int, starting_offset: int) -> None:
        super().__init__(f"{batch} is to be read away from the reactor")
        self.batch = batch
        self.timestamp = timestamp
        self.starting_offset = starting_offset


class TimestampSearch:
    """The searches of one lookup. Each is made once, in place or elsewhere, however often the lookup is made again."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], Found] = {}
        """By the batch's base offset and CRC, and where the search starts."""

    def within(self, reading: InlineReading) -> Search:
        """A :data:`Search` that raises SearchPutOff for what is more than this turn has left."""

        def search(batch: RecordBatch, timestamp: int, starting_offset: int) -> Found:
            identity = (batch.base_offset, batch.crc, starting_offset)
            if identity not in self._known:
                payload = reading.payload(batch)
                if payload is None:
                    raise SearchPutOff(batch, timestamp, starting_offset)
                self._known[identity] = first_record(batch, timestamp, starting_offset, payload)
            return self._known[identity]

        return search

    def learn(self, put_off: SearchPutOff, found: Found) -> None:
        """What was put off has been read."""
        self._known[put_off.batch.base_offset, put_off.batch.crc, put_off.starting_offset] = found
