"""Where batches begin and end in bytes from the network, of whatever format."""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from ottla.common.errors import CorruptRecordError
from ottla.records.batch import LOG_OVERHEAD, MAGIC, MAGIC_POSITION, Buffer

_LENGTH: Final = struct.Struct(">i")
_LENGTH_POSITION: Final = 8
_SMALLEST_LENGTH: Final = 14
"""The length of an empty message of format 0, the least that any format has."""


class BatchFrame(NamedTuple):
    """A batch's place and format, nothing else of it being known."""

    position: int
    size_in_bytes: int
    magic: int


def framed_batches(records: Buffer) -> Iterator[BatchFrame]:
    """The complete batches; an incomplete last one is left out, as one that a fetch cut off is.

    Raises CorruptRecordError for a length or a format that none has.
    """
    position, end = 0, len(records)
    while end - position >= LOG_OVERHEAD:
        length: int = _LENGTH.unpack_from(records, position + _LENGTH_POSITION)[0]
        if length < _SMALLEST_LENGTH:
            raise CorruptRecordError(
                f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})"
            )
        if end - position <= MAGIC_POSITION:
            return
        magic = records[position + MAGIC_POSITION]
        if magic > MAGIC:
            raise CorruptRecordError(f"Invalid magic found in record: {magic if magic < 0x80 else magic - 0x100}")
        size = length + LOG_OVERHEAD
        if size > end - position:
            return
        yield BatchFrame(position, size, magic)
        position += size
