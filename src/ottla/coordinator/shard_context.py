"""One shard at work: how an operation's records get into the log, and its answer out when they are committed.

Transitions: LOADING → ACTIVE (its log has been replayed) or FAILED (it cannot be); any of them → CLOSED, for good. Only
an active shard takes operations.

The log comes first: records are appended, and replayed only if that worked, so that a failed append leaves no trace. An
answer is released when everything that it may have been made from is committed; since that may take a while with
followers, reads and operations without records wait for the appends before them.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.batches import BatchBuilder
from ottla.coordinator.commit_queue import CommitQueue, Uncommitted
from ottla.coordinator.errors import coordinator_error, load_in_progress, not_coordinator
from ottla.coordinator.ports import Acknowledge, PartitionWriter
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult, TimerOperation
from ottla.coordinator.runtime_metrics import CoordinatorRuntimeMetrics
from ottla.coordinator.shard import CoordinatorShard
from ottla.coordinator.timers import Timers
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.metadata.image.metadata import MetadataImage
from ottla.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.runtime.completion import Completion
from ottla.runtime.port import Clock

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=CoordinatorShard)
T = TypeVar("T")

TIMER_RETRY_BACKOFF_MS: Final = 500
"""How soon a timer's operation is tried again whose records could not be appended."""


class CoordinatorState(Enum):
    """See the module."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    CLOSED = "closed"


class TransactionalAppend(NamedTuple):
    """Whose transaction an operation's records belong to, and the proof that it is ongoing."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    verification_guard: VerificationGuard = SENTINEL


_NOT_TRANSACTIONAL: Final = TransactionalAppend()


