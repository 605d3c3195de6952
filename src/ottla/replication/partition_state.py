"""Who leads a partition, which replicas are in sync, and how far its records are committed.

Transitions: a partition is new (no leader known) → leader or follower, as often as the metadata says so, → gone
(deleted, or its disk has failed), for good: another partition of the same name is another object. A registration
with an older partition epoch than the known one changes nothing.
"""

import logging
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.log import Log
from ottla.metadata.partition_registration import PartitionRegistration
from ottla.replication.broker_topic_metrics import BrokerTopicMetrics
from ottla.replication.ports import Brokers
from ottla.replication.replica import Replica

logger = logging.getLogger(__name__)

NO_LEADER: Final = -1


class PartitionState:
    """See the module; :class:`ottla.replication.partition.Partition` adds what is done to the log."""

    __slots__ = (
        "_brokers",
        "_is_alone",
        "_replica_lag_time_max_ms",
        "adding_replicas",
        "future_log",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "local_broker_id",
        "log",
        "metrics",
        "partition_epoch",
        "remote_replicas",
        "removing_replicas",
        "replicas",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        local_broker_id: int,
        *,
        brokers: Brokers,
        metrics: BrokerTopicMetrics,
        replica_lag_time_max_ms: int = 30_000,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.local_broker_id = local_broker_id
        self.metrics = metrics
        self._brokers = brokers
        self._replica_lag_time_max_ms = replica_lag_time_max_ms
        self.partition_epoch = 0
        self.leader_epoch = -1
        self._clear()

    def _clear(self) -> None:
        self.log: Log | None = None
        self.future_log: Log | None = None
        self.leader_id = NO_LEADER
        self.is_leader = False
        self.leader_epoch_start_offset: int | None = None
        self.isr: frozenset[int] = frozenset()
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.remote_replicas: dict[int, Replica] = {}
        self._is_alone = False
        """Whether this leader is the only replica: its own end of the log is then everybody's."""

    # -- transitions --------------------------------------------------------------------------------------------------

    def make_leader(self, registration: PartitionRegistration, log: Log, now_ms: int) -> bool:
        """Lead, with ``log``; returns whether this broker did not lead before.

        A new leader epoch begins at the end of the log and is on the disk on return: a follower may ask for it before
        anything is appended.
        """
        if registration.partition_epoch < self.partition_epoch:
            logger.info(
                "Skipped the become-leader state change for %s: %s is older than partition epoch %d",
                self.topic_partition,
                registration,
                self.partition_epoch,
            )
            return False
        is_new_leader = not self.is_leader
        self._assign(registration)
        self.isr = frozenset(registration.isr)
        followers = [broker_id for broker_id in registration.replicas if broker_id != self.local_broker_id]
        known = self.remote_replicas
        self.remote_replicas = {broker_id: known.get(broker_id) or Replica(broker_id) for broker_id in followers}
        self.log = log
        if registration.leader_epoch > self.leader_epoch:
            start_offset = log.log_end_offset
            logger.info(
                "Leader %s starts at leader epoch %d from offset %d with partition epoch %d, high watermark %d, "
                "ISR %s. Previous leader %d and previous leader epoch was %d.",
                self.topic_partition,
                registration.leader_epoch,
                start_offset,
                registration.partition_epoch,
                log.high_watermark,
                sorted(self.isr),
                self.leader_id,
                self.leader_epoch,
            )
            with log.disk.doing("assigning the start of a leader epoch"):
                log.assign_epoch_start_offset(registration.leader_epoch, start_offset)
            for replica in self.remote_replicas.values():
                replica.reset(
                    now_ms, start_offset, is_new_leader=is_new_leader, is_in_sync=replica.broker_id in self.isr
                )
            self.leader_epoch = registration.leader_epoch
            self.leader_epoch_start_offset = start_offset
        self.leader_id = self.local_broker_id
        self.is_leader = True
        self._is_alone = not followers and bool(self.isr)
        self.maybe_increment_leader_high_watermark(now_ms)
        return is_new_leader

    def make_follower(self, registration: PartitionRegistration, log: Log) -> bool:
        """Follow, with ``log``; returns whether that is under a new leader epoch, so that fetching begins anew."""
        if registration.partition_epoch < self.partition_epoch:
            logger.info(
                "Skipped the become-follower state change for %s: %s is older than partition epoch %d",
                self.topic_partition,
                registration,
                self.partition_epoch,
            )
            return False
        is_new_leader_epoch = registration.leader_epoch > self.leader_epoch
        self._assign(registration)
        self.is_leader = self._is_alone = False
        self.leader_id = registration.leader
        self.leader_epoch = registration.leader_epoch
        self.leader_epoch_start_offset = None
        self.isr = frozenset()
        self.remote_replicas = {}
        self.log = log
        return is_new_leader_epoch

    def _assign(self, registration: PartitionRegistration) -> None:
        self.partition_epoch = registration.partition_epoch
        self.replicas = registration.replicas
        self.adding_replicas = registration.adding_replicas
        self.removing_replicas = registration.removing_replicas

    def stop(self) -> None:
        """Be gone: whoever still holds this partition finds that it neither leads nor follows."""
        self._clear()

    def replace_log(self, log: Log) -> None:
        """Take the copy in another data directory, which has caught up, for the log."""
        self.log = log
        self.future_log = None
        if self.is_leader and self.leader_epoch_start_offset is not None:
            with log.disk.doing("assigning the start of a leader epoch"):
                log.assign_epoch_start_offset(self.leader_epoch, self.leader_epoch_start_offset)

    # -- facts --------------------------------------------------------------------------------------------------------

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is out of sync, as its leader sees it."""
        return self.is_leader and len(self.isr) < len(self.replicas)

    @property
    def is_under_min_isr(self) -> bool:
        """Whether too few replicas are in sync for acks=all."""
        return self.is_leader and len(self.isr) < self.effective_min_isr

    @property
    def is_at_min_isr(self) -> bool:
        """Whether one replica less would be too few."""
        return self.is_leader and len(self.isr) == self.effective_min_isr

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are coming or going."""
        return bool(self.adding_replicas or self.removing_replicas)

    @property
    def effective_min_isr(self) -> int:
        """``min.insync.replicas``, but never more than there are replicas."""
        assert self.log is not None
        return min(self.log.config.min_insync_replicas, len(self.remote_replicas) + 1)

    def local_log(self, current_leader_epoch: int, require_leader: bool) -> Log:
        """The log, for a client that believes in ``current_leader_epoch`` (-1: in none).

        FENCED_LEADER_EPOCH for an epoch that is over, UNKNOWN_LEADER_EPOCH for one not heard of here,
        NOT_LEADER_OR_FOLLOWER without a log or, where that is required, the leadership.
        """
        log = self.log
        if current_leader_epoch not in (-1, self.leader_epoch):
            fenced = current_leader_epoch < self.leader_epoch
            raise self._not_served(
                ErrorCode.FENCED_LEADER_EPOCH if fenced else ErrorCode.UNKNOWN_LEADER_EPOCH, current_leader_epoch
            )
        if log is None or (require_leader and not self.is_leader):
            raise self._not_served(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader_epoch)
        return log

    def leader_log(self) -> Log:
        """The log of a leader; NOT_LEADER_OR_FOLLOWER otherwise."""
        log = self.log
        if log is None or not self.is_leader:
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"Leader not local for partition {self.topic_partition} on broker {self.local_broker_id}",
            )
        return log

    def _not_served(self, code: ErrorCode, current_leader_epoch: int) -> ApiError:
        return ApiError(
            code,
            f"Failed to find log for partition {self.topic_partition} with leader epoch {current_leader_epoch}. "
            f"The current leader is {self.leader_id} and the current epoch {self.leader_epoch}",
        )

    # -- watermarks ---------------------------------------------------------------------------------------------------

    def maybe_increment_leader_high_watermark(self, now_ms: int) -> bool:
        """Raise the high watermark to the smallest end of the log among those in sync; returns whether it moved.

        A follower that has caught up and may join the ISR counts as well: without that a leader alone in its ISR
        would run ahead of it for ever. Nothing moves under ``min.insync.replicas``. Where the topic wants its records
        flushed first, this replica's end is what has been.
        """
        log = self.log
        assert log is not None, f"{self.topic_partition} has no log"
        end_offset = log.local.log_end_offset
        new_offset = log.local.recovery_point if log.flush_due else end_offset
        if not self._is_alone:
            if self.is_under_min_isr:
                return False
            for replica in self.remote_replicas.values():
                if replica.log_end_offset < new_offset and (
                    replica.broker_id in self.isr
                    or (
                        replica.is_caught_up(end_offset, now_ms, self._replica_lag_time_max_ms)
                        and self.is_isr_eligible(replica)
                    )
                ):
                    new_offset = replica.log_end_offset
        return log.maybe_increment_high_watermark(new_offset)

    def is_isr_eligible(self, replica: Replica) -> bool:
        """Whether a follower's broker may join the ISR: alive, staying, and of the registration that fetches."""
        epoch = self._brokers.alive_epoch(replica.broker_id)
        return (
            epoch is not None
            and not self._brokers.is_shutting_down(replica.broker_id)
            and replica.broker_epoch in (-1, epoch)
        )

    @property
    def low_watermark(self) -> int:
        """The smallest start of the log among all live replicas, a copy under way included."""
        starts = [self.leader_log().log_start_offset]
        starts += [
            replica.log_start_offset
            for replica in self.remote_replicas.values()
            if self._brokers.alive_epoch(replica.broker_id) is not None
        ]
        if self.future_log is not None:
            starts.append(self.future_log.log_start_offset)
        return min(starts)
