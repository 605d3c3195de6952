"""A partition's directory as our own reader sees it, in the terms of a dump by Apache's DumpLogSegments."""

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log_context import LogContext
from ottla.log.producer_entry import ProducerEntry
from ottla.log.producer_snapshot import decode_snapshot
from ottla.log.segment import LogSegment
from ottla.records.batch import RecordBatch
from ottla.records.compression import Compression
from ottla.records.control import ControlRecordType, EndTransactionMarker, control_type
from ottla.records.record import Record, decode_records
from ottla.runtime.inline import InlineRuntime
from tests.apache import dump
from tests.apache.dump import DumpedBatch, DumpedFile, DumpedRecord

_KRAFT_NAMES = {
    ControlRecordType.LEADER_CHANGE: "LeaderChange",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlRecordType.KRAFT_VERSION: "KRaftVersion",
    ControlRecordType.KRAFT_VOTERS: "KRaftVoters",
}


def read_partition(directory: Path, scratch: Path, configs: dict[str, str] | None = None) -> dict[str, DumpedFile]:
    """Open a copy of the directory after a clean stop; returns what its files hold, by name."""
    copy = scratch / directory.name
    shutil.copytree(directory, copy)
    log = load_log(LogContext(InlineRuntime()), str(copy), LogConfig.from_props(configs or {}), clean_shutdown=True)
    found: dict[str, DumpedFile] = {}
    for segment in log.segments.values():
        for file in _segment_files(segment):
            found[file.path] = file
    log.close_handlers()
    for path in sorted(directory.glob("*.snapshot")):
        found[path.name] = DumpedFile(path.name, producers=_producers(decode_snapshot(path.read_bytes())))
    shutil.rmtree(copy)
    return found


def comparable(files: dict[str, DumpedFile]) -> dict[str, DumpedFile]:
    """A dump by file name, without what a reader may order or show as it likes, and without empty files."""
    found = {}
    for path, file in files.items():
        if path.endswith(".checkpoint"):
            continue
        shown = replace(
            file,
            path=Path(path).name,
            records=[record._replace(control_data=None) for record in file.records],
            producers=sorted(file.producers),
        )
        if shown != DumpedFile(shown.path) or shown.path.endswith(".log"):
            found[shown.path] = shown
    return found


def _segment_files(segment: LogSegment) -> Iterable[DumpedFile]:
    stem = f"{segment.base_offset:020}"
    log = DumpedFile(f"{stem}.log")
    position = 0
    for batch in segment.read_batches():
        log.batches.append(_batch(batch, position))
        log.records.extend(_record(batch, record) for record in decode_records(batch))
        position += batch.size_in_bytes
    yield log
    offset_index, time_index = segment.offset_index, segment.time_index
    yield DumpedFile(
        f"{stem}.index",
        offset_index=[
            dump.OffsetIndexEntry(segment.base_offset + relative, position)
            for relative, position in zip(offset_index.keys(), offset_index.values(), strict=True)
        ],
    )
    yield DumpedFile(
        f"{stem}.timeindex",
        time_index=[
            dump.TimeIndexEntry(timestamp, segment.base_offset + relative)
            for timestamp, relative in zip(time_index.keys(), time_index.values(), strict=True)
        ],
    )
    yield DumpedFile(
        f"{stem}.txnindex",
        aborted_txns=[
            dump.AbortedTxnEntry(0, txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset)
            for txn in segment.txn_index.entries()
        ],
    )


def _batch(batch: RecordBatch, position: int) -> DumpedBatch:
    return DumpedBatch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        record_count=batch.records_count,
        base_sequence=batch.base_sequence,
        last_sequence=batch.last_sequence,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        partition_leader_epoch=batch.partition_leader_epoch,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
        delete_horizon_ms=batch.delete_horizon_ms,
        position=position,
        timestamp_type=_timestamp_type(batch),
        max_timestamp=batch.max_timestamp,
        size=batch.size_in_bytes,
        magic=2,
        compression=Compression(batch.compression).name.lower(),
        crc=batch.compute_crc(),
        is_valid=batch.is_crc_valid(),
    )


def _record(batch: RecordBatch, record: Record) -> DumpedRecord:
    dumped = DumpedRecord(
        offset=record.offset,
        timestamp_type=_timestamp_type(batch),
        timestamp=record.timestamp,
        key_size=-1 if record.key is None else len(record.key),
        value_size=-1 if record.value is None else len(record.value),
        sequence=record.sequence,
        header_keys=tuple(header.key for header in record.headers),
        key=record.key,
        value=record.value,
    )
    if not batch.is_control:
        return dumped
    kind = control_type(record)
    if kind in _KRAFT_NAMES:
        return dumped._replace(key=None, value=None, control_type=_KRAFT_NAMES[kind])
    marker = EndTransactionMarker.decode(record)
    return dumped._replace(key=None, value=None, control_type=kind.name, coordinator_epoch=marker.coordinator_epoch)


def _timestamp_type(batch: RecordBatch) -> str:
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def _producers(entries: Iterable[ProducerEntry]) -> list[dump.ProducerEntry]:
    found = []
    for entry in entries:
        dumped = dump.ProducerEntry(
            entry.producer_id,
            entry.producer_epoch,
            entry.coordinator_epoch,
            entry.current_txn_first_offset,
            entry.last_timestamp,
        )
        for batch in entry.batches:
            dumped = dumped._replace(
                first_sequence=batch.first_sequence,
                last_sequence=batch.last_sequence,
                last_offset=batch.last_offset,
                offset_delta=batch.offset_delta,
                timestamp=batch.timestamp,
            )
        found.append(dumped)
    return sorted(found)
