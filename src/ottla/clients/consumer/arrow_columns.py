"""Arrow batches straight from raw batches: no Python object a row. Needs pyarrow and numba (``ottla[fast]``)."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.clients.consumer.arrow_arrays import (
    Bytes,
    binary_array,
    headers_array,
    number_array,
    partition_array,
    text_array,
    timestamp_array,
    topic_array,
)
from ottla.clients.consumer.arrow_schema import ALL_PARTS, Layout, Part
from ottla.clients.consumer.completed_fetch import NO_END, CompletedFetch, Run
from ottla.common.errors import InvalidRecordError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import ATTRIBUTES_POSITION, COMPRESSION_MASK, HEADER_BYTES, Buffer, RecordBatch, TimestampType
from ottla.records.builder import build_batch
from ottla.records.columns_numba import (
    APPEND_TIME,
    BATCH_COLUMNS,
    BATCH_END_OFFSET,
    CODEC,
    COUNT,
    CRC,
    CURSOR_SIZE,
    EPOCH,
    HEADER_COUNT,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADERS,
    KEY,
    KEY_BYTES,
    NEXT_OFFSET,
    NO_APPEND_TIME,
    OFFSET,
    PAYLOAD_END,
    PAYLOAD_START,
    POSITION,
    READ,
    ROWS,
    SIZE,
    START,
    TIMESTAMP,
    VALUE,
    VALUE_BYTES,
    WANT_HEADERS,
    WANT_KEYS,
    WANT_VALUES,
    fill_columns,
    fill_headers,
    fill_run,
    scan_batches,
)
from ottla.records.compression import decompress
from ottla.records.crc32c import crc32c
from ottla.records.record import DECOMPRESSED_BYTES_MAX, Header, SimpleRecord, records_payload
from ottla.runtime.compiler_code import release_compiler_code

_ROWS_MIN: Final = 1024
_RUN_MAX: Final = 4096
"""How many batches are read at once at most."""
_RUN_BYTES_MAX: Final = 2 * 1024 * 1024
"""So many bytes of batches are read at once at most; larger batches one by one."""
_COMPRESSED_RUN_BYTES_MAX: Final = 256 * 1024
_DECOMPRESSED_RUN_BYTES_MAX: Final = 2 * 1024 * 1024
"""No further batch is decompressed for a run with so many bytes: they are copied once more, while they are cached."""
_CODEC_POSITION: Final = ATTRIBUTES_POSITION + 1


_Columns = tuple[NDArray[np.int64], NDArray[np.int32], Bytes, Bytes, Bytes, NDArray[np.int64]]


class ColumnBuilder:
    """Rows of one partition, appended batch by batch; ``finish`` makes the RecordBatch. See RowBuilder."""

    __slots__ = (
        "_cursor",
        "_ends",
        "_header_ends",
        "_header_keys",
        "_header_starts",
        "_header_valid",
        "_header_values",
        "_keys",
        "_layout",
        "_max_rows",
        "_numbers",
        "_partition",
        "_types",
        "_valid",
        "_values",
        "_wanted",
    )

    def __init__(self, partition: TopicPartition, max_rows: int, bytes_hint: int, layout: Layout = ALL_PARTS) -> None:
        """``bytes_hint``: how many bytes of records will come, as far as that is known."""
        rows = min(max_rows, max(_ROWS_MIN, bytes_hint // 8))
        self._partition = partition
        self._max_rows = max_rows
        self._layout = layout
        self._wanted = WANT_KEYS * layout.has_keys | WANT_VALUES * layout.has_values | WANT_HEADERS * layout.has_headers
        self._cursor = np.zeros(CURSOR_SIZE, np.int64)
        self._numbers = np.empty((2, rows), np.int64)
        self._ends = np.zeros((3, rows + 1), np.int32)
        self._valid = np.empty((2, rows), np.uint8)
        self._header_starts = np.empty((2, rows), np.int64)
        self._keys = np.empty(0, np.uint8)
        self._values = np.empty(0, np.uint8)
        self._header_ends = np.zeros((2, 1), np.int32)
        self._header_valid = np.empty(0, np.uint8)
        self._header_keys = np.empty(0, np.uint8)
        self._header_values = np.empty(0, np.uint8)
        self._types: list[tuple[int, TimestampType]] = []

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._cursor[ROWS])

    @property
    def size_in_bytes(self) -> int:
        """How many bytes of keys and values there are."""
        return int(self._cursor[KEY_BYTES] + self._cursor[VALUE_BYTES])

    def append(self, batch: RecordBatch, first_offset: int, until_offset: int = NO_END) -> tuple[int, int | None]:
        """Append the batch's records from this offset on, and before that one, as far as they fit.

        Gives back how many, and the offset to go on at, or None if that was all of them. Raises what
        ``decode_records`` raises, and has appended nothing then.
        """
        payload, start, end = self._open(batch)
        cursor, count = self._cursor, batch.records_count
        before = cursor.copy()
        first_row = int(before[ROWS])
        self._reserve(first_row + min(count, self._max_rows - first_row), end - start)
        append_time = batch.max_timestamp if batch.is_log_append_time else NO_APPEND_TIME
        base = np.array((batch.base_offset, batch.base_timestamp, append_time, first_offset, until_offset), np.int64)
        cursor[READ], cursor[POSITION], cursor[NEXT_OFFSET] = 0, start, first_offset
        status = fill_columns(payload, end, count, base, self._max_rows, self._wanted, *self._columns(), cursor)
        if not status and cursor[HEADERS] > before[HEADERS]:
            status = self._append_headers(payload, first_row, end - start)
        if status:
            cursor[:] = before
            raise InvalidRecordError("Found invalid record structure: lengths do not add up")
        rows = int(cursor[ROWS]) - first_row
        self._note_type(first_row, batch.timestamp_type)
        return rows, None if cursor[READ] == count else int(cursor[NEXT_OFFSET])

    def append_run(self, fetch: CompletedFetch, rows_enough: int) -> int:
        """Append the batches that come next and can be read together; how many rows that were.

        It ends where there are ``rows_enough`` in all, and where a batch is damaged, which ``append`` has words for.
        """
        run = fetch.next_run()
        if run is None:
            return 0
        cursor, first_row = self._cursor, self.rows
        payload = _view(run.buffer)
        end = _end_of(run)
        found = np.empty((min(_RUN_MAX, (end - run.position) // HEADER_BYTES), BATCH_COLUMNS), np.int64)
        enough, room = rows_enough - first_row, self._max_rows - first_row
        count = scan_batches(payload, run.position, end, enough, room, run.with_transactions, found)
        if count and found[0, CODEC]:
            payload, count = _decompressed(run, found[:count])
        elif run.check_crcs:
            count = _undamaged(memoryview(run.buffer), found[:count, (START, SIZE, CRC)].tolist())
        if not count:
            return 0
        more_bytes = int(found[count - 1, PAYLOAD_END] - found[0, PAYLOAD_START])
        self._reserve(first_row + int(found[:count, COUNT].sum()), more_bytes)
        before = cursor.copy()
        first, until = fetch.next_offset, fetch.until_offset
        count = fill_run(payload, found, count, first, until, self._max_rows, self._wanted, *self._columns(), cursor)
        if count and cursor[HEADERS] > before[HEADERS] and self._append_headers(payload, first_row, more_bytes):
            count = 0
        if not count:
            cursor[:] = before
            return 0
        self._note_types(found[:count], first_row)
        last = found[count - 1]
        rows = self.rows - first_row
        fetch.pass_run(int(last[START] + last[SIZE]), int(last[BATCH_END_OFFSET]), int(last[EPOCH]), rows)
        return rows

    def _columns(self) -> _Columns:
        return self._numbers, self._ends, self._valid, self._keys, self._values, self._header_starts

    def _note_types(self, batches: NDArray[np.int64], first_row: int) -> None:
        """Which rows have whose timestamps; batches with the broker's are told by their time of append."""
        is_append_time = batches[:, APPEND_TIME] != NO_APPEND_TIME
        if not is_append_time.any():
            self._note_type(first_row, TimestampType.CREATE_TIME)
            return
        ends = np.searchsorted(self._numbers[OFFSET, : self.rows], batches[:, BATCH_END_OFFSET])
        for flag, end in zip(is_append_time.tolist(), ends.tolist(), strict=True):
            self._note_type(first_row, TimestampType(flag))
            first_row = end

    def _note_type(self, first_row: int, timestamp_type: TimestampType) -> None:
        if not self._types or self._types[-1][1] is not timestamp_type:
            self._types.append((first_row, timestamp_type))

    def _open(self, batch: RecordBatch) -> tuple[Bytes, int, int]:
        """The records' bytes, and where they begin and end in them."""
        if batch.compression == 0:
            batch.ensure_complete()
            return _view(batch.buffer), batch.position + HEADER_BYTES, batch.position + batch.size_in_bytes
        payload = _view(records_payload(batch))
        return payload, 0, len(payload)

    def _reserve(self, rows: int, more_bytes: int) -> None:
        """See that so many rows, and so many bytes more, fit."""
        if rows > self._numbers.shape[1]:
            rows = min(self._max_rows, rows * 2)
            self._numbers = _grown(self._numbers, rows)
            self._ends = _grown(self._ends, rows + 1)
            self._valid = _grown(self._valid, rows)
            self._header_starts = _grown(self._header_starts, rows)
        if self._wanted & WANT_KEYS:
            self._keys = _with_room(self._keys, int(self._cursor[KEY_BYTES]), more_bytes)
        if self._wanted & WANT_VALUES:
            self._values = _with_room(self._values, int(self._cursor[VALUE_BYTES]), more_bytes)

    def _append_headers(self, payload: Bytes, first_row: int, more_bytes: int) -> int:
        cursor = self._cursor
        headers = int(cursor[HEADERS])
        if headers > len(self._header_valid):
            self._header_valid = _grown(self._header_valid[np.newaxis], headers * 2)[0]
            self._header_ends = _grown(self._header_ends, headers * 2 + 1)
        self._header_keys = _with_room(self._header_keys, int(cursor[HEADER_KEY_BYTES]), more_bytes)
        self._header_values = _with_room(self._header_values, int(cursor[HEADER_VALUE_BYTES]), more_bytes)
        columns = (self._header_ends, self._header_valid, self._header_keys, self._header_values)
        last_row = int(cursor[ROWS])
        return fill_headers(payload, first_row, last_row, self._header_starts, self._ends, *columns, cursor)

    def finish(self) -> "pa.RecordBatch":
        """All rows as Arrow."""
        rows = self.rows
        arrays = [self._column(part, field, rows) for part, field in self._layout.fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self._layout.schema)

    def _column(self, part: Part, field: "pa.Field", rows: int) -> "pa.Array":
        match part:
            case Part.TOPIC:
                return topic_array(self._partition, rows, field)
            case Part.PARTITION:
                return partition_array(self._partition, rows, field)
            case Part.OFFSET:
                return number_array(self._numbers[OFFSET, :rows], field.type)
            case Part.TIMESTAMP:
                return timestamp_array(self._numbers[TIMESTAMP, :rows], field)
            case Part.TIMESTAMP_TYPE:
                return self._timestamp_types(rows, field)
            case Part.KEY:
                return binary_array(self._ends[KEY], self._valid[KEY], self._keys, rows)
            case Part.VALUE:
                return binary_array(self._ends[VALUE], self._valid[VALUE], self._values, rows)
            case Part.HEADERS:
                count = int(self._cursor[HEADERS])
                keys = text_array(self._header_ends[KEY], self._header_keys, count)
                values = binary_array(self._header_ends[VALUE], self._header_valid, self._header_values, count)
                return headers_array(self._ends[HEADER_COUNT], keys, values, rows, field)

    def _timestamp_types(self, rows: int, field: "pa.Field") -> "pa.Array":
        types = np.empty(rows, field.type.to_pandas_dtype())
        for first_row, timestamp_type in self._types:
            types[first_row:] = timestamp_type
        return number_array(types, field.type)


