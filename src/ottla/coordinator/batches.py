"""Record batches of a coordinator, byte for byte as Apache's writes them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.records.batch import HEADER_BYTES, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from ottla.records.builder import attributes_of, seal_batch
from ottla.records.compression import Compression, compress
from ottla.records.record import encode_record

_RECORD_OVERHEAD_BYTES: Final = 32
"""More than lengths, deltas and attributes of a record take."""


EncodeRecord = Callable[[CoordinatorRecord], tuple[bytes, bytes | None]]
"""The bytes of a record's key and value."""


class BatchBuilder:
    """Puts records into batches.

    ``base_sequence`` is what Apache's coordinator puts there, which nobody reads: 0 for groups, -1 for transactions.
    ``encode`` says what :meth:`RecordSerde.encode` says, perhaps sooner.
    """

    __slots__ = ("_base_sequence", "_compression", "_encode")

    def __init__(
        self,
        *,
        base_sequence: int = NO_SEQUENCE,
        compression: int = Compression.NONE,
        encode: EncodeRecord = RecordSerde.encode,
    ) -> None:
        self._base_sequence = base_sequence
        self._compression = compression
        self._encode = encode

    def build(
        self, records: Sequence[CoordinatorRecord], timestamp_ms: int, producer_id: int, producer_epoch: int
    ) -> bytearray:
        """One batch of all the records."""
        encoded = []
        for position, record in enumerate(records):
            key, value = self._encode(record)
            encoded.append(encode_record(position, 0, key, value))
        return self._batch(encoded, timestamp_ms, producer_id, producer_epoch)

    def build_several(
        self,
        records: Sequence[CoordinatorRecord],
        timestamp_ms: int,
        producer_id: int,
        producer_epoch: int,
        max_bytes: int,
    ) -> Iterator[tuple[Sequence[CoordinatorRecord], bytearray]]:
        """As many batches of up to ``max_bytes`` as it takes; each with the records in it.

        Batches are made one at a time: those before one that is refused have been appended.
        """
        start, size = 0, HEADER_BYTES
        encoded: list[bytes] = []
        for position, record in enumerate(records):
            key, value = self._encode(record)
            record_bytes = len(key) + len(value or b"") + _RECORD_OVERHEAD_BYTES
            if encoded and size + record_bytes > max_bytes:
                yield records[start:position], self._batch(encoded, timestamp_ms, producer_id, producer_epoch)
                start, size, encoded = position, HEADER_BYTES, []
            size += record_bytes
            encoded.append(encode_record(position - start, 0, key, value))
        yield records[start:], self._batch(encoded, timestamp_ms, producer_id, producer_epoch)

    def _batch(self, encoded: Sequence[bytes], timestamp_ms: int, producer_id: int, producer_epoch: int) -> bytearray:
        payload = b"".join(encoded)
        codec = self._compression
        return seal_batch(
            compress(codec, payload) if codec else payload,
            records_count=len(encoded),
            base_offset=0,
            last_offset_delta=len(encoded) - 1,
            leader_epoch=NO_PARTITION_LEADER_EPOCH,
            attributes=attributes_of(codec, transactional=producer_id != NO_PRODUCER_ID),
            base_timestamp=timestamp_ms,
            max_timestamp=timestamp_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self._base_sequence,
        )
