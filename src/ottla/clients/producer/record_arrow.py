"""Arrow tables into chunks of records, without an object a row where the compiled code is loaded. Needs pyarrow.

Columns are read where they lie: a slice keeps its buffers and has an offset into them.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from ottla.clients.producer.batch_record import NAMES, BatchRecord
from ottla.clients.producer.record_chunk import RecordChunk, RowChunk
from ottla.clients.producer.record_fields import as_headers
from ottla.records.record import Header

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ottla.clients.producer.record_columns import BytesColumn

_IGNORED: Final = frozenset(("topic", "offset", "timestamp_type"))
"""Columns that a consumer's batches have, which mean nothing here: those batches can be sent on as they are."""
_HEADER_FIELDS: Final = ("key", "value")
_TIMESTAMP: Final = pa.timestamp("ms")


def is_table(records: object) -> bool:
    """Whether this is a Table or a RecordBatch."""
    return isinstance(records, pa.Table | pa.RecordBatch)


def as_table(records: Any) -> pa.Table:
    """The columns that count, in the types that this reads; TypeError or ValueError if they are not what they must be.

    Views and other sizes of numbers are cast; bytes and strings stay where they are.
    """
    table = pa.Table.from_batches([records]) if isinstance(records, pa.RecordBatch) else records
    names = [name for name in table.column_names if name not in _IGNORED]
    unknown = [name for name in names if name not in NAMES]
    if unknown or len(set(names)) < len(names):
        raise ValueError(f"A table for send_batch has columns of {', '.join(NAMES)}, but this one has {names}")
    if not names:
        raise ValueError("A table for send_batch has at least a column of values or keys")
    return pa.table({name: _READERS[name](name, table.column(name)) for name in names})


def slices(table: pa.Table, rows_max: Callable[[], int], bytes_max: int) -> Iterator[pa.RecordBatch]:
    """Consecutive rows, so many or so many bytes at most, as far as they are of about the same size."""
    first = 0
    rows_in_bytes = bytes_max * table.num_rows // max(1, table.nbytes)
    while first < table.num_rows:
        rows = max(1, min(rows_max(), rows_in_bytes))
        # Combining copies what comes in several pieces, one slice at a time.
        yield from table.slice(first, rows).combine_chunks().to_batches()
        first += rows


def records_of(batch: pa.RecordBatch) -> Iterator[BatchRecord]:
    """The rows one by one."""
    none: list[Any] = [None] * batch.num_rows
    columns = {name: _objects(batch, name) for name in batch.schema.names}
    for key, value, timestamp_ms, partition, headers in zip(*(columns.get(name, none) for name in NAMES), strict=True):
        yield BatchRecord(value, key, _headers(headers), partition, timestamp_ms)


def plain_chunk(batch: pa.RecordBatch, now_ms: int, partition: int) -> RecordChunk:
    """The same as ``column_chunk``, by way of Python's objects."""
    defaults = {"timestamp": now_ms, "partition": partition}
    count = batch.num_rows

    def column(name: str) -> list[Any]:
        return _objects(batch, name) if name in batch.schema.names else [defaults.get(name)] * count

    headers = [as_headers(_headers(row)) for row in column("headers")] if "headers" in batch.schema.names else None
    return RowChunk(
        column("key"),
        column("value"),
        _filled(column("timestamp"), now_ms),
        _filled(column("partition"), partition),
        headers,
    )


def column_chunk(batch: pa.RecordBatch, now_ms: int, partition: int) -> RecordChunk:
    """The rows as columns, for compiled code; what they leave out is ``now_ms`` and ``partition``."""
    import numpy as np

    from ottla.clients.producer.record_columns import NULL, ColumnChunk, constant_column

    count = batch.num_rows
    columns = {name: batch.column(name) for name in batch.schema.names}

    def numbers(name: str, default: int, dtype: Any) -> Any:
        if name not in columns:
            return np.full(count, default, dtype)
        filled = pc.fill_null(columns[name], default)
        return np.frombuffer(filled.buffers()[1], dtype)[filled.offset : filled.offset + count].copy()

    def bytes_of(name: str) -> "BytesColumn":
        return _bytes_column(columns[name]) if name in columns else constant_column(count, NULL)

    return ColumnChunk(
        bytes_of("key"),
        bytes_of("value"),
        numbers("timestamp", now_ms, np.int64),
        numbers("partition", partition, np.int32),
        _header_column(columns["headers"]) if "headers" in columns else constant_column(count, 0),
    )


def _bytes_column(array: Any) -> "BytesColumn":
    import numpy as np

    from ottla.clients.producer.record_columns import NULL, BytesColumn, constant_column, read_only

    kind, count = array.type, len(array)
    if pa.types.is_null(kind) or not count:
        return constant_column(count, NULL)
    if pa.types.is_dictionary(kind):
        data, starts, lengths = _bytes_column(array.dictionary)
        indices = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
        if not len(starts):
            return constant_column(count, NULL)
        column = BytesColumn(data, np.take(starts, indices), np.take(lengths, indices))
    elif pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        rows = np.arange(array.offset, array.offset + count, dtype=np.int64)
        column = BytesColumn(read_only(array.buffers()[1]), rows * width, np.full(count, width, np.int64))
    else:
        wide = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
        ends = _ends(array, is_wide=wide)
        column = BytesColumn(read_only(array.buffers()[2]), ends[:-1].copy(), np.diff(ends))
    if array.null_count:
        column.lengths[pc.is_null(array).to_numpy(zero_copy_only=False)] = NULL
    return column


