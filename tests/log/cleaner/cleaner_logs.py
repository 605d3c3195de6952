"""Logs to clean: built by appending as a leader does, cleaned in place, read back record by record."""

from collections.abc import Iterable
from random import Random

from ottla.common.topic_partition import TopicPartition
from ottla.config.broker import BrokerLogConfig
from ottla.config.topic import LogConfig
from ottla.log.cleaner.log_cleaner import LogCleaner
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import Record, SimpleRecord, decode_records
from ottla.runtime.inline import InlineRuntime, ManualClock

NOW_MS = 4_000_000_000_000
"""In 2096, so that no producer has expired where Apache Kafka looks at the machine's clock."""
PARTITION = TopicPartition("compacted", 0)


class CleanerBench:
    """One data directory with one compacted log, and a cleaner whose time stands still."""

    def __init__(
        self, directory: str, props: dict[str, str] | None = None, broker: BrokerLogConfig | None = None
    ) -> None:
        self.clock = ManualClock(NOW_MS)
        self.runtime = InlineRuntime(clock=self.clock, rng=Random(7))
        self.context = LogContext(self.runtime, ProducerStateManagerConfig(transaction_verification_enabled=False))
        self.directory = directory
        self.config = LogConfig.from_props(
            {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", **(props or {})}
        )
        self.log = self.load()
        self.logs: dict[TopicPartition, Log] = {PARTITION: self.log}
        self.broker = broker or BrokerLogConfig()
        self.cleaner = LogCleaner(self.runtime, self.broker, self.logs, [directory])
        self._sequences: dict[int, int] = {}

    def load(self) -> Log:
        """Open the log anew."""
        return load_log(self.context, f"{self.directory}/{PARTITION.topic}-{PARTITION.partition}", self.config)

    def append(
        self,
        records: Iterable[tuple[bytes | None, bytes | None]],
        *,
        codec: int = 0,
        producer_id: int = -1,
        transactional: bool = False,
        timestamp: int = NOW_MS,
    ) -> None:
        """Append one batch; an idempotent or transactional producer's sequence goes on."""
        simple = [SimpleRecord(timestamp + index, key, value) for index, (key, value) in enumerate(records)]
        sequence = self._sequences.get(producer_id, 0) if producer_id >= 0 else -1
        self.append_batch(
            build_batch(
                simple,
                compression=codec,
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequence,
                transactional=transactional,
            )
        )
        if producer_id >= 0:
            self._sequences[producer_id] = sequence + len(simple)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Append a marker."""
        marker = EndTransactionMarker(ControlRecordType.COMMIT if commit else ControlRecordType.ABORT, 0)
        batch = end_transaction_batch(marker, timestamp=NOW_MS, producer_id=producer_id, producer_epoch=0)
        self.append_batch(batch, AppendOrigin.COORDINATOR)

    def append_batch(self, batch: bytearray, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
        """Append as a leader, and replicate at once."""
        self.log.append_as_leader(batch, 0, origin, transaction_version=1)
        self.log.update_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        """Seal the active segment, so that it can be cleaned."""
        if self.log.segments.active.size:
            self.log.roll()

    def batches(self) -> list[RecordBatch]:
        """All batches, with valid checksums."""
        found = [batch for segment in self.log.segments.values() for batch in segment.read_batches()]
        for batch in found:
            batch.ensure_valid()
        return found

    def records(self) -> list[Record]:
        """All data records."""
        return [record for batch in self.batches() if not batch.is_control for record in decode_records(batch)]

    def values(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Offset, key and value of all data records."""
        return [(record.offset, record.key, record.value) for record in self.records()]
