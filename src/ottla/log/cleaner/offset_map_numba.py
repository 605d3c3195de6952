"""The offset map, compiled by numba: see :mod:`ottla.log.cleaner.offset_map` for what it does."""

import numpy as np

from ottla.common.errors import InvalidRecordError
from ottla.log.cleaner.offset_map import (
    NOT_FOUND,
    SLICE_RECORDS_MAX,
    FilteredRun,
    FilterRules,
    MappedRun,
    Retained,
)
from ottla.log.cleaner.runs_numba import OUTPUT_FACTOR, filter_run, put_run
from ottla.log.cleaner.table_numba import BYTES_PER_ENTRY, Words, hash_keys, mark_retained, put_keys, summarize
from ottla.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES, Buffer
from ottla.records.crc32c import crc32c
from ottla.records.walk_numba import (
    COLUMNS,
    COPY_GROWTH_BYTES,
    INVALID_STRUCTURE,
    Bytes,
    Rows,
    copy_records,
    walk_records,
)


class NumbaOffsetMap:
    """See :class:`ottla.log.cleaner.offset_map.OffsetMap`; nothing but the table grows with the number of keys."""

    def __init__(self, memory_bytes: int, secret: bytes) -> None:
        self.slots = min(memory_bytes // BYTES_PER_ENTRY, 2**31 - 1)
        self.latest_offset = NOT_FOUND
        self.size = 0
        self._table: Words = np.zeros((max(self.slots, 1), 3), np.uint64)
        self._secret: Words = np.frombuffer(secret, "<u8").astype(np.uint64)
        self._payload: Bytes = np.zeros(0, np.uint8)
        self._target: Bytes = np.zeros(0, np.uint8)
        self._written: Rows = np.zeros((0, 3), np.int64)
        self._count = 0
        self._bytes = 0
        self._rules: FilterRules | None = None
        self._last_data_offsets: Rows = np.zeros(0, np.int64)
        self._rows: Rows = np.zeros((SLICE_RECORDS_MAX, COLUMNS), np.int64)
        self._hashes: Words = np.zeros((SLICE_RECORDS_MAX, 2), np.uint64)
        self._keep: Bytes = np.zeros(SLICE_RECORDS_MAX, np.uint8)

    def walk(self, payload: Buffer, start: int, end: int, count: int) -> int:
        """Take up records."""
        self._count = 0
        self._payload = np.frombuffer(payload, np.uint8)
        position = walk_records(self._payload, start, end, count, self._rows)
        if position == INVALID_STRUCTURE:
            raise InvalidRecordError("Found invalid record structure")
        self._count = count
        self._bytes = position - start
        return position

    def put_keys(self, base_offset: int, start_offset: int, size_max: int) -> bool:
        """Map the walked records' keys; True if the map is full."""
        hash_keys(self._payload, self._rows, self._count, self._secret, self._hashes)
        full, self.size, latest_offset = put_keys(
            self._rows,
            self._hashes,
            self._count,
            self._table,
            base_offset,
            start_offset,
            self.size,
            min(size_max, self.slots),
        )
        if latest_offset >= 0:
            self.latest_offset = latest_offset
        return full

    def retain(self, base_offset: int, retain_tombstones: bool) -> Retained:
        """Decide which of the walked records stay."""
        hash_keys(self._payload, self._rows, self._count, self._secret, self._hashes)
        invalid = mark_retained(
            self._rows,
            self._hashes,
            self._count,
            self._table,
            base_offset,
            self.latest_offset,
            retain_tombstones,
            self._keep,
        )
        return self._summary(invalid)

    def retain_all(self) -> Retained:
        """Let all walked records stay."""
        self._keep[: self._count] = 1
        return self._summary(0)

    def copy_retained(self, timestamp_factor: int, timestamp_shift: int) -> memoryview:
        """The retained records, written again."""
        room = self._bytes + self._count * COPY_GROWTH_BYTES
        if room > len(self._target):
            self._target = np.zeros(room * 2, np.uint8)
        size = copy_records(
            self._payload, self._rows, self._keep, self._count, timestamp_factor, timestamp_shift, self._target
        )
        return self._target.data[:size]

    def _summary(self, invalid: int) -> Retained:
        count, has_tombstones, first_delta, max_delta = summarize(self._rows, self._count, self._keep)
        return Retained(count, invalid, has_tombstones, first_delta, max_delta)

    def put_run(self, chunk: Buffer, position: int, start_offset: int, size_max: int) -> MappedRun:
        """Map the keys of a run of plain batches in one call."""
        position, self.size, self.latest_offset, records_count, full = put_run(
            np.frombuffer(chunk, np.uint8),
            position,
            self._rows,
            self._hashes,
            self._table,
            self._secret,
            start_offset,
            self.size,
            min(size_max, self.slots),
            self.latest_offset,
        )
        return MappedRun(position, records_count, full)

    def filter_run(self, chunk: Buffer, position: int, rules: FilterRules) -> FilteredRun:
        """Filter a run of plain batches in one call, and renew the CRCs."""
        room = (len(chunk) - position) * OUTPUT_FACTOR
        if room > len(self._target):
            self._target = np.zeros(room, np.uint8)
            self._written = np.zeros((room // OUTPUT_FACTOR // HEADER_BYTES + 1, 3), np.int64)
        if rules is not self._rules:
            self._rules = rules
            self._last_data_offsets = np.array(rules.last_data_offsets, np.int64)
        position, size, batches, messages_read, messages_written, invalid = filter_run(
            np.frombuffer(chunk, np.uint8),
            position,
            self._rows,
            self._hashes,
            self._keep,
            self._table,
            self._secret,
            self.latest_offset,
            self._last_data_offsets,
            rules.upper_bound_offset,
            rules.now_ms,
            rules.delete_retention_ms,
            self._target,
            self._written,
        )
        data = bytearray(self._target.data[:size])
        view = memoryview(data)
        starts = []
        for start, end, rewritten in self._written[:batches].tolist():
            starts.append(start)
            if rewritten:
                crc = crc32c(view[start + ATTRIBUTES_POSITION : end])
                data[start + CRC_POSITION : start + ATTRIBUTES_POSITION] = crc.to_bytes(4, "big")
        return FilteredRun(position, data, starts, messages_read, messages_written, invalid)
