"""Batches of the metadata log and its snapshots: data records through a serde, or control records. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ottla.common.errors import InvalidRecordError
from ottla.records.batch import Buffer, RecordBatch, batches
from ottla.records.builder import build_batch
from ottla.records.control import EndTransactionMarker, KRaftControlMessage, decode_control_record
from ottla.records.record import Record, SimpleRecord, decode_records

T = TypeVar("T")


class RecordSerde(Protocol[T]):
    """How a record is written as the value of a log record, and read back."""

    def write(self, record: T) -> bytes:
        """The value."""

    def read(self, data: bytes) -> T:
        """The record; a KafkaError if the value is none."""


@dataclass(frozen=True, slots=True)
class CommittedBatch(Generic[T]):
    """A batch that the quorum has committed. A control batch has no ``records``, but takes offsets all the same."""

    base_offset: int
    epoch: int
    append_time_ms: int
    records: tuple[T, ...]
    last_offset: int
    size_bytes: int
    control_records: tuple[KRaftControlMessage | None, ...] = ()
    """None for one of an unknown type."""


def data_batch(values: Iterable[bytes], *, base_offset: int, epoch: int, append_time_ms: int) -> bytearray:
    """A batch of metadata records: null keys, no headers, one timestamp for all."""
    return build_batch(
        (SimpleRecord(append_time_ms, None, value) for value in values), base_offset=base_offset, leader_epoch=epoch
    )


def valid_batches(data: Buffer) -> Iterator[RecordBatch]:
    """The whole batches in ``data``, each checked by its CRC; CorruptRecordError for a damaged one."""
    for batch in batches(data):
        batch.ensure_valid()
        yield batch


def control_messages(batch: RecordBatch) -> tuple[KRaftControlMessage | None, ...]:
    """What a control batch says."""
    return tuple(_control_message(record) for record in decode_records(batch))


def _control_message(record: Record) -> KRaftControlMessage | None:
    message = decode_control_record(record)
    if isinstance(message, EndTransactionMarker):
        raise InvalidRecordError(f"Found a transaction marker at offset {record.offset} of the metadata log")
    return message


def decode_values(batch: RecordBatch, serde: RecordSerde[T]) -> Iterator[T]:
    """The records of a data batch, one by one, so that the reader can pause."""
    read = serde.read
    for record in decode_records(batch):
        if record.value is None:
            raise InvalidRecordError(f"The record at offset {record.offset} of the metadata log has no value")
        yield read(record.value)


def committed(batch: RecordBatch, records: Iterable[T]) -> CommittedBatch[T]:
    """A batch as listeners get it."""
    return CommittedBatch(
        batch.base_offset,
        batch.partition_leader_epoch,
        batch.max_timestamp,
        tuple(records),
        batch.last_offset,
        batch.size_in_bytes,
        control_messages(batch) if batch.is_control else (),
    )


def decode_batch(batch: RecordBatch, serde: RecordSerde[T]) -> CommittedBatch[T]:
    """A whole batch at once."""
    return committed(batch, () if batch.is_control else decode_values(batch, serde))
