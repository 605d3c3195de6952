"""How transactions end: by their producer's word, or because the producer is fenced.

While markers of a transaction are written (PREPARE_…) everyone gets CONCURRENT_TRANSACTIONS. Otherwise, by state:

| v1             | abort             | commit            |
|----------------|-------------------|-------------------|
| ONGOING        | PREPARE_ABORT     | PREPARE_COMMIT    |
| EMPTY          | INVALID_TXN_STATE | INVALID_TXN_STATE |
| COMPLETE_ABORT | done already      | INVALID_TXN_STATE |
| COMPLETE_COMMIT| INVALID_TXN_STATE | done already      |

Under v2 the epoch tells a retry, which comes with the epoch before the bump, from the next request:

| v2             | abort, current | abort, retried    | commit, current   | commit, retried   |
|----------------|----------------|-------------------|-------------------|-------------------|
| ONGOING        | PREPARE_ABORT  | PRODUCER_FENCED   | PREPARE_COMMIT    | PRODUCER_FENCED   |
| EMPTY          | PREPARE_ABORT  | PRODUCER_FENCED   | INVALID_TXN_STATE | PRODUCER_FENCED   |
| COMPLETE_ABORT | PREPARE_ABORT  | done already      | INVALID_TXN_STATE | INVALID_TXN_STATE |
| COMPLETE_COMMIT| PREPARE_ABORT  | INVALID_TXN_STATE | INVALID_TXN_STATE | done already      |
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from ottla.records.batch import NO_PRODUCER_ID
from ottla.transaction.errors import (
    concurrent_transactions,
    invalid_producer_id_mapping,
    invalid_txn_state,
    producer_fenced,
)
from ottla.transaction.metadata import PRODUCER_EPOCH_MAX, ProducerIdAndEpoch, TransactionMetadata
from ottla.transaction.outcomes import NEEDS_PRODUCER_ID, NeedsProducerId
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_version import TransactionVersion


class EndTransaction(NamedTuple):
    """A producer's word on its transaction."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    committed: bool
    client_version: TransactionVersion


class AlreadyEnded(Enum):
    """The outcome of a request that was carried out before."""

    ALREADY_ENDED = "already-ended"


ALREADY_ENDED: Final = AlreadyEnded.ALREADY_ENDED

_S = TransactionState
_Ends = Mapping[tuple[TransactionState, bool], TransactionState]

_DONE: Final = {(_S.COMPLETE_COMMIT, True), (_S.COMPLETE_ABORT, False)}
_V1: Final[_Ends] = {(_S.ONGOING, True): _S.PREPARE_COMMIT, (_S.ONGOING, False): _S.PREPARE_ABORT}
_V2: Final[_Ends] = {
    **_V1,
    (_S.EMPTY, False): _S.PREPARE_ABORT,
    (_S.COMPLETE_COMMIT, False): _S.PREPARE_ABORT,
    (_S.COMPLETE_ABORT, False): _S.PREPARE_ABORT,
}


def decide_end(
    metadata: TransactionMetadata, request: EndTransaction, new_producer_id: int | None, now_ms: int
) -> TransactionMetadata | NeedsProducerId | AlreadyEnded:
    """The prepared transaction; see the module for what is refused."""
    if request.client_version.supports_epoch_bump:
        return _decide_v2(metadata, request, new_producer_id, now_ms)
    return _decide_v1(metadata, request, now_ms)


def decide_fence(
    metadata: TransactionMetadata, server_version: TransactionVersion, new_producer_id: int | None, now_ms: int
) -> TransactionMetadata | NeedsProducerId:
    """The aborted transaction of a producer that is shut out: another one initializes, or its time is over."""
    version = server_version if server_version.supports_epoch_bump else TransactionVersion.TV_0
    next_producer_id = _next_producer_id(metadata, version, new_producer_id)
    if next_producer_id is None:
        return NEEDS_PRODUCER_ID
    fenced = metadata.prepare_fence_producer_epoch(version)
    return fenced.prepare_abort_or_commit(_S.PREPARE_ABORT, version, next_producer_id, now_ms)


def _decide_v1(
    metadata: TransactionMetadata, request: EndTransaction, now_ms: int
) -> TransactionMetadata | AlreadyEnded:
    if metadata.producer_id != request.producer.producer_id:
        raise invalid_producer_id_mapping()
    if metadata.producer_epoch != request.producer.producer_epoch:
        raise producer_fenced()
    if metadata.state.is_prepared:
        raise concurrent_transactions()
    end = (metadata.state, request.committed)
    if end in _DONE:
        return ALREADY_ENDED
    state = _V1.get(end)
    if state is None:
        raise invalid_txn_state(metadata.state, committed=request.committed)
    return metadata.prepare_abort_or_commit(state, TransactionVersion.TV_0, NO_PRODUCER_ID, now_ms)


def _decide_v2(
    metadata: TransactionMetadata, request: EndTransaction, new_producer_id: int | None, now_ms: int
) -> TransactionMetadata | NeedsProducerId | AlreadyEnded:
    # First of all: a producer whose epochs are used up has its next id already, which the metadata get when complete.
    if metadata.state.is_prepared:
        raise concurrent_transactions()
    producer_id, producer_epoch = request.producer
    is_retry_on_overflow = (
        producer_id == metadata.prev_producer_id
        and producer_epoch == PRODUCER_EPOCH_MAX - 1
        and metadata.producer_epoch == 0
    )
    if producer_id != metadata.producer_id and not is_retry_on_overflow:
        raise invalid_producer_id_mapping()
    end = (metadata.state, request.committed)
    if producer_epoch != metadata.producer_epoch:
        # Only an end of v2 bumps the epoch; after one of v1 the epoch before is that of a producer which was replaced.
        has_ended = metadata.state.is_complete and metadata.client_transaction_version.supports_epoch_bump
        if not has_ended or not (is_retry_on_overflow or producer_epoch + 1 == metadata.producer_epoch):
            raise producer_fenced()
        if end in _DONE:
            return ALREADY_ENDED
        raise invalid_txn_state(metadata.state, committed=request.committed)
    state = _V2.get(end)
    if state is None:
        raise invalid_txn_state(metadata.state, committed=request.committed)
    next_producer_id = _next_producer_id(metadata, request.client_version, new_producer_id)
    if next_producer_id is None:
        return NEEDS_PRODUCER_ID
    return metadata.prepare_abort_or_commit(state, request.client_version, next_producer_id, now_ms)


def _next_producer_id(
    metadata: TransactionMetadata, version: TransactionVersion, new_producer_id: int | None
) -> int | None:
    """-1 where the producer keeps its id; None where it needs a new one, which nobody has asked for yet."""
    if version.supports_epoch_bump and metadata.is_producer_epoch_exhausted:
        return new_producer_id
    return NO_PRODUCER_ID
