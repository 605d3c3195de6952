"""Arrow's arrays over numpy's: nothing is copied that need not be. Needs pyarrow and numpy."""

from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.clients.consumer.arrow_schema import MICROSECONDS, TIMESTAMP_MS_MAX, is_in_microseconds

Bytes = NDArray[np.uint8]
Ends = NDArray[np.int32]

_ASCII_MAX: Final = 0x7F


def number_array(values: NDArray[Any], kind: "pa.DataType") -> "pa.Array":
    """Numbers, none of them null; an array of the kind's width."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def timestamp_array(times_ms: NDArray[np.int64], field: "pa.Field") -> "pa.Array":
    """Milliseconds in the column's unit."""
    if is_in_microseconds(field):
        times_ms = np.clip(times_ms, -TIMESTAMP_MS_MAX, TIMESTAMP_MS_MAX) * MICROSECONDS
    return number_array(times_ms, field.type)


def binary_array(ends: Ends, valid: Bytes | None, data: Bytes, rows: int, kind: "pa.DataType | None" = None) -> Any:
    """Bytes of rows; a bitmap only if there are nulls, which ``valid`` None denies."""
    buffers = [_bitmap(valid, rows), pa.py_buffer(ends[: rows + 1]), pa.py_buffer(data[: int(ends[rows])])]
    return pa.Array.from_buffers(kind or pa.binary(), rows, buffers)


def text_array(ends: Ends, data: Bytes, rows: int) -> Any:
    """Text of rows; what is no UTF-8 is replaced, as ``poll`` does."""
    if data[: int(ends[rows])].max(initial=0) > _ASCII_MAX:
        raw = binary_array(ends, None, data, rows).to_pylist()
        return pa.array([each.decode("utf-8", "replace") for each in raw], pa.string())
    return binary_array(ends, None, data, rows, pa.string())


def headers_array(ends: Ends, keys: Any, values: Any, rows: int, field: "pa.Field") -> "pa.Array":
    """Lists of headers; those that are empty are null if they may be."""
    element = field.type.value_type
    structs = pa.StructArray.from_arrays([keys, values], fields=[element.field(0), element.field(1)])
    bitmap = _bitmap((np.diff(ends[: rows + 1]) > 0).view(np.uint8), rows) if field.nullable else None
    return pa.Array.from_buffers(field.type, rows, [bitmap, pa.py_buffer(ends[: rows + 1])], children=[structs])


def _bitmap(valid: Bytes | None, rows: int) -> "pa.Buffer | None":
    if valid is None or valid[:rows].all():
        return None
    return pa.py_buffer(np.packbits(valid[:rows], bitorder="little"))
