"""A partition's directory in memory: written once, copied for every test, opened as after a crash or a clean stop."""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.txn_index import AbortedTxn
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.runtime.inline import InlineRuntime, ManualClock
from tests.sim.crash_files import CrashFiles

DATA_DIRECTORY = "/data"
DIRECTORY = f"{DATA_DIRECTORY}/topic-0"
NOW_MS = 1_700_000_000_000

Contents = Mapping[str, bytes]
"""File name → bytes, for the files of one partition's directory."""


def new_context(files: CrashFiles | None = None, clock: ManualClock | None = None, seed: int = 0) -> LogContext:
    """A machine in memory; transactions need no verification, since there is no coordinator to ask."""
    clock = clock or ManualClock(NOW_MS)
    runtime = InlineRuntime(files or CrashFiles(clock), clock, Random(seed))
    return LogContext(runtime, ProducerStateManagerConfig(transaction_verification_enabled=False))


def disk_of(contents: Contents, directory: str = DIRECTORY) -> CrashFiles:
    """A disk that holds these files, durably."""
    files = CrashFiles(ManualClock(NOW_MS))
    files.make_dir(directory)
    for name, data in contents.items():
        file = files.open(f"{directory}/{name}", create=True)
        file.pwrite(data, 0)
        file.close()
    files.sync_all()
    return files


def contents_of(files: CrashFiles, directory: str = DIRECTORY) -> dict[str, bytes]:
    """The files of a directory."""
    return {name: files.read(f"{directory}/{name}") for name in files.list_dir(directory)}


def open_log(
    contents: Contents,
    config: LogConfig,
    *,
    recovery_point: int = 0,
    clean_shutdown: bool = False,
    log_start_offset: int = 0,
) -> Log:
    """Load a copy of these files, by default as after a crash with nothing flushed."""
    return load_log(
        new_context(disk_of(contents)),
        DIRECTORY,
        config,
        recovery_point=recovery_point,
        clean_shutdown=clean_shutdown,
        log_start_offset=log_start_offset,
    )


def append_marker(log: Log, epoch: int, kind: ControlRecordType, producer_id: int, producer_epoch: int = 0) -> None:
    """End a producer's transaction as the coordinator does."""
    marker = end_transaction_batch(
        EndTransactionMarker(kind, 1),
        timestamp=log.context.runtime.clock.now_ms(),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    log.append_as_leader(marker, epoch, AppendOrigin.COORDINATOR, transaction_version=1)


class Producer(NamedTuple):
    """What must be the same after recovery of what is known of a producer; older batches are a matter of snapshots."""

    producer_epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int | None


class Observed(NamedTuple):
    """All that a loaded log knows and holds."""

    log_start_offset: int
    log_end_offset: int
    batches: tuple[bytes, ...]
    indexes: Mapping[str, bytes]
    aborted: Mapping[int, tuple[AbortedTxn, ...]]
    producers: Mapping[int, Producer]
    first_unstable_offset: int | None
    epochs: tuple[tuple[int, int], ...]


def observe(log: Log) -> Observed:
    """Look at everything; index files as they are on the disk."""
    files = log.context.runtime.files
    indexes: dict[str, bytes] = {}
    for name in files.list_dir(log.directory):
        if name.endswith((".index", ".timeindex", ".txnindex")):
            indexes[name] = files.read(f"{log.directory}/{name}")
    return Observed(
        log.log_start_offset,
        log.log_end_offset,
        tuple(stored_batches(log)),
        indexes,
        {segment.base_offset: tuple(segment.txn_index.entries()) for segment in log.segments.values()},
        {
            producer_id: Producer(
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_data_offset,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
            for producer_id, entry in sorted(log.producer_state.active_producers.items())
        },
        log.first_unstable_offset,
        tuple(log.leader_epochs.entries),
    )


def stored_batches(log: Log) -> list[bytes]:
    """The bytes of every batch in every segment; fails on a byte that belongs to none."""
    found: list[bytes] = []
    for segment in log.segments.values():
        data = segment.log_file.pread(segment.size, 0)
        found += split_batches(data)
    return found


def split_batches(data: bytes) -> list[bytes]:
    """Whole batches, one after the other."""
    found: list[bytes] = []
    position = 0
    while position < len(data):
        size = RecordBatch(data, position).size_in_bytes
        assert HEADER_BYTES <= size <= len(data) - position, f"no whole batch at position {position}"
        found.append(data[position : position + size])
        position += size
    return found


def read_from(log: Log, offset: int, max_bytes: int = 1 << 20) -> bytes:
    """What a fetch at ``offset`` gets, from one segment."""
    return log.read(offset, max_bytes).read()


def read_everything(log: Log, max_bytes: int = 1 << 20) -> list[bytes]:
    """All batches as a consumer gets them, fetch after fetch from the log start offset on."""
    found: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        fetched = split_batches(read_from(log, offset, max_bytes))
        if not fetched:
            break
        found += fetched
        offset = RecordBatch(fetched[-1]).next_offset
    return found
