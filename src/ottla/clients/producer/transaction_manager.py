"""The state of a transactional producer: which transaction is under way, what belongs to it, and what went wrong.

    UNINITIALIZED → INITIALIZING → READY ⇄ IN_TRANSACTION → COMMITTING or ABORTING → READY

A transaction that somebody else will end is PREPARED instead: all of it is in the log, it stays open, and this producer
can only be initialized anew (COMMITTING → PREPARED → INITIALIZING).

An error that spoils the transaction makes it ABORTABLE_ERROR, from which only an abort leads on; FATAL_ERROR is for
good. Under version 1 of transactions a partition is added at the coordinator before anything is sent to it, and the
producer asks for its next epoch itself after an error (ABORTING → INITIALIZING → READY). Under version 2 (KIP-890) the
leader adds it, and every end brings the next epoch.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final

from ottla.clients.errors import IllegalStateError, ProducerFencedError, TransactionAbortableError
from ottla.clients.producer.idempotence import FATAL, NO_PRODUCER, IdempotentProducer, ProducerIdAndEpoch
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

PRODUCE_VERSION_MAX_V1: Final = 11
"""From 12 on a leader adds partitions to the transaction itself."""


class TransactionState(Enum):
    """See the module."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    READY = "ready"
    IN_TRANSACTION = "in a transaction"
    COMMITTING = "committing"
    PREPARED = "prepared for somebody else to end"
    ABORTING = "aborting"
    ABORTABLE_ERROR = "failed, to be aborted"
    FATAL_ERROR = "failed for good"


_S = TransactionState
_TRANSITIONS: Final = {
    _S.UNINITIALIZED: (_S.INITIALIZING,),
    _S.INITIALIZING: (_S.READY, _S.ABORTABLE_ERROR, _S.UNINITIALIZED),
    _S.READY: (_S.IN_TRANSACTION,),
    _S.IN_TRANSACTION: (_S.COMMITTING, _S.ABORTING, _S.ABORTABLE_ERROR),
    _S.COMMITTING: (_S.READY, _S.INITIALIZING, _S.ABORTABLE_ERROR, _S.PREPARED),
    _S.PREPARED: (_S.INITIALIZING,),
    _S.ABORTING: (_S.READY, _S.INITIALIZING),
    _S.ABORTABLE_ERROR: (_S.ABORTING, _S.ABORTABLE_ERROR, _S.UNINITIALIZED),
    _S.FATAL_ERROR: (),
}
"""FATAL_ERROR follows upon any."""


def _ignore() -> None:
    pass


