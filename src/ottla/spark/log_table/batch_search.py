"""Where the next sound batch begins in bytes that nothing else is known of."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ottla.records.batch import HEADER_BYTES, MAGIC, MAGIC_POSITION, RecordBatch
from ottla.spark.log_table.batch_bounds import BatchBounds
from ottla.spark.log_table.byte_window import ByteWindow

_STEP_BYTES: Final = 1024 * 1024
_LENGTH: Final = 8
_ATTRIBUTES: Final = 21
_OVERHEAD: Final = 12


def sound_batches(window: ByteWindow, start: int, end: int, bounds: BatchBounds) -> Iterator[int]:
    """The positions in ``[start, end)`` where a batch begins that is plausible, whole before ``end``, and unchanged.

    A generator: what follows is looked for when it is asked for.
    """
    position = start
    while end - position >= HEADER_BYTES:
        step = min(_STEP_BYTES, end - position)
        raw = bytes(window.bytes_at(position, step))
        for at in _candidates(raw, bounds):
            place = position + at
            header = RecordBatch(raw, at)
            if not bounds.is_plausible(header, end - place):
                continue
            batch = window.batch_at(place, header)
            if batch is not None and batch.is_crc_valid():
                yield place
        position += max(len(raw) - HEADER_BYTES + 1, 1)


def _candidates(raw: bytes, bounds: BatchBounds) -> list[int]:
    """Where headers may begin, by the bytes that differ least: the format, length, attributes and offset."""
    data = np.frombuffer(raw, np.uint8)
    count = len(data) - HEADER_BYTES + 1
    if count <= 0:
        return []
    places = np.flatnonzero(data[MAGIC_POSITION : MAGIC_POSITION + count] == MAGIC)
    places = places[(data[places + _ATTRIBUTES] == 0) & (data[places + _LENGTH] < 0x80)]
    length = _number(data, places + _LENGTH, 4) + _OVERHEAD
    places = places[(length >= HEADER_BYTES) & (length <= bounds.max_batch_bytes)]
    offset = _number(data, places, 8)
    places = places[(offset >= bounds.first_offset) & (offset < bounds.end_offset)]
    return places.tolist()  # type: ignore[no-any-return]


def _number(data: Any, places: Any, size: int) -> Any:
    value = np.zeros(len(places), np.int64)
    for index in range(size):
        value = (value << 8) | data[places + index]
    return value
