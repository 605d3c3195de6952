"""The dump of a log or a snapshot: a line a batch and, if wanted, a line a record."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ottla.cli.control_json import SCHEMAS, control_text
from ottla.cli.errors import CommandError
from ottla.cli.log_files import UNLIMITED_BYTES, base_offset, file_batches
from ottla.cli.payload_decoders import Decoder
from ottla.records.batch import RecordBatch
from ottla.records.control import ControlRecordType, EndTransactionMarker
from ottla.records.record import Record, decode_records

BOOTSTRAP_NAME: Final = "bootstrap.checkpoint"
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class SegmentDump:
    """How a log is dumped; ``lines`` does it, and collects offsets that do not follow each other in ``gaps``."""

    decoder: Decoder
    deep: bool = False
    contents: bool = False
    skip_metadata: bool = False
    max_bytes: int = UNLIMITED_BYTES
    gaps: dict[str, dict[int, int]] = field(default_factory=dict)

    def lines(self, path: Path) -> Iterator[str]:
        """What Kafka's tool prints of the file."""
        yield _heading(path)
        end, last_offset = 0, -1
        for position, batch in file_batches(path, max_bytes=self.max_bytes):
            yield " ".join(f"{name}: {_text(value)}" for name, value in batch_fields(batch, position).items())
            if self.deep:
                for record in decode_records(batch):
                    self._follow(path, last_offset, record.offset)
                    last_offset = record.offset
                    yield self._record(batch, record)
            end = position + batch.size_in_bytes
        trailing = path.stat().st_size - end
        if trailing > 0 and self.max_bytes == UNLIMITED_BYTES:
            yield f"Found {trailing} invalid bytes at the end of {path.name}"

    def documents(self, path: Path) -> Iterator[dict[str, Any]]:
        """The batches as documents, with their records if the dump is deep."""
        last_offset = -1
        for position, batch in file_batches(path, max_bytes=self.max_bytes):
            document: dict[str, Any] = {"file": str(path), **batch_fields(batch, position)}
            if self.deep:
                document["records"] = []
                for record in decode_records(batch):
                    self._follow(path, last_offset, record.offset)
                    last_offset = record.offset
                    document["records"].append(self._record_document(batch, record))
            yield document

    def _follow(self, path: Path, last_offset: int, offset: int) -> None:
        if offset != last_offset + 1:
            self.gaps.setdefault(str(path.absolute()), {})[last_offset] = offset

    def _record(self, batch: RecordBatch, record: Record) -> str:
        text = ""
        if not self.skip_metadata:
            fields = record_fields(batch, record)
            text = "| " + " ".join(f"{name}: {_text(value)}" for name, value in fields.items())
            if batch.is_control:
                text += f" {control_record_text(record)}"
        if self.contents and not batch.is_control:
            prefix = "| " if self.skip_metadata else " "
            key, value = self.decoder(record)
            if key is not None:
                text += f"{prefix}key: {key}"
                prefix = " "
            if value is not None:
                text += f"{prefix}payload: {value}"
        return text

    def _record_document(self, batch: RecordBatch, record: Record) -> dict[str, Any]:
        document = record_fields(batch, record)
        if batch.is_control:
            document["control"] = control_record_text(record)
        elif self.contents:
            document["key"], document["payload"] = self.decoder(record)
        return document


def batch_fields(batch: RecordBatch, position: int) -> dict[str, Any]:
    """What Kafka's tool tells of a batch, by its names, in its order."""
    return {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.records_count,
        "baseSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
        "deleteHorizonMs": batch.delete_horizon_ms,
        "position": position,
        _timestamp_name(batch): batch.max_timestamp,
        "size": batch.size_in_bytes,
        "magic": batch.magic,
        "compresscodec": _CODECS[batch.compression] if batch.compression < len(_CODECS) else str(batch.compression),
        "crc": batch.crc,
        "isvalid": batch.is_crc_valid(),
    }


def record_fields(batch: RecordBatch, record: Record) -> dict[str, Any]:
    """What Kafka's tool tells of a record."""
    return {
        "offset": record.offset,
        _timestamp_name(batch): record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "sequence": record.sequence,
        "headerKeys": [header.key for header in record.headers],
    }


def control_record_text(record: Record) -> str:
    """What a control record says."""
    control_type = ControlRecordType.parse(record.key)
    if control_type in SCHEMAS:
        return control_text(control_type, record.value or b"")
    if control_type is ControlRecordType.UNKNOWN:
        type_id = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
        return f"controlType: {control_type.name}({type_id})"
    marker = EndTransactionMarker.decode(record)
    return f"endTxnMarker: {marker.type.name} coordinatorEpoch: {marker.coordinator_epoch}"


def _heading(path: Path) -> str:
    if path.suffix == ".log":
        return f"Log starting offset: {base_offset(path)}"
    if path.name == BOOTSTRAP_NAME:
        return "KRaft bootstrap snapshot"
    from ottla.raft.snapshot_names import parse_snapshot_name

    named = parse_snapshot_name(path.name)
    if named is None:
        raise CommandError(f"{path} is not named after a snapshot", hint="snapshots are <offset>-<epoch>.checkpoint")
    return f"Snapshot end offset: {named.snapshot_id.offset}, epoch: {named.snapshot_id.epoch}"


def _timestamp_name(batch: RecordBatch) -> str:
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _text(value: object) -> str:
    """A value as Java prints it; only the delete horizon can be missing."""
    if value is None:
        return "OptionalLong.empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(value)}]"
    return str(value)
