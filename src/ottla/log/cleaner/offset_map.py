"""The offset map: the latest offset of each key in the dirty part of a log, in bounded memory.

Keys are held as keyed 128-bit hashes under a secret that is new with each cleaning, so that nobody can craft keys that
collide. A batch is walked slice by slice (:class:`BatchWalk`). The map takes up a slice's keys (``put_keys``), or says
which of its records stay (``retain``) and writes them again (``copy_retained``). The compiled map does each in one
call, with no Python object a record. It can also do runs of batches in one call (``put_run``, ``filter_run``), where
nothing is left for Python to decide. Both maps give the same answers as long as both have room.
"""

import logging
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from ottla.common.errors import InvalidRecordError
from ottla.records.batch import HEADER_BYTES, Buffer, RecordBatch
from ottla.records.record import records_payload
from ottla.records.walk import RecordSpan, copy_records, walk_records

_logger = logging.getLogger(__name__)

NOT_FOUND: Final = -1
SECRET_BYTES: Final = 16
HASH_BYTES: Final = 16

SLICE_RECORDS_MAX: Final = 16 * 1024
"""How many records are in work at once: the plain map takes 500 bytes for one, and a batch may hold millions."""

PLAIN_BYTES_PER_ENTRY: Final = 192
"""64 for the digest, 32 for the offset, and 90 for the dict just when it grows."""


class Retained(NamedTuple):
    """What ``retain`` decided about a slice; the deltas are of retained records and 0 if there are none."""

    records_count: int
    invalid: int
    """Records without a key, which a compacted topic cannot keep."""
    has_tombstones: bool
    first_timestamp_delta: int
    max_timestamp_delta: int

    def followed_by(self, after: "Retained") -> "Retained":
        """The decision about both slices."""
        if not (self.records_count and after.records_count):
            some = self if self.records_count else after
            return some._replace(invalid=self.invalid + after.invalid)
        return Retained(
            self.records_count + after.records_count,
            self.invalid + after.invalid,
            self.has_tombstones or after.has_tombstones,
            self.first_timestamp_delta,
            max(self.max_timestamp_delta, after.max_timestamp_delta),
        )


class MappedRun(NamedTuple):
    """How far ``put_run`` came: to the first batch that it leaves to the caller, or that filled the map."""

    position: int
    records_count: int
    full: bool


class FilterRules(NamedTuple):
    """What ``filter_run`` goes by besides the map."""

    last_data_offsets: tuple[int, ...]
    """Sorted: the last data offsets of active producers, whose batches stay, if only as headers."""
    upper_bound_offset: int
    now_ms: int
    delete_retention_ms: int


class FilteredRun(NamedTuple):
    """How far ``filter_run`` came, and what it kept: batches in ``data`` that begin at ``starts``."""

    position: int
    data: Buffer
    starts: list[int]
    messages_read: int
    messages_written: int
    invalid: int


class OffsetMap(Protocol):
    """Key → latest offset, for at most ``slots`` keys, and the walked records in work."""

    slots: int
    latest_offset: int
    """The highest offset that the map speaks for: records above it are not looked at."""

    @property
    def size(self) -> int:
        """How many keys it holds."""

    def walk(self, payload: Buffer, start: int, end: int, count: int) -> int:
        """Take up the first ``count`` uncompressed records in ``payload[start:end]``, in place of those before.

        At most SLICE_RECORDS_MAX of them; returns the position after the last. Raises InvalidRecordError if they are
        not there.
        """

    def put_keys(self, base_offset: int, start_offset: int, size_max: int) -> bool:
        """Map the keys of the walked records at or above ``start_offset``; True if ``size_max`` stopped it midway.

        ``latest_offset`` follows each record put.
        """

    def retain(self, base_offset: int, retain_tombstones: bool) -> Retained:
        """Decide on the walked records: the latest of its key stays, unless it is a tombstone that may go."""

    def retain_all(self) -> Retained:
        """Decide that all walked records stay."""

    def copy_retained(self, timestamp_factor: int, timestamp_shift: int) -> Buffer:
        """The retained records, written again; see :func:`ottla.records.walk.copy_records`.

        What it returns is overwritten by the next call.
        """

    def put_run(self, chunk: Buffer, position: int, start_offset: int, size_max: int) -> MappedRun:
        """Map the keys of batches from ``position`` on, as many as can be done together; that may be none.

        ``chunk`` ends with a whole batch. ``latest_offset`` follows the batches.
        """

    def filter_run(self, chunk: Buffer, position: int, rules: FilterRules) -> FilteredRun:
        """Filter batches from ``position`` on, as many as can be done together; that may be none."""