class TransactionManager(IdempotentProducer):
    """See the module."""

    def __init__(self, transactional_id: str) -> None:
        super().__init__()
        self.on_new_partition: Callable[[], None] = _ignore
        """Called when the coordinator has to be told of a partition (version 1)."""
        self.on_error: Callable[[], None] = _ignore
        """Called when the transaction, or the producer, has failed: what was not sent will not be."""
        self.state = TransactionState.UNINITIALIZED
        self.error: KafkaError | None = None
        """Why the transaction, or the producer, has failed."""
        self.is_v2 = False
        """Version 2 of transactions; settled between two of them."""
        self.needs_epoch_bump = False
        """Version 1: whether the end of the transaction is followed by another InitProducerId."""
        self._transactional_id = transactional_id
        self._is_started = False
        self._new: dict[TopicPartition, None] = {}
        self._being_added: dict[TopicPartition, None] = {}
        self._added: dict[TopicPartition, None] = {}

    # -- what sending asks --------------------------------------------------------------------------------------------

    @property
    def is_transactional(self) -> bool:
        """Batches belong to a transaction."""
        return True

    @property
    def transactional_id(self) -> str | None:
        """What requests name."""
        return self._transactional_id

    @property
    def produce_version_max(self) -> int | None:
        """Leaders add partitions from version 12 of Produce on, which only version 2 may use."""
        return None if self.is_v2 else PRODUCE_VERSION_MAX_V1

    @property
    def is_completing(self) -> bool:
        """Whether the transaction is about to end."""
        return self.state in (_S.COMMITTING, _S.ABORTING)

    @property
    def wants_producer_id(self) -> bool:
        """The id comes with ``initialized``, when the user asks for it."""
        return False

    def is_send_allowed(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition belongs to the transaction. After an error only retries are left, which may go on."""
        return self.fatal_error is None and topic_partition in self._added

    def add_partition(self, topic_partition: TopicPartition) -> None:
        """A record is in a batch for it; raises what ``require_transaction`` raises."""
        self.require_transaction("send")
        if self.is_v2:
            self._added[topic_partition] = None
            self._is_started = True
        elif topic_partition not in self._added and topic_partition not in self._being_added:
            self._new[topic_partition] = None
            self.on_new_partition()

    def note_error(self, error: KafkaError) -> None:
        """A batch failed: the transaction can only be aborted, and some errors are for good."""
        if isinstance(error, FATAL):
            self.fail(error)
            return
        if error.retriable or error.code == ErrorCode.INVALID_TXN_STATE:
            abortable = TransactionAbortableError(f"The transaction has failed after all retries: {error}")
            abortable.__cause__ = error
            error = abortable
        if not self.is_v2 and not self.is_completing:
            self.needs_epoch_bump = True
        self.spoil(error)

    def on_lost_sequences(self, topic_partition: TopicPartition) -> None:
        """Nobody knows whether the broker has the last batches: only an abort makes that sure."""
        if not self.is_v2:
            self.needs_epoch_bump = True
        self.spoil(
            TransactionAbortableError(
                f"Records sent to {topic_partition} were not acknowledged and cannot be sent again. It is safe to "
                "abort the transaction and to continue."
            )
        )

    # -- beginning ----------------------------------------------------------------------------------------------------

    def begin_initialize(self) -> None:
        """The user has called init_transactions."""
        self.require_no_error()
        self._move(_S.INITIALIZING, "init_transactions")
        self._forget_transaction()

    def initialized(self, producer: ProducerIdAndEpoch) -> None:
        """The coordinator gave us an id and an epoch; all sequences begin anew."""
        super().initialized(producer)
        self.reset_sequences()
        self.needs_epoch_bump = False
        self.error = None
        self._move(_S.READY, "init_transactions")

    def begin_transaction(self, *, is_v2: bool) -> None:
        """Begin one, under the version that the cluster has by now."""
        self.require_no_error()
        self._move(_S.IN_TRANSACTION, "begin_transaction")
        self.is_v2 = is_v2

    def require_transaction(self, operation: str) -> None:
        """Raise unless a transaction is under way that has not failed."""
        self.require_no_error()
        if self.state is not _S.IN_TRANSACTION:
            raise IllegalStateError(f"{operation} needs a transaction; the producer is {self.state.value}")

    # -- partitions (version 1) ---------------------------------------------------------------------------------------

    def partitions_to_add(self) -> list[TopicPartition]:
        """Those that the coordinator is to be told of now; nothing while it is being told of others."""
        if self._being_added or not self._new or self.state in (_S.ABORTABLE_ERROR, _S.FATAL_ERROR):
            return []
        self._being_added, self._new = self._new, {}
        return list(self._being_added)

    def partitions_added(self) -> None:
        """The coordinator has taken them."""
        self._added |= self._being_added
        self._being_added = {}
        self._is_started = True

    def partitions_refused(self, error: KafkaError) -> None:
        """The coordinator has not taken all of them."""
        self._being_added = {}
        self.spoil(error)

    def offsets_added(self) -> None:
        """The offsets of a group belong to the transaction."""
        self._is_started = True

    # -- the end ------------------------------------------------------------------------------------------------------

    def begin_commit(self) -> None:
        """No more records; those there are will be sent first."""
        self.require_no_error()
        self._move(_S.COMMITTING, "commit_transaction")

    def begin_abort(self) -> None:
        """No more records; also after an error, if it is not a fatal one."""
        if self.state is not _S.ABORTABLE_ERROR:
            self.require_no_error()
        self._move(_S.ABORTING, "abort_transaction")
        self.error = None
        self._new = {}

    def prepared(self) -> None:
        """All is in the log; the transaction is out of this producer's hands, open as it is."""
        self._move(_S.PREPARED, "prepare_transaction")

    @property
    def needs_end(self) -> bool:
        """Whether the coordinator knows of the transaction, and so has to be told of its end."""
        return self._is_started

    def ended(self, producer: ProducerIdAndEpoch = NO_PRODUCER) -> None:
        """The transaction is over; under version 2 ``producer`` is who we are from now on."""
        if producer.is_valid:
            self.producer = producer
            self.reset_sequences()
        self._move(_S.INITIALIZING if self.needs_epoch_bump else _S.READY, "the end of a transaction")
        self.error = None
        self._forget_transaction()

    def _forget_transaction(self) -> None:
        self._is_started = False
        self._new, self._being_added, self._added = {}, {}, {}

    # -- errors -------------------------------------------------------------------------------------------------------

    def require_no_error(self) -> None:
        """Raise what has failed, if anything has."""
        if self.error is None:
            return
        if isinstance(self.error, ProducerFencedError):
            raise ProducerFencedError(
                f"The producer with transactional id {self._transactional_id!r} has been fenced by a newer one"
            )
        raise self.error.with_traceback(None)  # else it would grow with each time it is raised

    def refuse_record(self, error: KafkaError) -> None:
        """A record was not taken: the transaction, if one is under way, must not be committed without it."""
        if self.state is _S.IN_TRANSACTION:
            self.note_error(error)

    def spoil(self, error: KafkaError) -> None:
        """The transaction can only be aborted; one that is being aborted anyway does not mind."""
        if self.state in (_S.ABORTING, _S.FATAL_ERROR):
            return
        self.error = error
        self._move(_S.ABORTABLE_ERROR, "an error")
        self.on_error()

    def fail(self, error: KafkaError) -> None:
        """The producer is done."""
        self.error = self.fatal_error = error
        self.state = _S.FATAL_ERROR
        self.on_error()

    def give_up_initializing(self) -> None:
        """init_transactions failed in a way that another call may not: authorization that may be granted meanwhile."""
        self._move(_S.UNINITIALIZED, "init_transactions")
        self.error = None

    def _move(self, target: TransactionState, operation: str) -> None:
        if target not in _TRANSITIONS[self.state]:
            raise IllegalStateError(f"{operation} is not possible while the producer is {self.state.value}")
        self.state = target
