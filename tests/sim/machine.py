"""A broker's storage engine on a disk that crashes, with a ledger for each partition.

A scenario drives it; whenever the power goes off, ``reboot`` lets a new log manager start on what is left and holds
every log against its ledger. All times and all chance come from the machine, so a run repeats exactly.
"""

from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from random import Random
from typing import TypeVar

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.config.broker import BrokerLogConfig
from ottla.log.clean_shutdown import CLEAN_SHUTDOWN_FILE
from ottla.log.log import Log
from ottla.log.manager import LogManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord
from ottla.runtime.inline import ManualClock, run
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss
from tests.sim.lazy_runtime import LazyRuntime
from tests.sim.ledger import Ledger
from tests.sim.log_check import check_clean_below, check_log

T = TypeVar("T")

NOW_MS = 1_700_000_000_000
ROOT = "/srv/kafka"
PLAIN, COMPACTED, SHORT = TopicPartition("plain", 0), TopicPartition("compacted", 0), TopicPartition("short", 0)
TOPICS: Mapping[str, Mapping[str, object]] = {
    "plain": {"internal.segment.bytes": 1200, "index.interval.bytes": 150},
    "short": {"internal.segment.bytes": 700, "index.interval.bytes": 150, "retention.bytes": 1000},
    "compacted": {
        **{"internal.segment.bytes": 900, "index.interval.bytes": 150, "cleanup.policy": "compact"},
        **{"min.cleanable.dirty.ratio": 0.01, "delete.retention.ms": 0},
    },
}


