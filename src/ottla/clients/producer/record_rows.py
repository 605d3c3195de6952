"""Iterables of records into chunks of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from ottla.clients.producer.batch_record import as_batch_record
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.clients.producer.record_chunk import RecordChunk, RowChunk
from ottla.clients.producer.record_fields import as_headers, as_partition, as_timestamp, serialize
from ottla.clients.serialization import Serializer
from ottla.common.errors import KafkaError
from ottla.records.record import Header

_TAKEN_AT_ONCE: Final = 64
"""So many items may be read beyond what was wanted."""
_COLUMNS_MIN: Final = 64
"""Fewer rows are encoded as fast by Python."""

_KEY: Final = itemgetter(0)
_VALUE: Final = itemgetter(1)


class RowReader:
    """Makes chunks of an iterable's items; serializers may be None."""

    __slots__ = ("_key_serializer", "_topic", "_value_serializer")

    def __init__(
        self, topic: str, key_serializer: Serializer[Any] | None, value_serializer: Serializer[Any] | None
    ) -> None:
        self._topic = topic
        self._key_serializer = key_serializer
        self._value_serializer = value_serializer

    def chunk(self, items: Sequence[Any], now_ms: int, partition: int) -> "ReadRows":
        """What they leave out is ``now_ms`` and ``partition``. TypeError or ValueError for what is no record."""
        kinds = set(map(type, items))
        has_serializers = self._key_serializer is not None or self._value_serializer is not None
        if kinds == {bytes} and not has_serializers:
            return ReadRows(_chunk(None, items, now_ms, partition, None), {})
        if kinds == {tuple} and not has_serializers and set(map(len, items)) == {2}:
            keys, values = list(map(_KEY, items)), list(map(_VALUE, items))
            if set(map(type, keys)) | set(map(type, values)) <= {bytes, type(None)}:
                return ReadRows(_chunk(keys, values, now_ms, partition, None), {})
        return self._read(items, now_ms, partition)

    def _read(self, items: Sequence[Any], now_ms: int, partition: int) -> "ReadRows":
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        timestamps: list[int] = []
        partitions: list[int] = []
        headers: list[Sequence[Header]] = []
        failed: dict[int, KafkaError] = {}
        for row, item in enumerate(items):
            record = as_batch_record(item)
            key = value = None
            try:
                if record.key is not None:
                    key = serialize(self._key_serializer, self._topic, record.key)
                if record.value is not None:
                    value = serialize(self._value_serializer, self._topic, record.value)
            except KafkaError as error:
                failed[row] = error
            keys.append(key)
            values.append(value)
            timestamps.append(now_ms if record.timestamp_ms is None else as_timestamp(record.timestamp_ms))
            partitions.append(partition if record.partition is None else as_partition(record.partition))
            headers.append(as_headers(record.headers))
        return ReadRows(_chunk(keys, values, timestamps, partitions, headers if any(headers) else None), failed)


class ReadRows(NamedTuple):
    """A chunk, and the rows in it that could not be serialized."""

    chunk: RecordChunk
    failed: dict[int, KafkaError]


def take(items: Iterable[Any], rows_max: Callable[[], int], bytes_max: int) -> Iterator[list[Any]]:
    """Consecutive items: so many, or so many bytes, and a few more at most."""
    source = iter(items)
    while True:
        taken: list[Any] = []
        size_bytes = 0
        while len(taken) < rows_max() and size_bytes < bytes_max:
            some = list(islice(source, _TAKEN_AT_ONCE))
            if not some:
                break
            taken += some
            size_bytes += _size_of(some)
        if not taken:
            return
        yield taken


def _size_of(items: list[Any]) -> int:
    """About how much memory the bytes of these records take; fast for those that are most."""
    kind = type(items[0])
    try:
        if kind is bytes:
            return sum(map(len, items))
        if kind is tuple:
            return sum(map(len, chain.from_iterable(items)))
    except TypeError:  # a null, or records of several kinds
        pass
    return sum(map(_size, items))


def _size(item: Any) -> int:
    if isinstance(item, bytes | bytearray | str):
        return len(item)
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, tuple) else ()
    return sum(len(part) for part in parts if isinstance(part, bytes | bytearray | str))


def _chunk(
    keys: Sequence[bytes | None] | None,
    values: Sequence[bytes | None],
    timestamps: list[int] | int,
    partitions: list[int] | int,
    headers: list[Sequence[Header]] | None,
) -> RecordChunk:
    count = len(values)
    if KERNELS.is_loaded and count >= _COLUMNS_MIN:
        from ottla.clients.producer.record_columns import chunk_of

        return chunk_of(keys, values, timestamps, partitions, headers)
    return RowChunk(
        [None] * count if keys is None else keys,
        values,
        [timestamps] * count if isinstance(timestamps, int) else timestamps,
        [partitions] * count if isinstance(partitions, int) else partitions,
        headers,
    )
