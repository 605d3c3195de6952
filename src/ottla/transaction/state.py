"""The states of a transactional id, and every legal transition between them."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    """Where the transaction of a transactional id stands; the number is what the log holds.

    ``VALID_PREVIOUS_STATES`` has all transitions, and what causes each.
    """

    EMPTY = 0
    """A producer has initialized; nothing is written yet."""
    ONGOING = 1
    """Partitions take part."""
    PREPARE_COMMIT = 2
    """Committed for good: markers are on their way to the partitions."""
    PREPARE_ABORT = 3
    """Aborted for good: markers are on their way to the partitions."""
    COMPLETE_COMMIT = 4
    """Every partition has its commit marker."""
    COMPLETE_ABORT = 5
    """Every partition has its abort marker."""
    DEAD = 6
    """Expired; passed through on the way to a tombstone and never written."""
    PREPARE_EPOCH_FENCE = 7
    """The ongoing transaction's producer is being fenced; passed through on the way to PREPARE_ABORT, never written."""

    @property
    def state_name(self) -> str:
        """The name that clients see: ``PrepareCommit``."""
        return _NAMES[self]

    @property
    def is_expiration_allowed(self) -> bool:
        """Whether a transactional id may be forgotten in this state."""
        return self in VALID_PREVIOUS_STATES[TransactionState.DEAD]

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is decided and markers are on their way: nothing else may happen until they arrived."""
        return self is TransactionState.PREPARE_COMMIT or self is TransactionState.PREPARE_ABORT

    @property
    def is_complete(self) -> bool:
        """Whether the last transaction has ended in all of its partitions."""
        return self is TransactionState.COMPLETE_COMMIT or self is TransactionState.COMPLETE_ABORT

    @classmethod
    def from_name(cls, name: str) -> "TransactionState | None":
        """The state that clients call ``name``."""
        return _BY_NAME.get(name)


_S = TransactionState
_BETWEEN: Final = frozenset({_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT})

VALID_PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    # InitProducerId between transactions.
    _S.EMPTY: _BETWEEN,
    # AddPartitionsToTxn, AddOffsetsToTxn.
    _S.ONGOING: _BETWEEN | {_S.ONGOING},
    # EndTxn with commit.
    _S.PREPARE_COMMIT: frozenset({_S.ONGOING}),
    # EndTxn with abort, or a fenced producer. Producers of transactions v2 may not know whether a transaction has
    # begun, so they may abort between transactions too.
    _S.PREPARE_ABORT: _BETWEEN | {_S.ONGOING, _S.PREPARE_EPOCH_FENCE},
    # All markers are written.
    _S.COMPLETE_COMMIT: frozenset({_S.PREPARE_COMMIT}),
    _S.COMPLETE_ABORT: frozenset({_S.PREPARE_ABORT}),
    # transactional.id.expiration.ms has passed.
    _S.DEAD: _BETWEEN,
    # InitProducerId during a transaction, or its timeout.
    _S.PREPARE_EPOCH_FENCE: frozenset({_S.ONGOING}),
}
"""The states that each state may follow."""

_NAMES: Final = {state: state.name.title().replace("_", "") for state in TransactionState}
_BY_NAME: Final = {name: state for state, name in _NAMES.items()}
