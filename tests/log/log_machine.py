"""A machine in memory with logs on it: for tests of the log, of the log manager and of its housekeeping."""

from collections.abc import Mapping
from random import Random

from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.manager import LogManager
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import batches
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord, decode_records
from ottla.runtime.inline import InlineRuntime, ManualClock, run
from tests.sim.crash_files import CrashFiles, CrashPolicy

NOW_MS = 1_700_000_000_000
T0, T1, T2, T3 = (TopicPartition("topic", partition) for partition in range(4))
A, B = "/data/a", "/data/b"


def batch(
    count: int = 1,
    *,
    value_bytes: int = 10,
    timestamp: int = NOW_MS,
    base_offset: int = 0,
    epoch: int = 0,
    producer_id: int = -1,
    sequence: int = -1,
    transactional: bool = False,
) -> bytearray:
    """Records of this size, all with this timestamp and a key of their own."""
    return build_batch(
        [SimpleRecord(timestamp, b"%d" % number, bytes(value_bytes)) for number in range(count)],
        base_offset=base_offset,
        leader_epoch=epoch,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def append(log: Log, count: int = 1, *, epoch: int = 0, value_bytes: int = 10, timestamp: int = NOW_MS) -> None:
    """Append as a leader whose followers have everything at once."""
    log.append_as_leader(batch(count, value_bytes=value_bytes, timestamp=timestamp), epoch)
    log.update_high_watermark(log.log_end_offset)


def append_transaction(log: Log, producer_id: int, *, commit: bool | None, sequence: int = 0, count: int = 1) -> None:
    """Records in a transaction and its marker; None leaves it open."""
    log.append_as_leader(batch(count, producer_id=producer_id, sequence=sequence, transactional=True), 0)
    if commit is not None:
        end_transaction(log, producer_id, commit=commit)


def end_transaction(log: Log, producer_id: int, *, commit: bool) -> None:
    """Append a marker."""
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    marker = end_transaction_batch(
        EndTransactionMarker(kind, 0), timestamp=NOW_MS, producer_id=producer_id, producer_epoch=0
    )
    log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=1)


def offsets_in(data: bytes) -> list[int]:
    """The offsets of all records in these batches."""
    return [record.offset for one in batches(data) for record in decode_records(one)]


class Machine:
    """One disk and one clock. ``start`` makes a broker's log manager on it, as after switching the machine on."""

    def __init__(self, *directories: str, **config: object) -> None:
        self.clock = ManualClock(NOW_MS)
        self.files = CrashFiles(self.clock)
        self.runtime = InlineRuntime(self.files, self.clock, Random(0))
        self.rng = Random(1)
        self.config = BrokerLogConfig(
            log_dirs=directories or (A, B),
            transaction_partition_verification_enable=False,
            **config,  # type: ignore[arg-type]
        )
        self.overrides: dict[str, Mapping[str, object]] = {}
        self.failed_directories: list[str] = []

    def manager(self, cluster_id: str | None = None, node_id: int | None = None) -> LogManager:
        """A manager that has not been started."""
        return LogManager(
            self.runtime,
            self.config,
            topic_overrides=lambda topic: self.overrides.get(topic, {}),
            cluster_id=cluster_id,
            node_id=node_id,
            on_directory_failure=self.failed_directories.append,
        )

    def start(self, cluster_id: str | None = None, node_id: int | None = None) -> LogManager:
        """A manager that serves."""
        manager = self.manager(cluster_id, node_id)
        run(manager.start())
        return manager

    def crash(self, policy: CrashPolicy = CrashPolicy.DROP_UNSYNCED) -> None:
        """Lose power."""
        self.files.crash(self.rng, policy=policy)

    def write(self, path: str, data: bytes) -> None:
        """Put a file there, durably."""
        self.files.make_dir(path.rpartition("/")[0])
        file = self.files.open(path, create=True)
        file.truncate(0)
        file.pwrite(data, 0)
        file.close()
        self.files.sync_all()

    def names(self, path: str) -> list[str]:
        """What lies in a directory, but for the checkpoints and the lock of a data directory."""
        return [name for name in self.files.list_dir(path) if not name.endswith("-checkpoint") and name != ".lock"]

    def load(self, config: LogConfig | None = None, *, recovery_point: int = 0, clean: bool = False) -> Log:
        """One log without a manager, in directory A, which is there for good."""
        if not self.files.is_dir(A):
            self.files.make_dir(A)
            self.files.sync_all()
        context = LogContext(self.runtime, ProducerStateManagerConfig(transaction_verification_enabled=False))
        return load_log(
            context, f"{A}/topic-0", config or LogConfig(), recovery_point=recovery_point, clean_shutdown=clean
        )