def _view(data: Buffer) -> Bytes:
    """Bytes as an array that nobody writes to: of one type, whatever they are, so that everything is compiled once."""
    view = np.frombuffer(data, np.uint8)
    view.flags.writeable = False
    return view


def compile_all() -> None:
    """Have numba compile, or load, what a builder calls: seconds the first time, unless it finds its cache."""
    builder = ColumnBuilder(TopicPartition("", 0), 4, 0)
    raw = bytes(build_batch([SimpleRecord(0, None, None, (Header("", None),))] * 2))
    builder.append_run(CompletedFetch(TopicPartition("", 0), 0, raw), 2)
    builder.append(RecordBatch(raw), 0)
    assert builder.finish().num_rows == 4
    release_compiler_code()


def _end_of(run: Run) -> int:
    """How far batches are read at once."""
    has_batch = run.end - run.position >= HEADER_BYTES
    is_compressed = has_batch and run.buffer[run.position + _CODEC_POSITION] & COMPRESSION_MASK
    return min(run.end, run.position + (_COMPRESSED_RUN_BYTES_MAX if is_compressed else _RUN_BYTES_MAX))


def _undamaged(buffer: memoryview, batches: list[list[int]]) -> int:
    """How many batches, from the first on, have the bytes that their checksums are of."""
    for index, (start, size, crc) in enumerate(batches):
        if crc32c(buffer[start + ATTRIBUTES_POSITION : start + size]) != crc:
            return index
    return len(batches)


