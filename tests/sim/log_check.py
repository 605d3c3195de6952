"""Holds a log that was opened after a crash against the ledger of what was appended to it."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from ottla.log import names
from ottla.log.leader_epochs import LeaderEpochs
from ottla.log.log import Log
from ottla.log.producer_table import ProducerTable
from ottla.log.segment import LogSegment
from ottla.log.txn_index import AbortedTxn
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch, batches
from ottla.records.control import ControlRecordType, control_type
from ottla.records.record import Record, decode_records
from tests.sim.ledger import History, Ledger

TEMPORARY = (names.CLEANED_SUFFIX, names.SWAP_SUFFIX, names.DELETED_SUFFIX)


class ProducerFacts(NamedTuple):
    """What must be known of a producer after a start; older batches are a matter of snapshots."""

    producer_epoch: int
    last_sequence: int
    last_offset: int
    current_txn_first_offset: int | None


class Replayed(NamedTuple):
    """What the batches of a history say."""

    producers: dict[int, ProducerFacts]
    aborted: list[AbortedTxn]
    epochs: LeaderEpochs


def check_log(log: Log, ledger: Ledger) -> None:
    """AssertionError unless the log holds one of the ledger's histories, soundly; the ledger then settles on it."""
    problems: list[str] = []
    for history in reversed(ledger.histories):
        try:
            _check(log, ledger, history)
        except AssertionError as problem:
            problems.append(str(problem))
        else:
            ledger.settle(history, log.log_start_offset, log.log_end_offset)
            return
    raise AssertionError("; or: ".join(problems))


def _check(log: Log, ledger: Ledger, history: History) -> None:
    start, end = log.log_start_offset, log.log_end_offset
    assert start <= end
    assert ledger.start_min <= start, f"the log starts at {start}, but {ledger.start_min} was checkpointed"
    assert start <= ledger.start_max, f"the log starts at {start}, and nobody moved it past {ledger.start_max}"
    if ledger.damaged_from is None:
        assert end >= history.flushed_end, f"flushed up to {history.flushed_end}, but the log ends at {end}"
    else:
        assert end == ledger.damaged_from, f"damaged from {ledger.damaged_from} on, and the log ends at {end}"
    stored = _stored_batches(log)
    served = served_batches(log)
    assert served == [data for data in stored if RecordBatch(data).last_offset >= start], "served is not what is stored"
    expected = history.up_to(end).batches
    assert (RecordBatch(expected[-1]).next_offset if expected else start) == end or end == start, "a batch was cut"
    if ledger.compacted:
        _check_compacted(served, expected, start, history.flushed_end if ledger.holes_allowed else end)
    else:
        _check_equal(served, [data for data in expected if RecordBatch(data).last_offset >= start])
    replayed = replay(expected)
    _check_epochs(log, replayed)
    _check_producers(log, replayed, served, ledger)
    _check_transactions(log, replayed, served, aborted_offsets(expected), ledger)
    for segment in log.segments.values():
        _check_indexes(segment, is_active=segment is log.segments.active)
    _check_files(log)


def _check_equal(found: list[bytes], expected: list[bytes]) -> None:
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert one == other, f"batch {number} is {RecordBatch(one)}, and {RecordBatch(other)} was appended"
    assert len(found) == len(expected), f"{len(found)} batches are served, and {len(expected)} were appended"


def _stored_batches(log: Log) -> list[bytes]:
    """All batches of all segments: whole, sound, each offset once, each in its segment."""
    found: list[bytes] = []
    next_offset = 0
    for segment in log.segments.values():
        assert segment.base_offset >= next_offset, f"{segment} overlaps the one before, which ends at {next_offset}"
        data = segment.log_file.pread(segment.size, 0)
        position = 0
        while position < len(data):
            batch = RecordBatch(data, position)
            batch.ensure_complete()
            batch.ensure_valid()
            assert batch.base_offset >= max(next_offset, segment.base_offset), f"{batch} is served twice"
            next_offset = batch.next_offset
            found.append(bytes(batch.bytes))
            position += batch.size_in_bytes
    return found


