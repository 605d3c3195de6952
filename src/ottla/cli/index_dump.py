"""The dumps of indexes and of producer snapshots, and what they do not agree with the log in."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any, Final

from ottla.cli.errors import CommandError
from ottla.cli.log_files import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    base_offset,
    beside,
    file_batches,
    index_damage,
    offset_entries,
    time_entries,
)
from ottla.records.record import decode_records

Document = dict[str, Any]

_TXN_ENTRY: Final = Struct(">hqqqq")
_TXN_FIELDS: Final = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")


@dataclass(slots=True)
class Findings:
    """What is wrong with indexes, by file; each entry is the pair that Kafka's tool tells of."""

    mismatches: dict[str, dict[int, int]] = field(default_factory=dict)
    timestamps: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    out_of_order: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    not_found: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """In the words of Kafka's tool."""
        for name, by_offset in self.mismatches.items():
            yield f"Mismatches in :{name}"
            for index_offset, log_offset in sorted(by_offset.items(), reverse=True):
                yield f"  Index offset: {index_offset}, log offset: {log_offset}"
        for title, form, found in (
            ("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}", self.timestamps),
            (
                "Found out of order timestamp in :",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
                self.out_of_order,
            ),
            (
                "The following indexed offsets are not found in :",
                "Indexed offset: {}, found log offset: {}",
                self.not_found,
            ),
        ):
            for name, pairs in found.items():
                yield title + name
                yield from (form.format(*pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class IndexDump:
    """Dumps indexes, or only checks them against the log (``verify_only``) or by themselves (``sanity_only``)."""

    sanity_only: bool
    verify_only: bool
    max_message_bytes: int
    findings: Findings

    def offset_index(self, path: Path) -> Iterator[Document | str]:
        """The entries; the batch at each has to end with its offset."""
        log = _existing(beside(path, ".log"))
        entries = offset_entries(path)
        if not entries:
            yield f"{path} is empty."
            return
        if self.sanity_only:
            yield _sane(path, OFFSET_ENTRY, entries)
            return
        base = base_offset(path)
        for slot, (offset, position) in enumerate(entries):
            if offset == base and slot:  # the zeros of an index that was not trimmed
                return
            found = next(file_batches(log, position, self.max_message_bytes), None)
            if found is None:
                raise CommandError(f"There is no batch at position {position} of {log}, where {path} has one")
            if found.batch.last_offset != offset:
                self.findings.mismatches.setdefault(str(path.absolute()), {})[offset] = found.batch.last_offset
            if not self.verify_only:
                yield {"offset": offset, "position": position}

    def time_index(self, path: Path) -> Iterator[Document | str]:
        """The entries; each has to be the largest timestamp of the batch that ends with its offset."""
        log, index = _existing(beside(path, ".log")), _existing(beside(path, ".index"))
        entries = time_entries(path)
        if self.sanity_only:
            yield _sane(path, TIME_ENTRY, entries)
            return
        base = base_offset(path)
        positions = _positions(index)
        previous = -1
        for slot, (timestamp, offset) in enumerate(entries):
            if offset == base and slot:
                return
            self._check_time(path, log, positions, (timestamp, offset), previous)
            if not self.verify_only:
                yield {"timestamp": timestamp, "offset": offset}
            previous = timestamp

    def _check_time(
        self, path: Path, log: Path, positions: list[tuple[int, int]], entry: tuple[int, int], previous: int
    ) -> None:
        timestamp, offset = entry
        name = str(path.absolute())
        slot = bisect_right(positions, offset, key=lambda each: each[0]) - 1
        start = positions[slot][1] if slot >= 0 else 0
        found = next((batch for _, batch in file_batches(log, start) if batch.last_offset >= offset), None)
        if found is None or found.last_offset != offset:
            last_offset = -1 if found is None else found.last_offset
            self.findings.not_found.setdefault(name, []).append((offset, last_offset))
            return
        largest = max((record.timestamp for record in decode_records(found)), default=-1)
        if largest != timestamp:
            self.findings.timestamps.setdefault(name, []).append((timestamp, largest))
        if previous >= timestamp:
            self.findings.out_of_order.setdefault(name, []).append((timestamp, previous))


def txn_index(path: Path) -> Iterator[Document | str]:
    """The aborted transactions of a segment."""
    data = path.read_bytes()
    for values in _TXN_ENTRY.iter_unpack(data[: len(data) // _TXN_ENTRY.size * _TXN_ENTRY.size]):
        yield dict(zip(_TXN_FIELDS, values, strict=True))


def producer_snapshot(path: Path) -> Iterator[Document | str]:
    """The producers of a partition; CorruptSnapshotError if the file is damaged."""
    from ottla.log.producer_snapshot import decode_snapshot

    for entry in decode_snapshot(path.read_bytes()):
        document = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_first_offset,
            "lastTimestamp": entry.last_timestamp,
        }
        for batch in list(entry.batches)[:1]:
            document |= {
                "firstSequence": batch.first_sequence,
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
                "timestamp": batch.timestamp,
            }
        yield document


def entry_text(document: Document) -> str:
    """An entry as Kafka's tool prints it; only the first offset of a transaction can be missing."""
    return " ".join(
        f"{name}: {_optional(value) if name == 'currentTxnFirstOffset' else value}" for name, value in document.items()
    )


def _optional(value: object) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _positions(index: Path) -> list[tuple[int, int]]:
    entries = offset_entries(index)
    base = base_offset(index)
    end = next((slot for slot, (offset, _) in enumerate(entries) if slot and offset == base), len(entries))
    return entries[:end]


def _sane(path: Path, form: Struct, entries: list[tuple[int, int]]) -> str:
    damage = index_damage(path, form, entries)
    if damage is not None:
        raise CommandError(damage, hint="a broker rebuilds it at its start")
    return f"{path} passed sanity check."


def _existing(path: Path) -> Path:
    if not path.exists():
        raise CommandError(f"There is no {path}", hint="an index is dumped next to its log")
    return path