class Machine:
    """See the module."""

    def __init__(self, directories: int = 1) -> None:
        self.clock = ManualClock(NOW_MS)
        self.disk = CrashFiles(self.clock)
        self.paths = tuple(f"{ROOT}/data-{number}" for number in range(directories))
        self.ledgers: dict[TopicPartition, Ledger] = {}
        self.topic_ids: dict[TopicPartition, Uuid] = {}
        self.directory_ids: dict[str, Uuid | None] = {}
        self.epoch = 0
        self.is_marked: bool | None = False
        """Whether the clean-shutdown marker must be there; None while it may."""
        self.is_moving = False
        """Whether a log is being replaced: between the two renames it is there twice, and an operator must decide."""
        self._sequences: dict[tuple[TopicPartition, int], int] = {}
        self._values = 0

    # -- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new broker on this disk."""
        self.is_marked = None
        self.runtime = LazyRuntime(self.disk, self.clock, Random(5))
        config = BrokerLogConfig(log_dirs=self.paths, transaction_partition_verification_enable=False)
        self.manager = LogManager(
            self.runtime, config, topic_overrides=TOPICS.__getitem__, cluster_id="tQjR8Zy5Rsa-zcGvmbTBuA", node_id=1
        )
        run(self.manager.start())
        for directory in self.manager.directories:
            assert directory.is_online, f"{directory.path} is offline: {directory.failure}"
            assert self.directory_ids.setdefault(directory.path, directory.directory_id) == directory.directory_id
        self.is_marked = False

    def stop(self) -> None:
        """An orderly end: everything is promised."""
        self.is_marked = None
        run(self.manager.stop())
        for ledger in self.ledgers.values():
            ledger.flushed(ledger.current.end)
            ledger.start_min = max(ledger.start_min, ledger.start_max)
        self.is_marked = True

    def crashed(self, rng: Random, policy: CrashPolicy) -> "Machine":
        """This machine after a power loss, while this one stays as it is."""
        other = Machine.__new__(Machine)
        other.__dict__.update(self.__dict__)
        other.disk = self.disk.crashed_copy(rng, policy=policy)
        other.disk.ignore_sync_at(self.disk.sync_ignored)
        other.ledgers = {partition: ledger.copy() for partition, ledger in self.ledgers.items()}
        return other

    def reboot(self) -> None:
        """Start after a crash and check everything."""
        if self.is_marked is not None and self.disk.exists(self.paths[0]):
            for path in self.paths:
                assert self.disk.exists(f"{path}/{CLEAN_SHUTDOWN_FILE}") == self.is_marked, "the clean-shutdown marker"
        try:
            self.start()
        except KafkaStorageError as error:
            if self.is_moving and "Duplicate log directories" in str(error):
                return
            raise
        self.check()

    def check(self) -> None:
        """Hold every log against its ledger."""
        cleaned = self.manager.cleaner.cleaner_checkpoints()
        for partition, ledger in self.ledgers.items():
            log = self.manager.logs.get(partition)
            if log is None:
                assert not ledger.exists, f"{partition} is lost"
                continue
            assert not ledger.must_be_gone, f"{partition} is back"
            assert partition not in self.topic_ids or log.topic_id == self.topic_ids[partition]
            check_log(log, ledger)
            log.update_high_watermark(log.log_end_offset)
            if ledger.compacted:
                check_clean_below(log, cleaned.get(partition, 0))

    # -- what a scenario does -----------------------------------------------------------------------------------------

    def create(self, partition: TopicPartition, topic_id: Uuid | None = None) -> Log:
        ledger = self.ledgers.setdefault(partition, Ledger(compacted=partition == COMPACTED))
        ledger.exists = False
        log = self.manager.get_or_create_log(partition, topic_id)
        ledger.exists = True
        if topic_id is not None:
            self.topic_ids[partition] = topic_id
        return log

    def log(self, partition: TopicPartition) -> Log:
        return self.manager.logs[partition]

    def append(
        self,
        partition: TopicPartition,
        count: int = 1,
        *,
        keys: tuple[bytes, ...] = (),
        tombstone: bool = False,
        producer_id: int = -1,
        transactional: bool = False,
    ) -> None:
        """One batch, of ``count`` records or one for each key."""
        self.clock.advance_ms(5)
        records = []
        for key in keys or tuple(b"key %d" % (self._values + number) for number in range(count)):
            self._values += 1
            records.append(SimpleRecord(self.clock.now_ms(), key, None if tombstone else b"value %d" % self._values))
        sequence = self._sequences.get((partition, producer_id), 0)
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else 0,
            base_sequence=-1 if producer_id < 0 else sequence,
            transactional=transactional,
        )
        self._append(partition, batch, AppendOrigin.CLIENT)
        self._sequences[partition, producer_id] = sequence + len(records)

    def end_transaction(self, partition: TopicPartition, producer_id: int, kind: ControlRecordType) -> None:
        marker = EndTransactionMarker(kind, 0)
        now_ms = self.clock.now_ms()
        batch = end_transaction_batch(marker, timestamp=now_ms, producer_id=producer_id, producer_epoch=0)
        self._append(partition, batch, AppendOrigin.COORDINATOR)

    def _append(self, partition: TopicPartition, batch: bytearray, origin: AppendOrigin) -> None:
        log = self.log(partition)
        self.ledgers[partition].intend(batch, log.log_end_offset, self.epoch)
        log.append_as_leader(batch, self.epoch, origin, transaction_version=1)
        log.update_high_watermark(log.log_end_offset)

    def flush(self, partition: TopicPartition) -> None:
        end = self.log(partition).log_end_offset
        run(self.log(partition).flush())
        self.ledgers[partition].flushed(end)

    def checkpoint(self) -> None:
        starts = {partition: log.log_start_offset for partition, log in self.manager.logs.items()}
        run(self.manager.checkpoint_recovery_points())
        run(self.manager.checkpoint_log_start_offsets())
        for partition, start in starts.items():
            self.ledgers[partition].start_min = start

    def delete_records(self, partition: TopicPartition, offset: int) -> None:
        self.ledgers[partition].start_max = offset
        self.log(partition).maybe_increment_log_start_offset(offset, "client delete records deletion")

    def retain(self, partition: TopicPartition) -> int:
        ledger = self.ledgers[partition]
        ledger.start_max = max(ledger.start_max, self.log(partition).segments.active.base_offset)
        return self.manager.clean_up_logs()

    def run_deletions(self) -> None:
        self.clock.advance_ms(3_600_000)
        self.manager.context.deletions.run_due()

    def truncate(self, partition: TopicPartition, offset: int) -> None:
        self.ledgers[partition].truncate(offset)
        self._sequences.clear()
        run(self.manager.truncate_to(partition, offset))
        self.ledgers[partition].histories = [self.ledgers[partition].current]

    def truncate_fully(self, partition: TopicPartition, offset: int) -> None:
        self.ledgers[partition].truncate_fully(offset)
        self._sequences.clear()
        run(self.manager.truncate_fully_and_start_at(partition, offset))

    def clean(self) -> None:
        stats = run(self.manager.cleaner.clean_filthiest())
        assert stats is not None, "nothing was cleaned"

    def delete(self, partition: TopicPartition) -> None:
        self.ledgers[partition].exists = False
        run(self.manager.delete_log(partition))
        self.ledgers[partition].must_be_gone = True

    def drive(self, awaitable: Awaitable[T]) -> T:
        """Anything else."""
        return run(awaitable)

    def copy_to_future(self, partition: TopicPartition) -> None:
        """A copy in another data directory that has caught up."""
        current = self.log(partition)
        other = next(path for path in self.paths if path != current.data_directory)
        future = self.manager.get_or_create_log(partition, is_future=True, directory=other)
        for batch in self.ledgers[partition].current.batches:
            future.append_as_follower(bytearray(batch), self.epoch)
        run(future.flush())

    def replace_current_with_future(self, partition: TopicPartition) -> None:
        self.is_moving = True
        run(self.manager.replace_current_with_future(partition))
        self.is_moving = False

    def interrupt(self, partition: TopicPartition, action: Callable[[], None], renames: int) -> None:
        """Let the power go off after so many renames of a partition's files; what was done is kept."""
        directory = self.log(partition).directory
        rename, done = self.disk.rename, count()

        def rename_or_stop(source: str, target: str) -> None:
            if source.startswith(directory) and next(done) == renames:
                self.disk.power_off_after(0)
            rename(source, target)

        self.disk.rename = rename_or_stop  # type: ignore[method-assign]
        try:
            action()
        except PowerLoss:
            del self.disk.rename
        else:
            raise AssertionError(f"it ended before {renames} renames")
        self._power_off()

    # -- what happens to a disk that is off ---------------------------------------------------------------------------

    def damage(self, partition: TopicPartition, *, segment: int) -> None:
        """Power off, all kept; one byte in the middle of a segment flipped."""
        damaged = self.log(partition).segments.values()[segment]
        batches = list(damaged.read_batches())
        batch = batches[len(batches) // 2]
        position = sum(before.size_in_bytes for before in batches[: len(batches) // 2]) + batch.size_in_bytes - 1
        self.ledgers[partition].damaged_from = batch.base_offset
        path = damaged.log_file.path
        self._power_off()
        file = self.disk.open(path)
        file.pwrite(bytes([file.pread(1, position)[0] ^ 1]), position)
        self.disk.sync_all()

    def lose(self, partition: TopicPartition, *names: str) -> None:
        """Power off, all kept but these files."""
        directory = self.log(partition).directory
        self._power_off()
        for name in names:
            self.disk.remove(f"{directory}/{name}")
        self.disk.sync_all()

    def _power_off(self) -> None:
        self.disk.crash(Random(1), policy=CrashPolicy.KEEP_ALL)
        self.is_marked = None