def served_batches(log: Log) -> list[bytes]:
    """What a consumer gets, fetch after fetch."""
    found: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20).read()
        if not data:
            break
        for batch in batches(data):
            found.append(bytes(batch.bytes))
            offset = batch.next_offset
    return found


# -- compaction -------------------------------------------------------------------------------------------------------


def _check_compacted(served: list[bytes], expected: list[bytes], start: int, required_end: int) -> None:
    """What is served was appended; what is missing was aborted, or a later record of its key is there or deleted it."""
    aborted = aborted_offsets(expected)
    written = {record.offset: record for record in data_records(expected)}
    found = {record.offset: record for record in data_records(served)}
    for offset, record in found.items():
        assert record == written.get(offset), f"{record} is not what was appended: {written.get(offset)}"
    latest = {
        record.key: offset
        for offset, record in written.items()
        if offset not in aborted and (offset in found or record.value is None)
    }
    for offset, record in written.items():
        if start <= offset < required_end and offset not in found and offset not in aborted:
            assert latest.get(record.key, -1) >= offset, f"{record} is lost, and no later one has its key"


def check_clean_below(log: Log, offset: int) -> None:
    """Below the cleaner's checkpoint each key occurs once, or compaction has been forgotten."""
    served = served_batches(log)
    aborted = aborted_offsets(served)
    keys = Counter(r.key for r in data_records(served) if r.offset < offset and r.offset not in aborted)
    twice = [key for key, count in keys.items() if count > 1]
    assert not twice, f"the cleaner's checkpoint says {offset}, and below it are keys twice: {twice}"


def data_records(data: Iterable[bytes]) -> Iterable[Record]:
    """The records of batches, without markers."""
    for batch in map(RecordBatch, data):
        if not batch.is_control:
            yield from decode_records(batch)


def aborted_offsets(data: Iterable[bytes]) -> set[int]:
    """The offsets of records whose transaction an abort marker ends."""
    open_offsets: dict[int, list[int]] = {}
    found: set[int] = set()
    for batch in map(RecordBatch, data):
        if batch.is_control:
            offsets = open_offsets.pop(batch.producer_id, [])
            if control_type(next(iter(decode_records(batch)))) is ControlRecordType.ABORT:
                found.update(offsets)
        elif batch.is_transactional:
            open_offsets.setdefault(batch.producer_id, []).extend(record.offset for record in decode_records(batch))
    return found


# -- what is derived from batches -------------------------------------------------------------------------------------


def replay(data: Iterable[bytes]) -> Replayed:
    """Follow a history as a leader did who wrote it."""
    table = ProducerTable(None)  # type: ignore[arg-type]
    epochs = LeaderEpochs()
    aborted: list[AbortedTxn] = []
    for batch in map(RecordBatch, data):
        if batch.partition_leader_epoch >= 0:
            epochs.assign(batch.partition_leader_epoch, batch.base_offset)
        if batch.producer_id >= 0:
            pending = table.check((batch,), AppendOrigin.REPLICATION)
            table.apply(pending)
            for txn in pending.completed_txns:
                if txn.is_aborted:
                    lso = table.last_stable_offset(txn)
                    aborted.append(AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, lso))
                table.complete_txn(txn)
    return Replayed(producer_facts(table), aborted, epochs)


def producer_facts(table: ProducerTable) -> dict[int, ProducerFacts]:
    """What a table knows."""
    return {
        producer_id: ProducerFacts(
            entry.producer_epoch, entry.last_sequence, entry.last_data_offset, entry.current_txn_first_offset
        )
        for producer_id, entry in table.active_producers.items()
    }


def _check_epochs(log: Log, replayed: Replayed) -> None:
    replayed.epochs.truncate_from_start(log.log_start_offset)
    replayed.epochs.truncate_from_end(log.log_end_offset)
    known, expected = log.leader_epochs.entries, replayed.epochs.entries
    assert known == expected, f"leader epochs are {known}, and the batches say {expected}"