class PlainOffsetMap:
    """An offset map in a dict; it needs nothing but Python, and more memory an entry."""

    def __init__(self, memory_bytes: int, secret: bytes) -> None:
        self.slots = memory_bytes // PLAIN_BYTES_PER_ENTRY
        self.latest_offset = -1
        self._hasher = blake2b(digest_size=HASH_BYTES, key=secret)
        self._offsets: dict[bytes, int] = {}
        self._payload: Buffer = b""
        self._spans: list[RecordSpan] = []
        self._retained: list[RecordSpan] = []

    @property
    def size(self) -> int:
        """How many keys it holds."""
        return len(self._offsets)

    def walk(self, payload: Buffer, start: int, end: int, count: int) -> int:
        """Take up records."""
        self._payload = payload
        self._spans = spans = walk_records(payload, start, end, count)
        return spans[-1].end if spans else start

    def put_keys(self, base_offset: int, start_offset: int, size_max: int) -> bool:
        """Map the walked records' keys; True if the map is full."""
        offsets = self._offsets
        for span in self._spans:
            offset = base_offset + span.offset_delta
            if span.key_length >= 0 and offset >= start_offset:
                if len(offsets) >= size_max:
                    return True
                offsets[self._digest(span)] = offset
                self.latest_offset = offset
        return False

    def retain(self, base_offset: int, retain_tombstones: bool) -> Retained:
        """Decide which of the walked records stay."""
        invalid = 0
        retained = self._retained = []
        for span in self._spans:
            offset = base_offset + span.offset_delta
            if offset > self.latest_offset:
                retained.append(span)
            elif span.key_length < 0:
                invalid += 1
            elif (span.value_length >= 0 or retain_tombstones) and offset >= self._offsets.get(
                self._digest(span), NOT_FOUND
            ):
                retained.append(span)
        return self._summary(invalid)

    def retain_all(self) -> Retained:
        """Let all walked records stay."""
        self._retained = self._spans
        return self._summary(0)

    def copy_retained(self, timestamp_factor: int, timestamp_shift: int) -> bytearray:
        """The retained records, written again."""
        return copy_records(self._payload, self._retained, timestamp_factor, timestamp_shift)

    def put_run(self, chunk: Buffer, position: int, start_offset: int, size_max: int) -> MappedRun:  # noqa: ARG002
        """Leave all to the caller: in Python nothing is gained."""
        return MappedRun(position, 0, False)

    def filter_run(self, chunk: Buffer, position: int, rules: FilterRules) -> FilteredRun:  # noqa: ARG002
        """Leave all to the caller."""
        return FilteredRun(position, b"", [], 0, 0, 0)

    def _summary(self, invalid: int) -> Retained:
        retained = self._retained
        return Retained(
            records_count=len(retained),
            invalid=invalid,
            has_tombstones=any(span.value_length < 0 for span in retained),
            first_timestamp_delta=retained[0].timestamp_delta if retained else 0,
            max_timestamp_delta=max((span.timestamp_delta for span in retained), default=0),
        )

    def _digest(self, span: RecordSpan) -> bytes:
        hasher = self._hasher.copy()
        hasher.update(memoryview(self._payload)[span.key : span.key + span.key_length])
        return hasher.digest()


def new_offset_map(memory_bytes: int, secret: bytes, *, compiled: bool | None = None) -> OffsetMap:
    """An empty map within ``memory_bytes``: compiled if numba can be loaded, or as told; else plain."""
    if compiled is not False:
        try:
            from ottla.log.cleaner.offset_map_numba import NumbaOffsetMap
        except ImportError as error:
            if compiled:
                raise
            _logger.debug("Cleaning without numba, which would be faster: %s", error)
        else:
            return NumbaOffsetMap(memory_bytes, secret)
    return PlainOffsetMap(memory_bytes, secret)


class BatchWalk:
    """A batch's records, decompressed if need be, for a map to take up slice by slice."""

    __slots__ = ("_count", "_end", "_payload", "_start")

    def __init__(self, batch: RecordBatch) -> None:
        self._count = batch.records_count
        if batch.compression:
            self._payload: Buffer = records_payload(batch)
            self._start, self._end = 0, len(self._payload)
        else:
            self._payload = batch.buffer
            self._start, self._end = batch.position + HEADER_BYTES, batch.position + batch.size_in_bytes

    @property
    def is_one_slice(self) -> bool:
        """Whether the map has all records at once."""
        return self._count <= SLICE_RECORDS_MAX

    def slices(self, offset_map: OffsetMap) -> Iterator[None]:
        """Have the map walk one slice after the other; each time, something can be asked of it.

        Raises InvalidRecordError where the batch does not consist of as many records as its header says.
        """
        position, left = self._start, self._count
        while left > 0:
            count = min(left, SLICE_RECORDS_MAX)
            position = offset_map.walk(self._payload, position, self._end, count)
            left -= count
            if not left and position != self._end:
                raise InvalidRecordError("Incorrect declared batch size, records still remaining in file")
            yield
