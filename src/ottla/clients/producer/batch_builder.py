"""Records into the bytes of a batch, as fast as Python goes.

A record is not joined into bytes of its own: its pieces go to one list, most of them from tables, and the list is
joined once when the batch is closed. The values stay the caller's objects until then, and are not copied before.
"""

from collections.abc import Sequence
from typing import Final

from ottla.records.batch import HEADER_BYTES
from ottla.records.compression import Compression, compress
from ottla.records.record import Header, encode_headers
from ottla.records.varint import VARINTS, encode_varint

RECORD_OVERHEAD_MAX: Final = 21
"""What a record takes at most beside its key, value and headers and their lengths."""
_SMALL: Final = len(VARINTS)
_TIMESTAMPS: Final = tuple(b"\0" + varint for varint in VARINTS)
"""A record's attributes, always zero, and its timestamp delta."""
_NO_KEY: Final = tuple(b"\1" + varint for varint in VARINTS)
"""A null key and the length of the value."""
_NULL: Final = b"\1"
_NO_HEADERS: Final = b"\0"
_COUNT_MAX: Final = (1 << 31) - 1

NO_ROOM: Final = -1
NO_MEMORY: Final = -2


def record_size_upper_bound(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """What a batch with this record alone takes at most; a producer refuses what exceeds ``max.request.size``."""
    size = HEADER_BYTES + RECORD_OVERHEAD_MAX
    size += 1 if key is None else len(encode_varint(len(key))) + len(key)
    size += 1 if value is None else len(encode_varint(len(value))) + len(value)
    return size + (len(encode_headers(headers)) if headers else 1)


class BatchBuilder:
    """Open → closed, by ``close``. The first record always fits; each further one while the estimate says so.

    ``size_bytes`` estimates the whole batch; without compression it is exact. ``raw_bytes`` are those of the records,
    which never exceed ``memory_bytes``, though compression would leave room for more.
    """

    __slots__ = (
        "_is_closed",
        "_limit_bytes",
        "_parts",
        "_ratio",
        "base_timestamp_ms",
        "max_timestamp_ms",
        "memory_bytes",
        "raw_bytes",
        "records_count",
        "size_bytes",
    )

    def __init__(self, limit_bytes: int, memory_bytes: int, ratio: float = 0.0) -> None:
        """``ratio`` is what compression is expected to leave of a byte; 0 stands for no compression."""
        self._limit_bytes = limit_bytes
        self.memory_bytes = memory_bytes
        self._ratio = ratio
        self._parts: list[bytes] = []
        self._is_closed = False
        self.records_count = 0
        self.base_timestamp_ms = 0
        self.max_timestamp_ms = -1
        self.raw_bytes = 0
        self.size_bytes = HEADER_BYTES

    @property
    def is_full(self) -> bool:
        """Whether it takes no further record."""
        return self._is_closed or (self.records_count > 0 and self.size_bytes >= self._limit_bytes)

    def append(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] | None
    ) -> int:
        """The record's place in the batch, counted from 0.

        NO_ROOM if there is none, or the builder is closed; NO_MEMORY if more of it would be needed.
        """
        count = self.records_count
        if count:
            delta = timestamp_ms - self.base_timestamp_ms
        else:
            self.base_timestamp_ms = timestamp_ms
            delta = 0
        head = _TIMESTAMPS[delta] if 0 <= delta < _SMALL else b"\0" + encode_varint(delta)
        offset = VARINTS[count] if count < _SMALL else encode_varint(count)
        tail = encode_headers(headers) if headers else _NO_HEADERS
        if key is None:
            if value is None:
                middle, value = b"\1\1", b""
            else:
                size = len(value)
                middle = _NO_KEY[size] if size < _SMALL else _NULL + encode_varint(size)
        else:
            middle = encode_varint(len(key)) + key
            if value is None:
                middle, value = middle + _NULL, b""
            else:
                middle += encode_varint(len(value))
        size = len(head) + len(offset) + len(middle) + len(value) + len(tail)
        length = VARINTS[size] if size < _SMALL else encode_varint(size)
        size += len(length)
        if count:
            if self.size_bytes + size > self._limit_bytes or self._is_closed or count == _COUNT_MAX:
                return NO_ROOM
            if self._ratio and self.raw_bytes + size > self.memory_bytes:
                return NO_MEMORY
        elif self._is_closed:
            return NO_ROOM
        self._parts += (length, head, offset, middle, value, tail)
        self.records_count = count + 1
        if timestamp_ms > self.max_timestamp_ms:  # noqa: PLR1730  max() is a call
            self.max_timestamp_ms = timestamp_ms
        self.raw_bytes += size
        if self._ratio:
            self.size_bytes = HEADER_BYTES + int(self.raw_bytes * self._ratio)
        else:
            self.size_bytes += size
        return count

    def close_for_appends(self) -> None:
        """No further record: whoever comes next begins another batch."""
        self._is_closed = True

    def build(self, codec: Compression, level: int | None) -> bytes:
        """The records, compressed; ends the builder."""
        self._is_closed = True
        payload = b"".join(self._parts)
        self._parts = []
        return compress(codec, payload, level) if codec else payload
