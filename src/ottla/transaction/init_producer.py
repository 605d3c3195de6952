"""InitProducerId: who a producer is from now on, and who is fenced by that."""

from typing import NamedTuple

from ottla.records.batch import NO_PRODUCER_EPOCH
from ottla.transaction.errors import concurrent_transactions, producer_fenced
from ottla.transaction.metadata import ProducerIdAndEpoch, TransactionMetadata, is_epoch_exhausted
from ottla.transaction.outcomes import NEEDS_PRODUCER_ID, NeedsProducerId
from ottla.transaction.state import TransactionState


class InitProducerId(NamedTuple):
    """A producer that begins."""

    transactional_id: str
    txn_timeout_ms: int
    expected: ProducerIdAndEpoch | None = None
    """Who the producer was before, if it goes on after an error; None for one that has just started."""


def decide_init(
    metadata: TransactionMetadata | None, request: InitProducerId, new_producer_id: int | None, now_ms: int
) -> TransactionMetadata | NeedsProducerId:
    """The next state of a transactional id that has no transaction under way; None: it is seen for the first time.

    CONCURRENT_TRANSACTIONS while markers are written; PRODUCER_FENCED for a producer that another has replaced.
    A transaction that is ONGOING has to be aborted first: :func:`~ottla.transaction.end_transaction.decide_fence`.
    """
    expected = request.expected
    if metadata is None:
        if new_producer_id is None:
            return NEEDS_PRODUCER_ID
        # A producer that we have forgotten begins anew, whoever it was.
        created = TransactionMetadata.new(request.transactional_id, new_producer_id, request.txn_timeout_ms, now_ms)
        return created.prepare_increment_producer_epoch(
            request.txn_timeout_ms, last_producer_epoch=NO_PRODUCER_EPOCH, now_ms=now_ms
        )
    check_not_fenced(metadata, expected)
    assert metadata.state is not TransactionState.ONGOING
    if expected is not None and expected.producer_epoch != metadata.producer_epoch:
        # If it did not get our answer to the same request, nobody was there in between: that would have been noted.
        if expected.producer_epoch == metadata.last_producer_epoch:
            return metadata.prepare_repeated_init(request.txn_timeout_ms, now_ms)
        raise producer_fenced()
    last_producer_epoch = NO_PRODUCER_EPOCH if expected is None else metadata.producer_epoch
    if not metadata.is_producer_epoch_exhausted:
        return metadata.prepare_increment_producer_epoch(
            request.txn_timeout_ms, last_producer_epoch=last_producer_epoch, now_ms=now_ms
        )
    if new_producer_id is None:
        return NEEDS_PRODUCER_ID
    return metadata.prepare_producer_id_rotation(
        new_producer_id, request.txn_timeout_ms, last_producer_epoch=last_producer_epoch, now_ms=now_ms
    )


def check_not_fenced(metadata: TransactionMetadata, expected: ProducerIdAndEpoch | None) -> None:
    """Refuse a producer whose id is no longer in use, and anyone while markers are written.

    The id before the current one is fine where its epochs were used up: the answer with the new id may have been lost.
    """
    if metadata.state.is_prepared:
        raise concurrent_transactions()
    if expected is None or expected.producer_id == metadata.producer_id:
        return
    if expected.producer_id != metadata.prev_producer_id or not is_epoch_exhausted(expected.producer_epoch):
        raise producer_fenced()