class ShardContext(Generic[S]):
    """See the module."""

    __slots__ = (
        "_batches",
        "_clock",
        "_commits",
        "_metrics",
        "_next_append",
        "_writer",
        "leader_epoch",
        "shard",
        "state",
        "timers",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        shard: S,
        timers: Timers,
        *,
        writer: PartitionWriter,
        batches: BatchBuilder,
        clock: Clock,
        metrics: CoordinatorRuntimeMetrics,
    ) -> None:
        self.topic_partition = topic_partition
        self.leader_epoch = leader_epoch
        self.shard = shard
        self.timers = timers
        self.state = CoordinatorState.LOADING
        self._writer = writer
        self._batches = batches
        self._clock = clock
        self._metrics = metrics
        self._commits = CommitQueue(partial(writer.await_committed, topic_partition))
        self._next_append = Uncommitted(self._commits)
        """Made ahead, since most appends are committed at once and have no need of it."""

    # -- transitions --------------------------------------------------------------------------------------------------

    def activate(self, end_offset: int, image: MetadataImage) -> None:
        """Everything below ``end_offset`` has been replayed, whether it is committed or not."""
        assert self.state is CoordinatorState.LOADING
        self._commits.expect(end_offset)
        self.state = CoordinatorState.ACTIVE
        self.shard.on_loaded(image, self._clock.now_ms())

    def fail(self) -> None:
        """The log cannot be replayed: clients are told to look elsewhere, until another leader epoch tries again."""
        self.close()
        self.state = CoordinatorState.FAILED

    def close(self) -> None:
        """Answer everything that waits with NOT_COORDINATOR, and nothing more from now on."""
        was_active = self.state is CoordinatorState.ACTIVE
        self.state = CoordinatorState.CLOSED
        self.timers.clear()
        self._commits.close()
        if was_active:
            self.shard.on_unloaded()

    def require_active(self) -> None:
        """COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR otherwise."""
        if self.state is not CoordinatorState.ACTIVE:
            raise load_in_progress() if self.state is CoordinatorState.LOADING else not_coordinator()

    # -- operations ---------------------------------------------------------------------------------------------------

    def write(
        self,
        operation: Callable[[S, int], CoordinatorResult[T]],
        transaction: TransactionalAppend = _NOT_TRANSACTIONAL,
    ) -> Completion[T]:
        """Run an operation and persist what it decides."""
        started_ns = self._metrics.now_ns()
        completion: Completion[T] = Completion()
        try:
            self.require_active()
            now_ms = self._clock.now_ms()
            result = operation(self.shard, now_ms)
        except KafkaError as error:
            completion.fail(error)
            return completion
        self._persist(result, transaction, now_ms, completion)
        self._metrics.event_processing.record(self._metrics.elapsed_us(started_ns))
        return completion

    def read(self, operation: Callable[[S, int], T]) -> Completion[T]:
        """Run an operation that changes nothing."""
        completion: Completion[T] = Completion()
        try:
            self.require_active()
            response = operation(self.shard, self._clock.now_ms())
        except KafkaError as error:
            completion.fail(error)
        else:
            self._release_when_committed(_answer(completion, response))
        return completion

    def complete_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        committed: bool,
        transaction_version: int,
    ) -> Completion[None]:
        """Write the marker that ends a transaction, and let the shard follow."""
        completion: Completion[None] = Completion()
        marker = EndTransactionMarker(
            ControlRecordType.COMMIT if committed else ControlRecordType.ABORT, coordinator_epoch
        )
        uncommitted = Uncommitted(self._commits)
        try:
            self.require_active()
            batch = end_transaction_batch(
                marker, timestamp=self._clock.now_ms(), producer_id=producer_id, producer_epoch=producer_epoch
            )
            appended = self._writer.append(
                self.topic_partition,
                batch,
                uncommitted.acknowledge,
                transaction_version=transaction_version,
            )
        except KafkaError as error:
            completion.fail(coordinator_error(error))
            return completion
        self.shard.replay_end_transaction_marker(producer_id, producer_epoch, committed=committed)
        if not appended.is_committed:
            self._commits.add(uncommitted, appended.base_offset + 1)
        self._release_when_committed(_answer(completion, None))
        return completion

    # -- timers -------------------------------------------------------------------------------------------------------

    def tick(self, monotonic_ms: int) -> None:
        """Run the operations of the timers that are due."""
        if self.state is not CoordinatorState.ACTIVE:
            return
        pop_due = self.timers.pop_due
        while (due := pop_due(monotonic_ms)) is not None:
            self._run_timer(*due)

    def _run_timer(self, key: str, operation: TimerOperation) -> None:
        try:
            completion = self.write(lambda _shard, now_ms: operation(now_ms))
        except Exception:
            # One group's fault must not keep the others' members from timing out.
            logger.exception("The timer %s of %s failed", key, self.topic_partition)
            return

        def retry(done: Completion[None]) -> None:
            error = done.error
            if error is not None and self.state is CoordinatorState.ACTIVE:
                logger.info("The timer %s of %s could not write (%s); trying again", key, self.topic_partition, error)
                self.timers.schedule_if_absent(key, TIMER_RETRY_BACKOFF_MS, operation)

        completion.add_done_callback(retry)

    # -- persisting ---------------------------------------------------------------------------------------------------

    def _persist(
        self, result: CoordinatorResult[T], transaction: TransactionalAppend, now_ms: int, completion: Completion[T]
    ) -> None:
        """Append, replay, and release the answer; see :class:`CoordinatorResult`."""
        on_committed = result.on_committed
        try:
            if result.records:
                self._append(result, transaction, now_ms)
        except KafkaError as error:
            refused = coordinator_error(error)
            if on_committed is not None:
                on_committed(refused)
            completion.fail(refused)
            return
        if not self._commits.is_empty:
            answer = _answer(completion, result.response)
            self._release_when_committed(answer if on_committed is None else _both(on_committed, answer))
            return
        if on_committed is not None:
            on_committed(None)
        completion.complete(result.response)

    def _append(self, result: CoordinatorResult[Any], transaction: TransactionalAppend, now_ms: int) -> None:
        producer_id, producer_epoch, _guard = transaction
        batches, records = self._batches, result.records
        if result.is_atomic:
            batch = batches.build(records, now_ms, producer_id, producer_epoch)
            self._append_batch(batch, records, transaction, replay=result.replay)
            return
        max_bytes = self._writer.max_batch_bytes(self.topic_partition)
        for some, batch in batches.build_several(records, now_ms, producer_id, producer_epoch, max_bytes):
            self._append_batch(batch, some, transaction, replay=result.replay)

    def _append_batch(
        self,
        batch: bytearray,
        records: Sequence[CoordinatorRecord],
        transaction: TransactionalAppend,
        *,
        replay: bool,
    ) -> None:
        producer_id, producer_epoch, guard = transaction
        metrics, uncommitted = self._metrics, self._next_append
        started_ns = metrics.now_ns()
        offset, is_committed = self._writer.append(
            self.topic_partition, batch, uncommitted.acknowledge, verification_guard=guard
        )
        metrics.flush.record(metrics.elapsed_us(started_ns))
        if not is_committed:
            self._commits.add(uncommitted, offset + len(records))
            self._next_append = Uncommitted(self._commits)
        if replay:
            shard = self.shard
            for record in records:
                shard.replay(offset, producer_id, producer_epoch, record)
                offset += 1

    # -- releasing ----------------------------------------------------------------------------------------------------

    def _release_when_committed(self, release: Acknowledge) -> None:
        """Release an answer now, or when the last append before it is committed."""
        if self._commits.is_empty:
            release(None)
            return
        started_ns = self._metrics.now_ns()

        def released(error: KafkaError | None) -> None:
            self._metrics.event_purgatory.record(self._metrics.elapsed_us(started_ns))
            release(error)

        self._commits.release_after_last(released)


def _answer(completion: Completion[T], response: T) -> Acknowledge:
    return lambda error: completion.complete(response) if error is None else completion.fail(error)


def _both(first: Acknowledge, second: Acknowledge) -> Acknowledge:
    def release(error: KafkaError | None) -> None:
        first(error)
        second(error)

    return release
