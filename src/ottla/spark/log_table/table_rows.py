"""Batches to rows: the records' columns as they are decoded everywhere, their batch's beside them, damage as rows."""

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from ottla.clients.consumer.arrow_reader import builder_class
from ottla.clients.consumer.arrow_schema import Layout
from ottla.common.errors import InvalidRecordError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import COMPRESSION_MASK, HEADER_BYTES, RecordBatch
from ottla.records.compression import Compression
from ottla.records.control_type import ControlRecordType
from ottla.records.record import decode_records, records_payload
from ottla.spark.log_table.batch_walk import DamagedBytes, SoundBatch
from ottla.spark.log_table.log_piece import LogPiece
from ottla.spark.log_table.table_columns import AUDIT_COLUMNS, table_arrow_schema

_RECORD_BYTES_MIN: Final = 7
"""A length, attributes, two deltas, no key, no value, no headers."""
_ANY_OFFSET: Final = -(1 << 63)
_ROWS_MAX: Final = 1 << 26
_CODECS: Final = tuple(codec.name.lower() for codec in Compression)


class _BatchRows(NamedTuple):
    """What the rows of a batch have in common."""

    rows: int
    position: int
    batch: RecordBatch
    error: str | None
    control_types: tuple[str | None, ...] = ()


class TableRows:
    """Rows of one piece, collected until somebody takes them; batches are decoded as they come."""

    __slots__ = ("_batches", "_builder", "_damages", "_layout", "_make", "_partition", "_path", "_schema", "_segment")

    def __init__(self, piece: LogPiece, columns: tuple[str, ...]) -> None:
        self._partition = TopicPartition(piece.topic, piece.partition)
        self._path = piece.path
        self._segment = piece.base_offset
        self._schema = table_arrow_schema(columns)
        self._layout = Layout(pa.schema([field for field in self._schema if field.name not in AUDIT_COLUMNS]))
        self._make = builder_class()
        self._clear()

    def _clear(self) -> None:
        self._builder = self._make(self._partition, _ROWS_MAX, 0, self._layout)
        self._batches: list[_BatchRows] = []
        self._damages: list[DamagedBytes | _BatchRows] = []

    @property
    def rows(self) -> int:
        """How many there are."""
        return self._builder.rows + len(self._damages)

    @property
    def size_in_bytes(self) -> int:
        """How many bytes of keys and values there are."""
        return self._builder.size_in_bytes

    def append(self, found: SoundBatch | DamagedBytes) -> None:
        """A batch's records, or one row that says what is wrong with these bytes."""
        if isinstance(found, DamagedBytes):
            self._damages.append(found)
            return
        position, batch, error = found
        if not batch.records_count and error is None:  # compaction keeps such a batch for its offsets and sequence
            return
        try:
            rows, _ = self._builder.append(_readable(batch), _ANY_OFFSET)
        except KafkaError as unreadable:
            self._damages.append(_BatchRows(1, position, _header_of(batch), str(unreadable)))
            return
        if not rows:
            self._damages.append(_BatchRows(1, position, _header_of(batch), error))
            return
        types: tuple[str | None, ...] = ()
        if batch.is_control:
            types, malformed = _control_types(batch)
            error = error or malformed
        self._batches.append(_BatchRows(rows, position, _header_of(batch), error, types))

    def take(self) -> list["pa.RecordBatch"]:
        """All rows so far, those of damage last; it is empty afterwards."""
        taken = []
        if self._builder.rows:
            taken.append(self._records())
        if self._damages:
            taken.append(self._errors())
        self._clear()
        return taken

    def _records(self) -> "pa.RecordBatch":
        rows = self._builder.rows
        audit = [self._audit(field, rows) for field in self._schema if field.name in AUDIT_COLUMNS]
        return pa.RecordBatch.from_arrays([*self._builder.finish().columns, *audit], schema=self._schema)

    def _audit(self, field: "pa.Field", rows: int) -> "pa.Array":
        name, batches = field.name, self._batches
        if name in ("file", "segment"):
            return pa.repeat(pa.scalar(self._of_file(name), field.type), rows)
        if name == "controlType":
            return self._control_column(field, rows)
        values = [_of_batch(name, each) for each in batches]
        if name in ("error", "codec"):
            if not any(values):
                return pa.nulls(rows, field.type)
            indices = np.repeat(np.arange(len(batches), dtype=np.int32), [each.rows for each in batches])
            return pa.array(values, field.type).take(pa.array(indices))
        counts = [each.rows for each in batches]
        return pa.array(np.repeat(np.array(values, field.type.to_pandas_dtype()), counts), field.type)

    def _control_column(self, field: "pa.Field", rows: int) -> "pa.Array":
        if not any(each.control_types for each in self._batches):
            return pa.nulls(rows, field.type)
        types: list[str | None] = []
        for each in self._batches:
            types += each.control_types or [None] * each.rows
        return pa.array(types, field.type)

    def _of_file(self, name: str) -> str | int:
        return self._path if name == "file" else self._segment

    def _errors(self) -> "pa.RecordBatch":
        arrays = []
        for field in self._schema:
            if field.name in ("topic", "partition"):
                value: Any = getattr(self._partition, field.name)
                arrays.append(pa.repeat(pa.scalar(value, field.type), len(self._damages)))
            elif field.name in ("file", "segment"):
                arrays.append(pa.repeat(pa.scalar(self._of_file(field.name), field.type), len(self._damages)))
            else:
                arrays.append(pa.array([_of_damage(field.name, each) for each in self._damages], field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _readable(batch: RecordBatch) -> RecordBatch:
    """The batch, decompressed, if it can hold the records that it says it holds.

    Raises what ``records_payload`` raises, and InvalidRecordError.
    """
    if batch.compression:
        payload = records_payload(batch)
        batch = RecordBatch(bytes(batch.bytes[:HEADER_BYTES]) + payload)
        batch.attributes &= ~COMPRESSION_MASK
        batch.size_in_bytes = len(batch.buffer)
    if not 0 <= batch.records_count * _RECORD_BYTES_MIN <= batch.size_in_bytes - HEADER_BYTES:
        raise InvalidRecordError(
            f"Found invalid record count {batch.records_count} in a batch with {batch.size_in_bytes - HEADER_BYTES} "
            "bytes of records"
        )
    return batch


def _header_of(batch: RecordBatch) -> RecordBatch:
    """The header alone, which keeps nothing else in memory."""
    return RecordBatch(bytes(batch.bytes[:HEADER_BYTES]))


def _control_types(batch: RecordBatch) -> tuple[tuple[str | None, ...], str | None]:
    """The types of its records, and what is wrong with one whose type cannot be read."""
    types: list[str | None] = []
    error = None
    for record in decode_records(batch):
        try:
            types.append(ControlRecordType.parse(record.key).name)
        except InvalidRecordError as malformed:
            types.append(None)
            error = str(malformed)
    return tuple(types), error


def _of_batch(name: str, rows: _BatchRows) -> Any:
    batch = rows.batch
    match name:
        case "error":
            return rows.error
        case "position":
            return rows.position
        case "batchBytes":
            return batch.size_in_bytes
        case "baseOffset":
            return batch.base_offset
        case "leaderEpoch":
            return batch.partition_leader_epoch
        case "codec":
            return _CODECS[batch.compression] if batch.compression < len(_CODECS) else str(batch.compression)
        case "producerId":
            return batch.producer_id
        case "producerEpoch":
            return batch.producer_epoch
        case "baseSequence":
            return batch.base_sequence
        case "isTransactional":
            return batch.is_transactional
        case "isControl":
            return batch.is_control
        case _:
            return None


def _of_damage(name: str, damage: DamagedBytes | _BatchRows) -> Any:
    """Of a batch with a sound checksum whose records cannot be read the header is believed, of other bytes nothing."""
    if isinstance(damage, _BatchRows):
        return damage.batch.base_offset if name == "offset" else _of_batch(name, damage)
    match name:
        case "error":
            return damage.reason
        case "position":
            return damage.position
        case "batchBytes":
            return damage.size_in_bytes
        case "offset" | "baseOffset":
            return damage.base_offset
        case _:
            return None
