"""What a coordinator's description of a transactional id says about one transaction of a task. Pure."""

from typing import Final

from ottla.clients.admin.transactions import TransactionDescription, TransactionState
from ottla.clients.errors import TransactionalIdNotFoundError
from ottla.common.errors import KafkaError
from ottla.spark.sink.commit_actions import Status
from ottla.spark.sink.task_transaction import TaskTransaction

_ENDS: Final = {
    TransactionState.PREPARE_COMMIT: Status.COMMITTED,
    TransactionState.COMPLETE_COMMIT: Status.COMMITTED,
    TransactionState.PREPARE_EPOCH_FENCE: Status.ABORTED,
    TransactionState.PREPARE_ABORT: Status.ABORTED,
    TransactionState.COMPLETE_ABORT: Status.ABORTED,
}


def status_of(transaction: TaskTransaction, found: TransactionDescription | KafkaError) -> Status:
    """Ids are not used again before a decision over them is done, so what is described is this transaction or nothing.

    An id that was initialized once more since (a driver's sweep may come late) is empty, or open under a later epoch:
    that tells nothing of how this transaction ended, only that it did. An id that is not known was not used for
    ``transactional.id.expiration.ms``. Other errors are raised.
    """
    if isinstance(found, TransactionalIdNotFoundError):
        return Status.UNKNOWN
    if isinstance(found, KafkaError):
        raise found
    is_own = (found.producer_id, found.producer_epoch) == (transaction.producer_id, transaction.producer_epoch)
    if found.state is TransactionState.ONGOING and is_own:
        return Status.OPEN
    return _ENDS.get(found.state, Status.UNKNOWN)
