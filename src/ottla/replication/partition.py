"""One partition that this broker hosts: appends and reads, checked against its leadership."""

from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, OffsetOutOfRangeError
from ottla.log.log import FetchIsolation, Log
from ottla.log.log_offset_metadata import LogOffsetMetadata
from ottla.log.offset_lookup import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    TimestampedOffset,
    offset_for_timestamp,
)
from ottla.log.producer_append import TV_UNKNOWN
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.append_info import AppendInfo
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import NO_TIMESTAMP, Buffer
from ottla.records.inspection import Inspect, inspect
from ottla.records.timestamp_search import Search, first_record
from ottla.replication.partition_state import PartitionState
from ottla.replication.read_result import NO_EPOCH, EpochEndOffset, FetchParams, FetchPartition, ReadResult
from ottla.replication.replica import Replica

HIGH_WATERMARK = -1
"""As the offset of DeleteRecords: everything that is committed."""


class ProducerState(NamedTuple):
    """A producer as DescribeProducers shows it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


class DeletedRecords(NamedTuple):
    """Up to where records were to be deleted, and up to where they are gone from all replicas."""

    requested_offset: int
    low_watermark: int


class Partition(PartitionState):
    """See :mod:`ottla.replication.partition_state` for its life."""

    __slots__ = ()

    # -- appending ----------------------------------------------------------------------------------------------------

    def append_records_to_leader(
        self,
        records: Buffer,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        required_acks: int = -1,
        now_ms: int = 0,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = TV_UNKNOWN,
        inspect_records: Inspect = inspect,
    ) -> tuple[AppendInfo, bool]:
        """Append as the leader; returns where, and whether the high watermark moved. Only followers' lag needs a time.

        NOT_ENOUGH_REPLICAS, with nothing written, for acks=all under ``min.insync.replicas``;
        NOT_LEADER_OR_FOLLOWER where this broker does not lead; what :meth:`Log.append_as_leader` raises.
        """
        log = self.log
        if log is None or not self.is_leader:
            log = self.leader_log()
        is_alone = self._is_alone
        if not is_alone and required_acks == -1 and self.is_under_min_isr:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR : {len(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.topic_partition}, live replica(s) broker.id are : "
                f"{sorted(self.isr)}",
            )
        info = log.append_as_leader(
            records,
            self.leader_epoch,
            origin,
            verification_guard=verification_guard,
            transaction_version=transaction_version,
            inspect_records=inspect_records,
        )
        if is_alone:  # what maybe_increment_leader_high_watermark does, for the hot path
            local = log.local
            end_offset = local.log_end_offset
            if end_offset - local.recovery_point < local.config.flush_messages:
                return info, log.maybe_increment_high_watermark(end_offset)
        return info, self.maybe_increment_leader_high_watermark(now_ms)

    def check_enough_replicas_reach_offset(self, required_offset: int) -> int | None:
        """Whether everything below an offset is committed: an error code (0 for none) when that is decided, or None.

        NOT_ENOUGH_REPLICAS_AFTER_APPEND when it is, but the ISR has shrunk too far since.
        """
        log = self.log
        if log is None or not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if log.high_watermark < required_offset:
            return None
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if self.is_under_min_isr else ErrorCode.NONE

    # -- reading ------------------------------------------------------------------------------------------------------

    def fetch_records(
        self,
        fetch: FetchPartition,
        params: FetchParams,
        max_bytes: int,
        *,
        min_one_message: bool,
        update_fetch_state: bool,
        now_ms: int,
    ) -> ReadResult:
        """Read for a consumer or a follower, whose progress is noted with ``update_fetch_state``.

        Raises as :meth:`local_log` does, OFFSET_OUT_OF_RANGE, and for a follower that is no replica
        UNKNOWN_LEADER_EPOCH (it may be one soon) or, without an epoch, NOT_LEADER_OR_FOLLOWER.
        """
        log = self.local_log(fetch.current_leader_epoch, params.fetch_only_leader)
        if params.replica_id < 0:
            return self._read(log, fetch, max_bytes, params.isolation, min_one_message)
        replica = self._follower(params.replica_id, fetch)
        result = self._read(log, fetch, max_bytes, params.isolation, min_one_message)
        if update_fetch_state and result.diverging_epoch is None:
            replica.update_fetch_state(
                fetch.fetch_offset,
                fetch.log_start_offset,
                now_ms,
                result.log_end_offset,
                broker_epoch=params.replica_epoch,
                registered_epoch=self._brokers.alive_epoch(params.replica_id),
            )
        return result

    def _follower(self, replica_id: int, fetch: FetchPartition) -> Replica:
        replica = self.remote_replicas.get(replica_id)
        if replica is None:
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER
                if fetch.current_leader_epoch == NO_EPOCH
                else ErrorCode.UNKNOWN_LEADER_EPOCH,
                f"Replica {replica_id} is not recognized as a valid replica of {self.topic_partition} in leader epoch "
                f"{self.leader_epoch} with partition epoch {self.partition_epoch}",
            )
        return replica

    def _read(
        self, log: Log, fetch: FetchPartition, max_bytes: int, isolation: FetchIsolation, min_one_message: bool
    ) -> ReadResult:
        # What is appended while this is read must not keep a follower from being in sync: its end is from before.
        result = ReadResult(
            0, log.high_watermark, log.last_stable_offset, log.log_start_offset, log.local.log_end_offset
        )
        if fetch.last_fetched_epoch != NO_EPOCH:
            diverging = self.diverging_epoch(fetch)
            if diverging is not None:
                result.start = LogOffsetMetadata(fetch.fetch_offset)
                result.diverging_epoch = diverging
                return result
        data = log.read(fetch.fetch_offset, max_bytes, isolation, min_one_message=min_one_message)
        result.start = data.start
        if not data.first_entry_incomplete:  # consumers make progress without half a batch
            result.records = data.records
            result.aborted_transactions = data.aborted_transactions
        return result

    def diverging_epoch(self, fetch: FetchPartition) -> EpochEndOffset | None:
        """Where the logs part, when the fetcher's last records are not this log's; OFFSET_OUT_OF_RANGE if unknown."""
        end = self.last_offset_for_leader_epoch(fetch.current_leader_epoch, fetch.last_fetched_epoch)
        if end.error_code:
            raise ApiError(ErrorCode(end.error_code))
        if end.end_offset == -1 or end.leader_epoch == NO_EPOCH:
            raise OffsetOutOfRangeError(
                f"Could not determine the end offset of the last fetched epoch {fetch.last_fetched_epoch} from the "
                "request"
            )
        log = self.log
        assert log is not None
        if fetch.fetch_offset < log.log_start_offset:
            raise OffsetOutOfRangeError(
                f"Received request for offset {fetch.fetch_offset} for partition {self.topic_partition}, but we only "
                f"have log segments in the range {log.log_start_offset} to {log.log_end_offset}."
            )
        parted = end.leader_epoch < fetch.last_fetched_epoch or end.end_offset < fetch.fetch_offset
        return end if parted else None

    # -- looking up ---------------------------------------------------------------------------------------------------

    def fetch_offset_for_timestamp(
        self,
        timestamp: int,
        isolation: FetchIsolation,
        current_leader_epoch: int = NO_EPOCH,
        *,
        from_leader: bool = True,
        search: Search = first_record,
    ) -> TimestampedOffset | None:
        """The offset of a timestamp or of what a negative one stands for; None when there is none to be seen.

        ``search`` is that of :func:`ottla.log.offset_lookup.offset_for_timestamp`.
        ``isolation`` is LOG_END for replicas. OFFSET_NOT_AVAILABLE while a new leader's high watermark lags behind the
        start of its epoch, for what would lie beyond it: the answer could go back in time.
        """
        log = self.local_log(current_leader_epoch, from_leader)
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            return offset_for_timestamp(log, timestamp)
        if isolation is FetchIsolation.LOG_END:
            last_fetchable = log.log_end_offset
        else:
            committed = isolation is FetchIsolation.TXN_COMMITTED
            last_fetchable = log.last_stable_offset if committed else log.high_watermark
        if timestamp == LATEST_TIMESTAMP:
            self._check_offsets_available(log, isolation, current_leader_epoch)
            return TimestampedOffset(NO_TIMESTAMP, last_fetchable, self.leader_epoch)
        found = offset_for_timestamp(log, timestamp, search)
        if found is None or found.offset >= last_fetchable:
            self._check_offsets_available(log, isolation, current_leader_epoch)
            return None
        return found

    def _check_offsets_available(self, log: Log, isolation: FetchIsolation, current_leader_epoch: int) -> None:
        epoch_start = self.leader_epoch_start_offset
        if isolation is not FetchIsolation.LOG_END and epoch_start is not None and epoch_start > log.high_watermark:
            epoch = "unknown epoch" if current_leader_epoch == NO_EPOCH else f"epoch {current_leader_epoch}"
            raise ApiError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"Failed to fetch offsets for partition {self.topic_partition} with leader {epoch} as this "
                f"partition's high watermark ({log.high_watermark}) is lagging behind the start offset from the "
                f"beginning of this epoch ({epoch_start}).",
            )

    def last_offset_for_leader_epoch(
        self, current_leader_epoch: int, leader_epoch: int, *, from_leader: bool = False
    ) -> EpochEndOffset:
        """The largest epoch up to ``leader_epoch`` and where it ended, -1 for both if unknown; never raises."""
        try:
            log = self.local_log(current_leader_epoch, from_leader)
        except ApiError as error:
            return EpochEndOffset(error.code)
        return EpochEndOffset(0, *log.leader_epochs.end_offset_for(leader_epoch, log.log_end_offset))

    def active_producers(self) -> list[ProducerState]:
        """The producers that the partition remembers."""
        log = self.local_log(NO_EPOCH, False)
        return [
            ProducerState(
                producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
            )
            for producer_id, entry in log.producer_state.active_producers.items()
        ]

    # -- deleting -----------------------------------------------------------------------------------------------------

    def delete_records_on_leader(self, offset: int) -> DeletedRecords:
        """Give up everything below ``offset`` (-1: below the high watermark).

        POLICY_VIOLATION for a topic that is only compacted, OFFSET_OUT_OF_RANGE beyond the high watermark.
        """
        log = self.leader_log()
        if log.config.compact and not log.config.delete:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION,
                f"Records of partition {self.topic_partition} can not be deleted due to the configured policy",
            )
        requested = log.high_watermark if offset == HIGH_WATERMARK else offset
        if requested < 0:
            raise OffsetOutOfRangeError(f"The offset {requested} for partition {self.topic_partition} is not valid")
        with log.disk.doing("deleting records"):
            log.maybe_increment_log_start_offset(requested, "client delete records request")
        return DeletedRecords(requested, self.low_watermark)

    def __repr__(self) -> str:
        role = "leader" if self.is_leader else f"follower of {self.leader_id}"
        return f"Partition({self.topic_partition}, {role}, leader epoch {self.leader_epoch})"
