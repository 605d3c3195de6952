"""The partition that the damage tests damage: several segments, producers, transactions, codecs and leader epochs."""

from functools import cache
from typing import NamedTuple

from ottla.common.uuid import Uuid
from ottla.config.topic import LogConfig
from ottla.log import names
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.records.batch import RecordBatch
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.compression import Compression
from ottla.records.control import ControlRecordType
from ottla.runtime.inline import ManualClock, run
from tests.log.partition_disk import (
    DIRECTORY,
    NOW_MS,
    Contents,
    Observed,
    append_marker,
    contents_of,
    new_context,
    observe,
    open_log,
    split_batches,
)
from tests.sim.crash_files import CrashFiles

CONFIG = LogConfig(segment_bytes=1400, index_interval_bytes=220)
TOPIC_ID = Uuid.from_string("Ar3u7SNGQHWe_rmJkZm2Nw")


class StoredBatch(NamedTuple):
    """Where a batch lies in the template."""

    number: int
    segment_base_offset: int
    position: int
    data: bytes

    @property
    def view(self) -> RecordBatch:
        return RecordBatch(self.data)

    @property
    def file_name(self) -> str:
        return names.log_file_name(self.segment_base_offset)


class Template(NamedTuple):
    """Files as a crash left them, and what they hold."""

    contents: Contents
    batches: tuple[StoredBatch, ...]
    recovered: Observed
    """After recovery of the undamaged files."""
    written: Observed
    """Before the crash."""

    @property
    def base_offsets(self) -> tuple[int, ...]:
        return tuple(sorted({batch.segment_base_offset for batch in self.batches}))

    def batches_of(self, file_name: str) -> list[StoredBatch]:
        return [batch for batch in self.batches if batch.file_name == file_name]

    def batch_at(self, file_name: str, position: int) -> StoredBatch:
        """The batch that a byte of a record file belongs to."""
        return next(
            batch
            for batch in self.batches_of(file_name)
            if batch.position <= position < batch.position + len(batch.data)
        )


class Writer:
    """Appends what a test asks for, with growing timestamps and sequences."""

    def __init__(self, log: Log, clock: ManualClock) -> None:
        self.log, self.clock = log, clock
        self.epoch = 0
        self._sequences: dict[int, int] = {}

    def data(
        self, count: int = 2, *, producer_id: int = -1, transactional: bool = False, codec: int = Compression.NONE
    ) -> None:
        """One batch of ``count`` records."""
        self.clock.advance_ms(10)
        end = self.log.log_end_offset
        records = [SimpleRecord(self.clock.now_ms(), b"k%d" % (end + i), b"value %d" % (end + i)) for i in range(count)]
        sequence = self._sequences.get(producer_id, 0)
        batch = build_batch(
            records,
            compression=codec,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=-1 if producer_id < 0 else sequence,
            transactional=transactional,
        )
        self.log.append_as_leader(batch, self.epoch)
        self._sequences[producer_id] = sequence + count

    def marker(self, kind: ControlRecordType, producer_id: int) -> None:
        """The end of a transaction."""
        self.clock.advance_ms(10)
        append_marker(self.log, self.epoch, kind, producer_id)


def write_history(writer: Writer) -> None:
    """Three segments and a bit: every kind of batch in each, transactions that cross the rolls, three epochs."""
    for round_number, epoch in enumerate((0, 2, 2, 5)):
        writer.epoch = epoch
        writer.data(3)
        writer.data(producer_id=7, codec=Compression.LZ4)
        writer.data(producer_id=8, transactional=True)
        writer.data(4, codec=Compression.GZIP)
        writer.data(producer_id=9, transactional=True, codec=Compression.ZSTD)
        writer.marker(ControlRecordType.COMMIT if round_number % 2 else ControlRecordType.ABORT, 8)
        writer.data(1, producer_id=7, codec=Compression.SNAPPY)
        writer.data(producer_id=8, transactional=True)
        writer.data(1)
        writer.marker(ControlRecordType.ABORT, 8)
        if round_number % 2:
            writer.marker(ControlRecordType.ABORT, 9)
    writer.data(2, producer_id=9, transactional=True)
    for _ in range(3):
        writer.data(2)
        writer.data(1, producer_id=7)


def stored_batches_of(contents: Contents) -> tuple[StoredBatch, ...]:
    """Every batch of the record files, in order."""
    found: list[StoredBatch] = []
    for name in sorted(name for name in contents if names.is_log_file(name)):
        position = 0
        for data in split_batches(contents[name]):
            found.append(StoredBatch(len(found), names.offset_from_file_name(name), position, data))
            position += len(data)
    return tuple(found)


@cache
def template() -> Template:
    """Made once a process. The crash kept all that was written: what can be lost is another test's business."""
    clock = ManualClock(NOW_MS)
    files = CrashFiles(clock)
    log = load_log(new_context(files, clock), DIRECTORY, CONFIG)
    log.assign_topic_id(TOPIC_ID)
    write_history(Writer(log, clock))
    log.update_high_watermark(log.log_end_offset)
    run(log.flush())
    contents = contents_of(files)
    return Template(contents, stored_batches_of(contents), observe(open_log(contents, CONFIG)), observe(log))