def _check_producers(log: Log, replayed: Replayed, served: list[bytes], ledger: Ledger) -> None:
    """Producers with data in the log are known exactly; what is known of others comes from snapshots, or markers."""
    known = producer_facts(log.producer_state)
    views = [RecordBatch(data) for data in served]
    wanted = [batch for batch in views if not batch.is_control and batch.last_offset >= ledger.wanted_from]
    present = {batch.producer_id for batch in wanted} - {-1}
    for producer_id in sorted(present | known.keys() | ledger.remembered_producers):
        facts, expected = known.get(producer_id), replayed.producers.get(producer_id)
        is_exact = producer_id in present or producer_id in ledger.remembered_producers
        if not is_exact and facts is not None and expected is not None and facts.last_sequence < 0:
            expected = expected._replace(last_sequence=-1, last_offset=-1)
        txn_first_offset = expected.current_txn_first_offset if expected is not None else None
        if txn_first_offset is not None and txn_first_offset < ledger.wanted_from and facts is not None:
            facts = facts._replace(current_txn_first_offset=txn_first_offset)  # where it began was given up
        assert facts == expected, f"producer {producer_id} is known as {facts}, and wrote {expected}"


def _check_transactions(log: Log, replayed: Replayed, served: list[bytes], aborted: set[int], ledger: Ledger) -> None:
    """A READ_COMMITTED consumer, who skips by the transaction index, sees nothing that was aborted, and all else."""
    indexed = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    if not ledger.compacted:
        # Of a transaction whose first records were given up, nobody need know that there is something to skip.
        expected = {
            (txn.producer_id, txn.last_offset): txn.first_offset >= ledger.wanted_from for txn in replayed.aborted
        }
        found = {(txn.producer_id, txn.last_offset) for txn in indexed}
        missing = {txn for txn, is_whole in expected.items() if is_whole} - found
        assert not missing, f"aborted, and not in the index, by producer and marker: {sorted(missing)}"
        assert found <= expected.keys(), f"in the index, and not aborted: {sorted(found - expected.keys())}"
    skipped = {(txn.producer_id, offset) for txn in indexed for offset in range(txn.first_offset, txn.last_offset + 1)}
    for batch in map(RecordBatch, served):
        if batch.is_transactional and not batch.is_control:
            for record in decode_records(batch):
                is_skipped = (batch.producer_id, record.offset) in skipped
                is_served = not is_skipped and record.offset >= ledger.wanted_from
                assert not is_served or record.offset not in aborted, f"{record} was aborted, and is served"
                assert not is_skipped or record.offset in aborted, f"{record} was not aborted, and is skipped"


# -- files ------------------------------------------------------------------------------------------------------------


def _check_indexes(segment: LogSegment, *, is_active: bool) -> None:
    """Every entry is true, there are enough of them, and retention finds the largest timestamp."""
    ends: dict[int, int] = {}
    largest = -1
    position = widest = 0
    for batch in segment.read_batches():
        ends[batch.last_offset] = position
        largest = max(largest, batch.max_timestamp)
        widest = max(widest, batch.size_in_bytes)
        position += batch.size_in_bytes
    index = segment.offset_index
    entries = [index.entry(slot) for slot in range(index.count)]
    for entry in entries:
        assert ends.get(entry.offset) == entry.position, f"{entry} of {segment} is wrong"
    positions = [0, *(entry.position for entry in entries), segment.size]
    gap = max(after - before for before, after in pairwise(positions))
    # Between two entries lies one interval and the batches that straddle its ends; a clean start counts from zero.
    assert gap <= 2 * (segment.index_interval_bytes + 2 * widest), f"{segment} has no index entry for {gap} bytes"
    found = segment.max_timestamp_and_offset.timestamp
    assert found == largest, f"the largest timestamp of {segment} is {largest}, and retention goes by {found}"
    if not is_active and largest >= 0:
        assert segment.time_index.last_entry.timestamp == largest


def _check_files(log: Log) -> None:
    present = log.context.runtime.files.list_dir(log.directory)
    leftovers = [name for name in present if name.endswith(TEMPORARY)]
    assert not leftovers, f"left over: {leftovers}"
    bases = set(log.segments.base_offsets)
    for name in present:
        if names.is_log_file(name) or names.is_index_file(name):
            assert names.offset_from_file_name(name) in bases, f"{name} belongs to no segment of {bases}"
