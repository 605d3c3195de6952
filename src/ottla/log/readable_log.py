"""The reading side of a log: its offsets, and what each kind of reader may see.

Offsets, in order: ``log_start_offset`` ≤ ``last_stable_offset`` ≤ ``high_watermark`` ≤ ``log_end_offset``. The log
owns all four; replication advances the high watermark.
"""

import logging
from enum import Enum

from ottla.common.errors import OffsetOutOfRangeError
from ottla.common.topic_partition import TopicPartition
from ottla.config.topic import LogConfig
from ottla.log.disk_guard import DiskGuard
from ottla.log.leader_epochs import LeaderEpochCache
from ottla.log.local_log import FetchData, LocalLog
from ottla.log.log_context import LogContext
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.producer_state import ProducerStateManager
from ottla.log.segments import LogSegments
from ottla.log.txn_index import AbortedTxn

logger = logging.getLogger(__name__)


class FetchIsolation(Enum):
    """How far a reader may see: followers to the end, consumers to the high watermark or the last stable offset."""

    LOG_END = "log_end"
    HIGH_WATERMARK = "high_watermark"
    TXN_COMMITTED = "txn_committed"


class ReadableLog:
    """See the module; :class:`ottla.log.log.Log` adds everything that writes."""

    def __init__(
        self,
        local: LocalLog,
        *,
        log_start_offset: int,
        epochs: LeaderEpochCache,
        producer_state: ProducerStateManager,
    ) -> None:
        self.context: LogContext = local.context
        self.topic_partition: TopicPartition = local.topic_partition
        self.local = local
        self.log_start_offset = log_start_offset
        self.high_watermark = log_start_offset
        self.leader_epochs = epochs
        self.producer_state = producer_state
        self.disk = DiskGuard(local, self.context.on_disk_failure)
        self._known_position: LogOffsetMetadata | None = None

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def config(self) -> LogConfig:
        """The topic's configuration."""
        return self.local.config

    @property
    def directory(self) -> str:
        """The partition's directory."""
        return self.local.directory

    @property
    def data_directory(self) -> str:
        """The data directory that it lies in."""
        return self.local.directory.rpartition("/")[0]

    @property
    def segments(self) -> LogSegments:
        """The segments, oldest first."""
        return self.local.segments

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.local.log_end_offset

    @property
    def recovery_point(self) -> int:
        """Everything below it is on the disk."""
        return self.local.recovery_point

    @property
    def size_in_bytes(self) -> int:
        """The bytes of all segments."""
        return self.segments.size_in_bytes

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest undecided transaction begins, within the log."""
        first = self.producer_state.first_unstable_offset()
        return None if first is None else max(first.message_offset, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """READ_COMMITTED consumers see what lies below: no undecided transaction reaches there."""
        first = self.first_unstable_offset
        return self.high_watermark if first is None else min(first, self.high_watermark)

    # -- reading ------------------------------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        max_bytes: int,
        isolation: FetchIsolation = FetchIsolation.LOG_END,
        *,
        min_one_message: bool = True,
    ) -> FetchData:
        """Batches from the one that holds ``start_offset`` on, as a range of a file; at most one segment's."""
        if start_offset < self.log_start_offset:
            raise OffsetOutOfRangeError(
                f"Received request for offset {start_offset} for partition {self.topic_partition}, but we only have "
                f"log segments starting from offset: {self.log_start_offset}."
            )
        self.disk.check()
        try:
            return self.local.read(
                start_offset,
                max_bytes,
                self.read_limit(isolation),
                min_one_message=min_one_message,
                with_aborted=isolation is FetchIsolation.TXN_COMMITTED,
            )
        except OSError as error:
            raise self.disk.failed("reading", error) from error

    async def load(self, data: FetchData, what: str) -> bytes:
        """The bytes that a read has found, away from the reactor; ``what`` they are read for, should the disk fail."""
        try:
            return await self.context.runtime.blocking(data.read)
        except OSError as error:
            raise self.disk.failed(what, error) from error

    def read_limit(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """The offset up to which such a reader may see, with its position."""
        if isolation is FetchIsolation.LOG_END:
            return self.local.log_end
        offset = self.high_watermark if isolation is FetchIsolation.HIGH_WATERMARK else self.last_stable_offset
        if offset == self.local.log_end_offset:
            return self.local.log_end
        if self._known_position is None or self._known_position.message_offset != offset:
            self._known_position = self.position_of(offset)
        return self._known_position

    def position_of(self, offset: int) -> LogOffsetMetadata:
        """Where the batch that holds ``offset`` (or the next one there is) begins; the end of the log past all."""
        with self.disk.doing("looking up an offset"):
            return self.local.position_of(offset)

    def aborted_transactions(self, start_offset: int, upper_bound_offset: int) -> list[AbortedTxn]:
        """The aborted transactions that touch a range of offsets."""
        return self.local.aborted_transactions(start_offset, upper_bound_offset)

    # -- watermarks ---------------------------------------------------------------------------------------------------

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, kept between start and end of the log; returns what it became."""
        self.high_watermark = min(max(offset, self.log_start_offset), self.local.log_end_offset)
        self.producer_state.on_high_watermark_updated(self.high_watermark)
        return self.high_watermark

    def maybe_increment_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark; returns whether it moved."""
        assert offset <= self.local.log_end_offset, f"high watermark {offset} is beyond {self.local.log_end_offset}"
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset  # the start of the log is below it already
        if self.producer_state.unreplicated_txns.offsets:
            self.producer_state.on_high_watermark_updated(offset)
        return True

    def maybe_increment_log_start_offset(self, offset: int, reason: str) -> bool:
        """Give up everything below ``offset`` (DeleteRecords, retention, a leader's word); returns whether it moved."""
        if offset > self.high_watermark:
            raise OffsetOutOfRangeError(
                f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} since it is "
                f"larger than the high watermark {self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.leader_epochs.truncate_from_start(offset)
        self.producer_state.on_log_start_offset_incremented(offset)
        logger.info("Incremented log start offset of %s to %d due to %s", self.topic_partition, offset, reason)
        return True
