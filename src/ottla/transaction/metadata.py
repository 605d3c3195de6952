"""What the coordinator knows of a transactional id: an immutable value, and the transitions from it.

A transition (``prepare_…``) answers the next value and changes nothing: it is written to the log, and becomes the state
when that worked. ``prev_producer_id`` is the producer id before the transition, whether it changes or not.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from ottla.transaction.state import VALID_PREVIOUS_STATES, TransactionState
from ottla.transaction.transaction_version import TransactionVersion

PRODUCER_EPOCH_MAX: Final = 32767
"""Only the coordinator uses it, so that it can always fence a producer once more."""
NO_TIMESTAMP: Final = -1
TWO_PHASE_COMMIT_TIMEOUT_MS: Final = 2**31 - 1
"""The timeout of a distributed two-phase commit: never."""

NO_PARTITIONS: Final[Mapping[TopicPartition, None]] = {}
"""The partitions between transactions."""

_S = TransactionState


class ProducerIdAndEpoch(NamedTuple):
    """Who a producer is."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER: Final = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def is_epoch_exhausted(producer_epoch: int) -> bool:
    """Whether a producer's next epoch would be the coordinator's own."""
    return producer_epoch >= PRODUCER_EPOCH_MAX - 1


class TransactionMetadata(NamedTuple):
    """The state of a transactional id. Two fields are not in every log and lost when the coordinator moves:
    ``last_producer_epoch``, and under transaction.version 0 ``prev_producer_id``.
    """

    transactional_id: str
    producer_id: int
    prev_producer_id: int
    next_producer_id: int
    """The id that the producer goes on with once the prepared transaction is complete; -1 if it keeps its own."""
    producer_epoch: int
    last_producer_epoch: int
    """The epoch from which the producer itself was bumped: its retries are known by it. -1 if it was fenced."""
    txn_timeout_ms: int
    state: TransactionState
    topic_partitions: Mapping[TopicPartition, None]
    """In the order in which they were added; not to be changed."""
    txn_start_timestamp_ms: int
    txn_last_update_timestamp_ms: int
    client_transaction_version: TransactionVersion
    """What the client spoke in the last transition that it made."""

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, txn_timeout_ms: int, now_ms: int) -> "TransactionMetadata":
        """A transactional id seen for the first time; never written before its first epoch."""
        return cls(
            transactional_id,
            producer_id,
            NO_PRODUCER_ID,
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_PRODUCER_EPOCH,
            txn_timeout_ms,
            _S.EMPTY,
            NO_PARTITIONS,
            NO_TIMESTAMP,
            now_ms,
            TransactionVersion.TV_0,
        )

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """The producer that may go on."""
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    @property
    def is_producer_epoch_exhausted(self) -> bool:
        """Whether the producer needs a new id before it can have another epoch."""
        return is_epoch_exhausted(self.producer_epoch)

    def is_timed_out(self, now_ms: int) -> bool:
        """Whether the ongoing transaction is open for longer than its producer said it would be.

        By the wall clock, as in Apache Kafka: the start is in the log, and another broker may have written it. So a
        clock that is set forward ends transactions early, and one that is set back leaves them open for longer.
        """
        return (
            self.state is _S.ONGOING
            and self.txn_timeout_ms != TWO_PHASE_COMMIT_TIMEOUT_MS
            and self.txn_start_timestamp_ms + self.txn_timeout_ms < now_ms
        )

    # -- transitions --------------------------------------------------------------------------------------------------

    def prepare_increment_producer_epoch(
        self, txn_timeout_ms: int, *, last_producer_epoch: int, now_ms: int
    ) -> "TransactionMetadata":
        """The next epoch of the same producer id."""
        assert not self.is_producer_epoch_exhausted, f"no epoch is left for producer id {self.producer_id}"
        return self._prepare_empty(
            txn_timeout_ms, now_ms, producer_epoch=self.producer_epoch + 1, last_producer_epoch=last_producer_epoch
        )

    def prepare_repeated_init(self, txn_timeout_ms: int, now_ms: int) -> "TransactionMetadata":
        """The same epoch once more, for a producer that did not get our answer, and may not get this one either."""
        return self._prepare_empty(txn_timeout_ms, now_ms, prev_producer_id=self.prev_producer_id)

    def prepare_producer_id_rotation(
        self, producer_id: int, txn_timeout_ms: int, *, last_producer_epoch: int, now_ms: int
    ) -> "TransactionMetadata":
        """A new producer id, from epoch 0 on."""
        return self._prepare_empty(
            txn_timeout_ms, now_ms, producer_id=producer_id, producer_epoch=0, last_producer_epoch=last_producer_epoch
        )

    def prepare_add_partitions(
        self, partitions: Iterable[TopicPartition], client_version: TransactionVersion, now_ms: int
    ) -> "TransactionMetadata":
        """More partitions take part; the first ones begin the transaction."""
        return self._transition_to(
            _S.ONGOING,
            topic_partitions={**self.topic_partitions, **dict.fromkeys(partitions)},
            txn_start_timestamp_ms=self.txn_start_timestamp_ms if self.state is _S.ONGOING else now_ms,
            txn_last_update_timestamp_ms=now_ms,
            client_transaction_version=client_version,
        )

    def prepare_fence_producer_epoch(self, version: TransactionVersion) -> "TransactionMetadata":
        """Shut the producer of the ongoing transaction out, to abort it next.

        Under transactions v2 the abort bumps the epoch; before, the fence itself does. The bumped epoch is never given
        to a producer. One that is at its maximum, which no producer can reach, stays there.
        """
        if version.supports_epoch_bump:
            return self._transition_to(_S.PREPARE_EPOCH_FENCE)
        return self._transition_to(
            _S.PREPARE_EPOCH_FENCE,
            producer_epoch=min(self.producer_epoch + 1, PRODUCER_EPOCH_MAX),
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def prepare_abort_or_commit(
        self, state: TransactionState, version: TransactionVersion, next_producer_id: int, now_ms: int
    ) -> "TransactionMetadata":
        """Decide the outcome. With v2 the epoch is bumped, so that what the old one still sends is refused."""
        changes: dict[str, Any] = {}
        if version.supports_epoch_bump:
            changes["producer_epoch"] = min(self.producer_epoch + 1, PRODUCER_EPOCH_MAX)
            changes["last_producer_epoch"] = self.producer_epoch
        if self.state in VALID_PREVIOUS_STATES[_S.DEAD]:  # an abort of nothing begins now
            changes["txn_start_timestamp_ms"] = now_ms
        return self._transition_to(
            state,
            next_producer_id=next_producer_id,
            txn_last_update_timestamp_ms=now_ms,
            client_transaction_version=version,
            **changes,
        )

    def prepare_complete(self, now_ms: int) -> "TransactionMetadata":
        """All markers are written. A producer whose epochs are used up goes on with its next id.

        ``last_producer_epoch`` stays the last one that the producer saw: the maximum in between was ours alone.
        """
        changes: dict[str, Any] = {}
        if self.client_transaction_version.supports_epoch_bump and self.next_producer_id != NO_PRODUCER_ID:
            changes = {"producer_id": self.next_producer_id, "producer_epoch": 0}
        return self._transition_to(
            _S.COMPLETE_COMMIT if self.state is _S.PREPARE_COMMIT else _S.COMPLETE_ABORT,
            next_producer_id=NO_PRODUCER_ID,
            topic_partitions=NO_PARTITIONS,
            txn_last_update_timestamp_ms=now_ms,
            **changes,
        )

    def prepare_dead(self) -> "TransactionMetadata":
        """The transactional id expires: a tombstone follows."""
        return self._transition_to(_S.DEAD, topic_partitions=NO_PARTITIONS)

    def _prepare_empty(self, txn_timeout_ms: int, now_ms: int, **changes: Any) -> "TransactionMetadata":
        return self._transition_to(
            _S.EMPTY,
            txn_timeout_ms=txn_timeout_ms,
            topic_partitions=NO_PARTITIONS,
            txn_start_timestamp_ms=NO_TIMESTAMP,
            txn_last_update_timestamp_ms=now_ms,
            **changes,
        )

    def _transition_to(self, state: TransactionState, **changes: Any) -> "TransactionMetadata":
        assert self.state in VALID_PREVIOUS_STATES[state], (
            f"{self.transactional_id} cannot go from {self.state.name} to {state.name}"
        )
        metadata = self._replace(**{"state": state, "prev_producer_id": self.producer_id, **changes})
        assert metadata.producer_id >= 0
        assert 0 <= metadata.producer_epoch <= PRODUCER_EPOCH_MAX
        return metadata