def _ends(array: Any, *, is_wide: bool) -> "NDArray[np.int64]":
    """Where each row of bytes, or of a list, begins, and where the last ends."""
    import numpy as np

    ends: NDArray[Any] = np.frombuffer(array.buffers()[1], np.int64 if is_wide else np.int32)
    return ends[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _header_column(array: Any) -> "BytesColumn":
    """Headers, encoded: a column like the others."""
    import numpy as np

    from ottla.clients.producer import record_kernels as kernels
    from ottla.clients.producer.record_columns import NULL, BytesColumn, constant_column, read_only

    count = len(array)
    if pa.types.is_null(array.type):
        return constant_column(count, 0)
    ends = _ends(array, is_wide=pa.types.is_large_list(array.type))
    items = array.values.slice(int(ends[0]), int(ends[-1] - ends[0]))
    firsts, counts = ends[:-1] - ends[0], np.diff(ends)
    if array.null_count:  # a null may have items beneath it
        counts[pc.is_null(array).to_numpy(zero_copy_only=False)] = 0
    keys, values = (_bytes_column(items.field(index)) for index in range(2))
    if items.null_count:
        keys.lengths[pc.is_null(items).to_numpy(zero_copy_only=False)] = NULL
    sizes = np.empty(count, np.int64)
    total = kernels.size_of_headers(firsts, counts, keys.lengths, values.lengths, sizes)
    if total < 0:
        raise ValueError("A header needs a key")
    encoded = np.empty(total, np.uint8)
    kernels.encode_headers(firsts, counts, *keys, *values, encoded)
    starts = np.zeros(count, np.int64)
    np.cumsum(sizes[:-1], out=starts[1:])
    return BytesColumn(read_only(encoded), starts, sizes)


# What a column may be


def _is_bytes(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_string(kind)
        or types.is_large_binary(kind)
        or types.is_large_string(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_null(kind)
    )


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _read_bytes(name: str, column: Any) -> Any:
    if pa.types.is_binary_view(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.large_binary())
    if not _is_bytes(column.type):
        raise TypeError(f"A column of {name}s is of bytes or strings, not of {column.type}")
    return column


def _read_timestamps(name: str, column: Any) -> Any:  # noqa: ARG001  the table's signature
    if pa.types.is_timestamp(column.type):
        column = column.cast(_TIMESTAMP, safe=False)
    elif not pa.types.is_integer(column.type) and not pa.types.is_null(column.type):
        raise TypeError(f"A column of timestamps is of those or of milliseconds as integers, not of {column.type}")
    return _not_negative("timestamp", column.cast(pa.int64()))


def _read_partitions(name: str, column: Any) -> Any:  # noqa: ARG001
    if not pa.types.is_integer(column.type) and not pa.types.is_null(column.type):
        raise TypeError(f"A column of partitions is of integers, not of {column.type}")
    return _not_negative("partition", column.cast(pa.int32()))


def _not_negative(name: str, column: Any) -> Any:
    least = pc.min(column).as_py()
    if least is not None and least < 0:
        row = pc.index(column, least).as_py()
        raise ValueError(f"Invalid {name} in row {row}: {least}. It must not be negative.")
    return column


def _read_headers(name: str, column: Any) -> Any:  # noqa: ARG001
    kind = column.type
    if pa.types.is_null(kind):
        return column
    if pa.types.is_map(kind):
        fields: Any = (kind.key_type, kind.item_type)
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and pa.types.is_struct(kind.value_type):
        item = kind.value_type
        names = tuple(item.field(index).name for index in range(item.num_fields))
        fields = tuple(item.field(index).type for index in range(item.num_fields)) if names == _HEADER_FIELDS else ()
    else:
        fields = ()
    if len(fields) != 2 or not _is_string(fields[0]) or not _is_bytes(fields[1]):
        raise TypeError(f"A column of headers is of maps, or lists of structs of key and value, not of {kind}")
    return column


_READERS: Final = {
    "key": _read_bytes,
    "value": _read_bytes,
    "timestamp": _read_timestamps,
    "partition": _read_partitions,
    "headers": _read_headers,
}


def _objects(batch: pa.RecordBatch, name: str) -> list[Any]:
    """A column as Python has it, strings as bytes."""
    column = batch.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    found = column.to_pylist()
    return list(map(_as_bytes, found)) if _is_string(kind) else found


def _filled(numbers: list[int | None], default: int) -> list[int]:
    return [default if number is None else number for number in numbers]


def _as_bytes(data: Any) -> bytes | None:
    return data.encode() if isinstance(data, str) else data


def _headers(row: Any) -> tuple[Header, ...]:
    """A row of a list of structs, or of a map, as Python has it."""
    found = []
    for item in row or ():
        key, value = (None, None) if item is None else item if isinstance(item, tuple) else item.values()
        if key is None:
            raise ValueError("A header needs a key")
        found.append(Header(key, _as_bytes(value)))
    return tuple(found)