def _decompressed(run: Run, batches: NDArray[np.int64]) -> tuple[Bytes, int]:
    """The records of batches of one codec side by side, as many as are good; their places are noted in ``batches``."""
    buffer, codec = memoryview(run.buffer), int(batches[0, CODEC])
    parts: list[bytes] = []
    size_in_bytes = 0
    for start, size, crc in batches[:, (START, SIZE, CRC)].tolist():
        if run.check_crcs and crc32c(buffer[start + ATTRIBUTES_POSITION : start + size]) != crc:
            break
        try:
            parts.append(decompress(codec, buffer[start + HEADER_BYTES : start + size], DECOMPRESSED_BYTES_MAX))
        except KafkaError:
            break  # ``append`` has words for it
        size_in_bytes += len(parts[-1])
        if size_in_bytes >= _DECOMPRESSED_RUN_BYTES_MAX:
            break
    count = len(parts)
    ends = np.cumsum([len(part) for part in parts])
    batches[:count, PAYLOAD_END] = ends
    batches[:count, PAYLOAD_START] = ends - [len(part) for part in parts]
    return _view(b"".join(parts)), count


def _grown(columns: NDArray[Any], width: int) -> NDArray[Any]:
    """The same columns with room for more."""
    larger = np.zeros((columns.shape[0], width), columns.dtype)
    larger[:, : columns.shape[1]] = columns
    return larger


def _with_room(data: Bytes, used: int, more: int) -> Bytes:
    """The same bytes with room for ``more``."""
    if used + more <= len(data):
        return data
    larger = np.empty((used + more) * 3 // 2 if used else more, np.uint8)
    larger[:used] = data[:used]
    return larger
