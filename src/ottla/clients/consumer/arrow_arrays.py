"""Arrow's arrays over numpy's: nothing is copied that need not be. Needs pyarrow and numpy.

``pyarrow.array`` is not used: the first call imports pandas if that is installed, which takes longer than a small read.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ottla.clients.consumer.arrow_schema import MICROSECONDS, TIMESTAMP_MS_MAX, is_in_microseconds
from ottla.common.topic_partition import TopicPartition

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


def topic_array(partition: TopicPartition, rows: int, field: "pa.Field") -> "pa.Array":
    """The topic, which all rows of a batch have in common."""
    topic = partition.topic.encode()
    if pa.types.is_dictionary(field.type):
        indices = number_array(np.zeros(rows, np.int32), pa.int32())
        return pa.DictionaryArray.from_arrays(indices, bytes_array([topic], pa.string()))
    ends = np.arange(rows + 1, dtype=np.int32) * np.int32(len(topic))
    return binary_array(ends, None, np.frombuffer(topic * rows, np.uint8), rows, field.type)


def partition_array(partition: TopicPartition, rows: int, field: "pa.Field") -> "pa.Array":
    """The partition's number, likewise."""
    return number_array(np.full(rows, partition.partition, np.int32), field.type)


def binary_array(ends: Ends, valid: Bytes | None, data: Bytes, rows: int, kind: "pa.DataType | None" = None) -> Any:
    """Bytes of rows; a bitmap only if there are nulls, which ``valid`` None denies."""
    buffers = [_bitmap(valid, rows), pa.py_buffer(ends[: rows + 1]), pa.py_buffer(data[: int(ends[rows])])]
    return pa.Array.from_buffers(kind or pa.binary(), rows, buffers)


def bytes_array(values: Sequence[bytes | None], kind: "pa.DataType | None" = None) -> Any:
    """The same from Python's objects."""
    rows = len(values)
    ends = np.fromiter(accumulate((len(value or b"") for value in values), initial=0), np.int32, rows + 1)
    valid = np.fromiter((value is not None for value in values), np.uint8, rows)
    data = np.frombuffer(b"".join(value or b"" for value in values), np.uint8)
    return binary_array(ends, valid, data, rows, kind)


def text_array(ends: Ends, data: Bytes, rows: int) -> Any:
    """Text of rows; what is no UTF-8 is replaced, as ``poll`` does."""
    if data[: int(ends[rows])].max(initial=0) > _ASCII_MAX:
        raw = data.tobytes()
        places = ends[: rows + 1].tolist()
        texts = [raw[start:end].decode("utf-8", "replace") for start, end in pairwise(places)]
        return bytes_array([text.encode() for text in texts], pa.string())
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
