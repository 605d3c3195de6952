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
_ONE_BYTE: Final = 64
"""Varints take one byte below this."""
_PLAIN_MAX: Final = _SMALL - 2 * _ONE_BYTE
_PLAIN_SIZES: Final = tuple(6 + size if size < _ONE_BYTE else 7 + size for size in range(_PLAIN_MAX))
"""What follows the length of a record with a value of this size, if all else in it takes one byte: attributes,
timestamp delta, offset delta, the lengths of key and value, and the count of headers.
"""
_TIMESTAMPS: Final = tuple(b"\0" + varint for varint in VARINTS)
"""A record's attributes, always zero, and its timestamp delta."""
_NO_KEY: Final = tuple(b"\1" + varint for varint in VARINTS)
"""A null key and the length of the value."""
_NULL: Final = b"\1"
_NO_HEADERS: Final = b"\0"
_COUNT_MAX: Final = (1 << 31) - 1
_CLOSED: Final = -1
"""The limit of a builder that takes no further record."""

NO_ROOM: Final = -1
NO_MEMORY: Final = -2


def record_size_upper_bound(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """What a batch with this record alone takes at most; a producer refuses what exceeds ``max.request.size``."""
    size = HEADER_BYTES + RECORD_OVERHEAD_MAX
    size += 1 if key is None else len(encode_varint(len(key))) + len(key)
    size += 1 if value is None else len(encode_varint(len(value))) + len(value)
    return size + (len(encode_headers(headers)) if headers else 1)


class BatchBuilder:
    """Open → closed, by ``close_for_appends`` or ``build``. The first record always fits; each further one while the
    estimate says so.

    ``size_bytes`` estimates the whole batch; without compression it is exact. ``raw_bytes`` are those of the records,
    which never exceed ``memory_bytes``, though compression would leave room for more.
    """

    __slots__ = (
        "_limit_bytes",
        "_parts",
        "_plain_limit_bytes",
        "_ratio",
        "_raw_bytes",
        "base_timestamp_ms",
        "max_timestamp_ms",
        "memory_bytes",
        "records_count",
        "size_bytes",
    )

    def __init__(self, limit_bytes: int, memory_bytes: int, ratio: float = 0.0) -> None:
        """``ratio`` is what compression is expected to leave of a byte; 0 stands for no compression."""
        self._limit_bytes = limit_bytes
        self._plain_limit_bytes = 0
        """What a plain record is checked against: 0, so that none fits, unless there is a first one, no compression,
        and the builder is open.
        """
        self.memory_bytes = memory_bytes
        self._ratio = ratio
        self._parts: list[bytes] = []
        self.records_count = 0
        self.base_timestamp_ms = 0
        self.max_timestamp_ms = -1
        self._raw_bytes = 0
        self.size_bytes = HEADER_BYTES

    @property
    def raw_bytes(self) -> int:
        """What the records take before compression."""
        return self._raw_bytes if self._ratio else self.size_bytes - HEADER_BYTES

    @property
    def is_full(self) -> bool:
        """Whether it takes no further record."""
        return self.size_bytes >= self._limit_bytes and (self.records_count > 0 or self._limit_bytes == _CLOSED)

    def append(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] | None
    ) -> int:
        """The record's place in the batch, counted from 0.

        NO_ROOM if there is none, or the builder is closed; NO_MEMORY if more of it would be needed.
        """
        count = self.records_count
        delta = timestamp_ms - self.base_timestamp_ms
        if 0 <= delta < _ONE_BYTE and count < _SMALL and value is not None and not headers:
            # The record that nearly all are, with sizes from tables: a call of len() for each piece takes longer.
            value_size = len(value)
            if value_size < _PLAIN_MAX:
                if key is None:
                    size = _PLAIN_SIZES[value_size] if count < _ONE_BYTE else _PLAIN_SIZES[value_size] + 1
                    total = self.size_bytes + size + (1 if size < _ONE_BYTE else 2)
                    if total <= self._plain_limit_bytes:
                        self._parts += (
                            VARINTS[size],
                            _TIMESTAMPS[delta],
                            VARINTS[count],
                            _NO_KEY[value_size],
                            value,
                            _NO_HEADERS,
                        )
                        self.size_bytes = total
                        self.records_count = count + 1
                        if timestamp_ms > self.max_timestamp_ms:  # noqa: PLR1730  max() is a call
                            self.max_timestamp_ms = timestamp_ms
                        return count
                elif (key_size := len(key)) < _ONE_BYTE:
                    size = _PLAIN_SIZES[value_size] + key_size + (0 if count < _ONE_BYTE else 1)
                    total = self.size_bytes + size + (1 if size < _ONE_BYTE else 2)
                    if total <= self._plain_limit_bytes:
                        self._parts += (
                            VARINTS[size],
                            _TIMESTAMPS[delta],
                            VARINTS[count],
                            VARINTS[key_size],
                            key,
                            VARINTS[value_size],
                            value,
                            _NO_HEADERS,
                        )
                        self.size_bytes = total
                        self.records_count = count + 1
                        if timestamp_ms > self.max_timestamp_ms:  # noqa: PLR1730  max() is a call
                            self.max_timestamp_ms = timestamp_ms
                        return count
        return self._append_any(timestamp_ms, key, value, headers)

    def _append_any(
        self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] | None
    ) -> int:
        count = self.records_count
        limit_bytes = self._limit_bytes
        if limit_bytes == _CLOSED:
            return NO_ROOM
        if not count:
            self.base_timestamp_ms = timestamp_ms
        pieces = (
            b"\0" + encode_varint(timestamp_ms - self.base_timestamp_ms),
            encode_varint(count),
            _NULL if key is None else encode_varint(len(key)),
            key or b"",
            _NULL if value is None else encode_varint(len(value)),
            value or b"",
            encode_headers(headers) if headers else _NO_HEADERS,
        )
        size = sum(map(len, pieces))
        length = encode_varint(size)
        size += len(length)
        if count:
            if self.size_bytes + size > limit_bytes or count == _COUNT_MAX:
                return NO_ROOM
            if self._ratio and self._raw_bytes + size > self.memory_bytes:
                return NO_MEMORY
        self._parts.append(length)
        self._parts += pieces
        self.records_count = count + 1
        self.max_timestamp_ms = max(self.max_timestamp_ms, timestamp_ms)
        if self._ratio:
            self._raw_bytes += size
            self.size_bytes = HEADER_BYTES + int(self._raw_bytes * self._ratio)
        else:
            self.size_bytes += size
            self._plain_limit_bytes = limit_bytes
        return count

    def close_for_appends(self) -> None:
        """No further record: whoever comes next begins another batch."""
        self._limit_bytes = _CLOSED
        self._plain_limit_bytes = 0

    def build(self, codec: Compression, level: int | None) -> bytes:
        """The records, compressed; ends the builder."""
        self.close_for_appends()
        payload = b"".join(self._parts)
        self._parts = []
        return compress(codec, payload, level) if codec else payload
