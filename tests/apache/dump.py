"""What DumpLogSegments prints, parsed. Whatever is not understood is a complaint, so nothing passes unseen."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class DumpedBatch(NamedTuple):
    """A batch line of a .log or .checkpoint file."""

    base_offset: int
    last_offset: int
    record_count: int | None
    base_sequence: int
    last_sequence: int
    producer_id: int
    producer_epoch: int
    partition_leader_epoch: int
    is_transactional: bool
    is_control: bool
    delete_horizon_ms: int | None
    position: int
    timestamp_type: str  # CreateTime or LogAppendTime
    max_timestamp: int
    size: int
    magic: int
    compression: str  # none, gzip, snappy, lz4 or zstd
    crc: int
    is_valid: bool


class DumpedRecord(NamedTuple):
    """A record line of a deep dump. DumpLogSegments shows no header values, and of a control record only its meaning.

    `key` and `value` are bytes with the default decoders, and text with one of its own (`--cluster-metadata-decoder`).
    """

    offset: int
    timestamp_type: str
    timestamp: int
    key_size: int
    value_size: int
    sequence: int
    header_keys: tuple[str, ...]
    key: bytes | str | None = None
    value: bytes | str | None = None
    control_type: str | None = None  # COMMIT, ABORT, LeaderChange, SnapshotHeader, SnapshotFooter, KRaftVersion, …
    coordinator_epoch: int | None = None  # of COMMIT and ABORT
    control_data: Any = None  # the decoded JSON of the other control types


class OffsetIndexEntry(NamedTuple):
    """An entry of an .index file."""

    offset: int
    position: int


class TimeIndexEntry(NamedTuple):
    """An entry of a .timeindex file."""

    timestamp: int
    offset: int


class AbortedTxnEntry(NamedTuple):
    """An entry of a .txnindex file."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class ProducerEntry(NamedTuple):
    """An entry of a .snapshot file; the last five are of its newest batch and None when it has none."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    current_txn_first_offset: int | None
    last_timestamp: int
    first_sequence: int | None = None
    last_sequence: int | None = None
    last_offset: int | None = None
    offset_delta: int | None = None
    timestamp: int | None = None


class Gap(NamedTuple):
    """Two neighbouring records of one file whose offsets are not consecutive: what compaction leaves."""

    path: str
    offset: int
    next_offset: int


@dataclass(slots=True)
class DumpedFile:
    """What one file holds; only the lists of its kind are filled."""

    path: str
    batches: list[DumpedBatch] = field(default_factory=list)
    records: list[DumpedRecord] = field(default_factory=list)
    offset_index: list[OffsetIndexEntry] = field(default_factory=list)
    time_index: list[TimeIndexEntry] = field(default_factory=list)
    aborted_txns: list[AbortedTxnEntry] = field(default_factory=list)
    producers: list[ProducerEntry] = field(default_factory=list)


@dataclass(slots=True)
class DumpResult:
    """A whole run of DumpLogSegments. `complaints` must be empty for files that Apache accepts."""

    files: dict[str, DumpedFile] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""

    @property
    def batches(self) -> list[DumpedBatch]:
        """All batches, in the order of the files."""
        return [batch for file in self.files.values() for batch in file.batches]

    @property
    def records(self) -> list[DumpedRecord]:
        """All records, control records included, in the order of the files."""
        return [record for file in self.files.values() for record in file.records]


_INT = r"(-?\d+)"
_OPTIONAL = r"Optional(?:Long|Int)(?:\.empty|\[(-?\d+)\])"
_BATCH = re.compile(
    rf"baseOffset: {_INT} lastOffset: {_INT} count: (-?\d+|null) baseSequence: {_INT} lastSequence: {_INT} "
    rf"producerId: {_INT} producerEpoch: {_INT} partitionLeaderEpoch: {_INT} isTransactional: (true|false) "
    rf"isControl: (true|false) deleteHorizonMs: {_OPTIONAL} position: {_INT} (\w+): {_INT} size: {_INT} "
    rf"magic: {_INT} compresscodec: (\w+) crc: {_INT} isvalid: (true|false)"
)
_RECORD = re.compile(
    rf"\| offset: {_INT} (CreateTime|LogAppendTime|NoTimestampType): {_INT} keySize: {_INT} valueSize: {_INT} "
    rf"sequence: {_INT} headerKeys: \[(.*?)\](?= key: | payload: | endTxnMarker: | [A-Z]\w+:? \{{|$)(.*)"
)
_END_TXN = re.compile(rf" endTxnMarker: (\w+) coordinatorEpoch: {_INT}")
_KRAFT_CONTROL = re.compile(r" (LeaderChange|SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters):? (\{.*\})")
_CONTENT = re.compile(r"(?: key: (.*?))?(?: payload: (.*))?")
_OFFSET_ENTRY = re.compile(rf"offset: {_INT} position: {_INT}")
_TIME_ENTRY = re.compile(rf"timestamp: {_INT} offset: {_INT}")
_TXN_ENTRY = re.compile(
    rf"version: {_INT} producerId: {_INT} firstOffset: {_INT} lastOffset: {_INT} lastStableOffset: {_INT}"
)
_PRODUCER = re.compile(
    rf"producerId: {_INT} producerEpoch: {_INT} coordinatorEpoch: {_INT} currentTxnFirstOffset: {_OPTIONAL} "
    rf"lastTimestamp: {_INT}(?: firstSequence: {_INT} lastSequence: {_INT} lastOffset: {_INT} offsetDelta: {_INT} "
    rf"timestamp: {_INT})?"
)
_HARMLESS = re.compile(
    r"Log starting offset: \d+|Snapshot end offset: \d+, epoch: \d+|KRaft bootstrap snapshot|.* is empty\.|"
    r".* passed sanity check\.|"
)
_GAPS_TITLE = re.compile(r"Non-consecutive offsets in (.*)")
_GAP = re.compile(rf"  {_INT} is followed by {_INT}")


def parse_dump(stdout: str, stderr: str, returncode: int, *, hexadecimal: bool) -> DumpResult:
    """Parse a whole run. `hexadecimal`: keys and payloads were printed by HexDecoder."""
    result = DumpResult(stdout=stdout, stderr=stderr)
    if returncode != 0:
        result.complaints.append(f"DumpLogSegments ended with {returncode}")
    current = DumpedFile("")
    for line in stdout.split("\n"):
        if line.startswith("Dumping "):
            current = DumpedFile(line.removeprefix("Dumping "))
            result.files[current.path] = current
        elif not _parse_line(line, current, hexadecimal):
            result.complaints.append(f"{current.path}: {line}")
    for batch in result.batches:
        if not batch.is_valid:
            result.complaints.append(f"invalid batch {batch}")
    result.complaints.extend(_parse_stderr(stderr, result.gaps))
    return result


def _parse_line(line: str, current: DumpedFile, hexadecimal: bool) -> bool:
    if match := _BATCH.fullmatch(line):
        current.batches.append(_batch(*match.groups()))
    elif match := _RECORD.fullmatch(line):
        record = _record(match, hexadecimal)
        if record is None:
            return False
        current.records.append(record)
    elif match := _OFFSET_ENTRY.fullmatch(line):
        current.offset_index.append(OffsetIndexEntry(*map(int, match.groups())))
    elif match := _TIME_ENTRY.fullmatch(line):
        current.time_index.append(TimeIndexEntry(*map(int, match.groups())))
    elif match := _TXN_ENTRY.fullmatch(line):
        current.aborted_txns.append(AbortedTxnEntry(*map(int, match.groups())))
    elif match := _PRODUCER.fullmatch(line):
        numbers: list[Any] = [None if text is None else int(text) for text in match.groups()]
        current.producers.append(ProducerEntry(*numbers))
    else:
        return _HARMLESS.fullmatch(line) is not None
    return True


def _batch(*texts: str | None) -> DumpedBatch:
    names = dict(zip(DumpedBatch._fields, texts, strict=True))
    values: dict[str, Any] = {}
    for name, text in names.items():
        if name in ("timestamp_type", "compression"):
            values[name] = text
        elif text in ("true", "false"):
            values[name] = text == "true"
        else:
            values[name] = None if text in (None, "null") else int(str(text))
    return DumpedBatch(**values)


def _record(match: re.Match[str], hexadecimal: bool) -> DumpedRecord | None:
    offset, timestamp_type, timestamp, key_size, value_size, sequence, header_keys, rest = match.groups()
    record = DumpedRecord(
        int(offset),
        timestamp_type,
        int(timestamp),
        int(key_size),
        int(value_size),
        int(sequence),
        tuple(header_keys.split(",")) if header_keys else (),
    )
    if marker := _END_TXN.fullmatch(rest):
        return record._replace(control_type=marker.group(1), coordinator_epoch=int(marker.group(2)))
    if control := _KRAFT_CONTROL.fullmatch(rest):
        return record._replace(control_type=control.group(1), control_data=json.loads(control.group(2)))
    content = _CONTENT.fullmatch(rest)
    if content is None:
        return None
    key, value = content.groups()
    if hexadecimal:
        return record._replace(
            key=None if key is None else bytes.fromhex(key), value=None if value is None else bytes.fromhex(value)
        )
    return record._replace(key=key, value=value)


_OTHERS = " [AdminClient clientId="
"""In lines of clients that other tools have left running in the same JVM: the dump tool has none."""


def _parse_stderr(stderr: str, gaps: list[Gap]) -> Iterator[str]:
    """Yield every line but those on gaps, which go to `gaps`; a file's first record always "follows" offset -1."""
    path: str | None = None
    for line in stderr.splitlines():
        if match := _GAPS_TITLE.fullmatch(line):
            path = match.group(1)
        elif path is not None and (match := _GAP.fullmatch(line)):
            offset, next_offset = map(int, match.groups())
            if offset != -1:
                gaps.append(Gap(path, offset, next_offset))
        elif _OTHERS not in line:
            path = None
            yield f"stderr: {line}"
