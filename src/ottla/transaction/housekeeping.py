"""What a shard does without being asked: transactions that take too long, ids that nobody uses, markers to go on with.

Timers: ``transaction-abort`` looks for what is overdue, ``transactional-id-expiration`` forgets ids,
``transaction-resume`` goes on with prepared transactions after a load, ``completion …`` tries a completion again.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.config.sections import TransactionConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.transaction.markers import TransactionMarkers
from ottla.transaction.metadata import TransactionMetadata
from ottla.transaction.metrics import TransactionCoordinatorMetrics
from ottla.transaction.ports import TransactionEffects
from ottla.transaction.transaction_log import new_transaction_tombstone_record
from ottla.transaction.transaction_store import TransactionStore

ABORT_TIMER: Final = "transaction-abort"
EXPIRATION_TIMER: Final = "transactional-id-expiration"
RESUME_TIMER: Final = "transaction-resume"

TOMBSTONES_MAX: Final = 500
"""Ids that are forgotten in one turn."""
RESUMED_MAX: Final = 32
"""Prepared transactions that are gone on with in one turn."""
COMPLETION_RETRY_BACKOFF_MS: Final = 100

_MOVED: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})


class Completing(Protocol):
    """The shard, as far as its own transactions need it."""

    def markers_of(self, metadata: TransactionMetadata) -> TransactionMarkers:
        """The markers of a prepared transaction."""

    def complete_transaction(self, markers: TransactionMarkers, now_ms: int) -> CoordinatorResult[None]:
        """Note that all markers are written."""


class Housekeeping:
    """See the module."""

    def __init__(
        self,
        store: TransactionStore,
        timers: Timers,
        *,
        config: TransactionConfig,
        effects: TransactionEffects,
        metrics: TransactionCoordinatorMetrics,
        shard: Completing,
    ) -> None:
        self._store = store
        self._timers = timers
        self._config = config
        self._effects = effects
        self._metrics = metrics
        self._shard = shard
        self._to_resume: deque[str] = deque()
        self._to_complete: dict[str, None] = {}

    def start(self) -> None:
        """The shard is loaded."""
        config = self._config
        abort_interval_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        expiration_interval_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms
        self._timers.schedule(ABORT_TIMER, abort_interval_ms, self._look_for_overdue)
        self._timers.schedule(EXPIRATION_TIMER, expiration_interval_ms, self._remove_expired)
        self._to_resume.extend(metadata.transactional_id for metadata in self._store.prepared)
        if self._to_resume:
            self._timers.schedule(RESUME_TIMER, 0, self._resume)

    def stop(self, partition: int) -> None:
        """The shard is unloaded."""
        self._metrics.log_append_retry_queue_size -= len(self._to_complete)
        self._to_complete.clear()
        self._effects.unloaded(partition)

    # -- overdue ------------------------------------------------------------------------------------------------------

    def _look_for_overdue(self, now_ms: int) -> CoordinatorResult[None]:
        """Abort transactions that are open for too long, and send markers again that may have been lost on the way.

        Markers go out when a prepared transaction is committed; where nobody could tell us whether it was, this is
        what finds it. One that was prepared in the future, before the clock was set back, may have lost them too.
        """
        interval_ms = self._config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._timers.schedule(ABORT_TIMER, interval_ms, self._look_for_overdue)
        timed_out = [metadata for metadata in self._store.ongoing if metadata.is_timed_out(now_ms)]
        stuck = [
            metadata
            for metadata in self._store.prepared
            if not 0 <= now_ms - metadata.txn_last_update_timestamp_ms < interval_ms
            and metadata.transactional_id not in self._to_complete
        ]
        return self._when_committed(timed_out, stuck) if timed_out or stuck else NOTHING

    def _resume(self, _now_ms: int) -> CoordinatorResult[None]:
        prepared: list[TransactionMetadata] = []
        while self._to_resume and len(prepared) < RESUMED_MAX:
            metadata = self._store.get(self._to_resume.popleft())
            if metadata is not None and metadata.state.is_prepared:
                prepared.append(metadata)
        if self._to_resume:
            self._timers.schedule(RESUME_TIMER, 1, self._resume)
        return self._when_committed((), prepared)

    def _when_committed(
        self, timed_out: Iterable[TransactionMetadata], prepared: Iterable[TransactionMetadata]
    ) -> CoordinatorResult[None]:
        """Abort transactions and send markers when all that led to it is committed.

        A transaction may be complete by then. Its markers must not be sent once more: before transactions v2 they would
        end the producer's next transaction, which has the same epoch.
        """

        def act(error: KafkaError | None) -> None:
            if error is not None:
                return
            for metadata in timed_out:
                self._effects.abort_timed_out(metadata.transactional_id, metadata.producer)
            for metadata in prepared:
                if self._store.get(metadata.transactional_id) is metadata:
                    self._effects.send_markers(self._shard.markers_of(metadata))

        return CoordinatorResult((), None, on_committed=act)

    # -- expiration ---------------------------------------------------------------------------------------------------

    def _remove_expired(self, now_ms: int) -> CoordinatorResult[None]:
        """Tombstones for transactional ids that nobody has used for long; the others come after them in the store."""
        tombstones: list[CoordinatorRecord] = []
        expired_ms = now_ms - self._config.transactional_id_expiration_ms
        delay_ms = self._config.transaction_remove_expired_transaction_cleanup_interval_ms
        for metadata in self._store:
            if metadata.txn_last_update_timestamp_ms > expired_ms:
                break
            if metadata.state.is_expiration_allowed:
                tombstones.append(new_transaction_tombstone_record(metadata.prepare_dead()))
                if len(tombstones) == TOMBSTONES_MAX:
                    delay_ms = 1
                    break
        self._timers.schedule(EXPIRATION_TIMER, delay_ms, self._remove_expired)
        return CoordinatorResult(tombstones, None, is_atomic=False)

    # -- completions --------------------------------------------------------------------------------------------------

    def completion_written(self, markers: TransactionMarkers) -> Callable[[KafkaError | None], None]:
        """What to do when a completion is committed, or could not be appended: all markers stand, so try again."""
        transactional_id = markers.transactional_id

        def written(error: KafkaError | None) -> None:
            if error is not None and error.code not in _MOVED:
                self._to_complete[transactional_id] = None
                self._metrics.log_append_retry_queue_size += 1
                self._timers.schedule(
                    f"completion {transactional_id}",
                    COMPLETION_RETRY_BACKOFF_MS,
                    partial(self._complete_again, markers),
                )

        return written

    def _complete_again(self, markers: TransactionMarkers, now_ms: int) -> CoordinatorResult[None]:
        del self._to_complete[markers.transactional_id]
        self._metrics.log_append_retry_queue_size -= 1
        return self._shard.complete_transaction(markers, now_ms)
