"""What runs the controller's operations: it appends their records and answers when those are committed.

The reactor is the event queue: an operation runs to its end when it is called, on the latest state, and nothing else
runs meanwhile. Only the answer waits, for the commit of everything that the operation saw.

Life: standby ⇄ active. Raft names this node leader: the driver claims leadership and writes the activation records.
Raft names another or nobody: it renounces, which fails whatever waits with NOT_CONTROLLER.
"""

import logging
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.controller.activation import activation_records
from ottla.controller.controller_metrics import ControllerMetrics
from ottla.controller.effective_configs import static_min_insync_replicas
from ottla.controller.heartbeats import BrokerHeartbeats
from ottla.controller.pending_log import AppendPort, PendingLog
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerSettings
from ottla.controller.state import ControllerState, SnapshotReplay
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.image import ClusterImage, MetadataImage, MetadataProvenance
from ottla.metadata.records import MetadataRecord
from ottla.raft.batch import CommittedBatch
from ottla.raft.errors import NotLeaderError
from ottla.raft.snapshot_reader import SnapshotReader
from ottla.runtime.completion import Completion
from ottla.runtime.port import Clock

logger = logging.getLogger(__name__)

T = TypeVar("T")


class RaftPort(AppendPort, Protocol):
    """What the controller needs of raft's client."""

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version."""


class ControllerDriver:
    """See the module. A listener of raft."""

    def __init__(
        self, clock: Clock, raft: RaftPort, settings: ControllerSettings, bootstrap: BootstrapMetadata
    ) -> None:
        self.clock = clock
        self.raft = raft
        self.settings = settings
        self._bootstrap = bootstrap
        self._log = PendingLog(raft)
        self._gone_broker_id: int | None = settings.node_id
        self._sessions: BrokerHeartbeats | None = None
        self._leader_id: int | None = None
        self.metrics = ControllerMetrics(self._log, clock.now_ms)

    @property
    def epoch(self) -> int | None:
        """The epoch in which this node is the active controller; None on standby."""
        return self._log.epoch

    @property
    def latest(self) -> ControllerState:
        """The state with everything that was appended."""
        return self._log.latest

    @property
    def committed(self) -> ControllerState:
        """The state that is committed."""
        return self._log.committed

    @property
    def sessions(self) -> BrokerHeartbeats:
        """What is known of the brokers' heartbeats, while active."""
        assert self._sessions is not None, "the controller is not active"
        return self._sessions

    # -- running an operation -----------------------------------------------------------------------------------------

    def write(
        self,
        name: str,
        operation: Callable[[MetadataImage], ControllerResult[T]],
        appended: Callable[[int], None] | None = None,
    ) -> Completion[T]:
        """Decide on the latest image, append, and answer when all that the decision rests on is committed.

        ``appended`` is told the last offset, when the records have theirs.
        """
        if self.epoch is None:
            return Completion.failed(_not_controller(self._leader_id))
        started_ms = self.clock.monotonic_ms()
        self.metrics.operations_started += 1
        self.metrics.event_queue_time_ms.record(0)
        try:
            result = operation(self.latest.image)
            last_offset = self._append(result)
        except KafkaError as failure:
            logger.info("%s: failed with %s", name, failure)
            return Completion.failed(failure)
        if appended is not None:
            appended(last_offset)
        completion: Completion[T] = Completion()

        def committed(error: KafkaError | None) -> None:
            self.metrics.event_queue_processing_time_ms.record(self.clock.monotonic_ms() - started_ms)
            if error is None:
                completion.complete(result.response)
            else:
                completion.fail(error)

        self._log.when_committed(committed)
        return completion

    def append(self, result: ControllerResult[T]) -> T:
        """Append what nobody waits for; NOT_CONTROLLER if another node leads."""
        self._append(result)
        return result.response

    def _append(self, result: ControllerResult[Any]) -> int:
        before = self.latest.image.cluster
        try:
            last_offset = self._log.append(result, self.clock.now_ms())
        except NotLeaderError:
            self.renounce()
            raise _not_controller(None) from None
        self._sync_sessions(before, self.latest.image.cluster)
        return last_offset

    def _sync_sessions(self, before: ClusterImage, after: ClusterImage) -> None:
        """Registrations in the records that were appended are known to the heartbeats at once."""
        if before is after:
            return
        sessions = self.sessions
        for broker_id in before.brokers.keys() - after.brokers.keys():
            sessions.remove(broker_id)
        for broker_id, broker in after.brokers.items():
            known = before.brokers.get(broker_id)
            if known is broker:
                continue
            if known is not None and known.incarnation_id != broker.incarnation_id:
                sessions.remove(broker_id)
            sessions.register(broker_id, fenced=broker.fenced)

    # -- raft's listener ----------------------------------------------------------------------------------------------

    def handle_commit(self, batch: CommittedBatch[MetadataRecord]) -> None:
        """A batch is committed: whoever waited for it is answered."""
        self._log.handle_commit(batch)

    async def handle_load_snapshot(self, snapshot: SnapshotReader[MetadataRecord]) -> None:
        """Everything begins anew with a snapshot."""
        replay = SnapshotReplay()
        async for records in snapshot.slices():
            replay.replay(records)
        provenance = MetadataProvenance(
            snapshot.last_contained_log_offset,
            snapshot.last_contained_log_epoch,
            snapshot.last_contained_log_timestamp(),
            is_offset_batch_aligned=True,
        )
        self._log.handle_snapshot(replay.finish(provenance), provenance)
        logger.info("Successfully loaded snapshot %s.", snapshot.snapshot_id)

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """The quorum has another leader, or this node leads a new epoch."""
        leader = "(none)" if leader_id is None else leader_id
        self._leader_id = leader_id
        if leader_id is not None:
            self.metrics.new_active_controllers_count += 1
        if self.epoch is not None:
            logger.warning(
                "Renouncing the leadership due to a metadata log event. We were the leader at epoch %d, but in the new "
                "epoch %d, the leader is %s. Reverting to last committed offset %d.",
                *(self.epoch, epoch, leader, self._log.last_committed_offset),
            )
            self.renounce()
        if leader_id == self.settings.node_id:
            self._claim(epoch)
        else:
            logger.info("In the new epoch %d, the leader is %s.", epoch, leader)

    def _claim(self, epoch: int) -> None:
        logger.info(
            "Becoming the active controller at epoch %d, next write offset %d.", epoch, self.raft.log_end_offset
        )
        image, _, transaction = self.latest
        self._log.activate(epoch)
        # The lock of this node's data directory says that its last incarnation is gone, if it is a broker too.
        gone, self._gone_broker_id = self._gone_broker_id, None
        self._sessions = BrokerHeartbeats(
            self.settings.broker_session_timeout_ms, image.cluster, self.clock.monotonic_ms(), gone_broker_id=gone
        )
        self.append(
            activation_records(
                # A transaction that is to be aborted may hold the first metadata.version: it counts for nothing.
                image if transaction is None else transaction.image,
                self._bootstrap.records,
                transaction_start_offset=None if transaction is None else transaction.start_offset,
                min_insync_replicas=static_min_insync_replicas(self.settings),
            )
        )

    def renounce(self) -> None:
        """Be active no more: what waits fails, for nobody knows whether it will be committed."""
        self._log.deactivate(_not_controller(None))
        self._sessions = None


def _not_controller(leader_id: int | None) -> ApiError:
    message = (
        "No controller appears to be active."
        if leader_id is None
        else f"The active controller appears to be node {leader_id}."
    )
    return ApiError(ErrorCode.NOT_CONTROLLER, message)
