"""What a coordinator's description of a transactional id says about one transaction of a task. Pure."""

from typing import Final

from ottla.clients.admin.transactions import TransactionDescription, TransactionState
from ottla.clients.errors import TransactionalIdNotFoundError
from ottla.common.errors import KafkaError
from ottla.spark.sink.commit_actions import Status
from ottla.spark.sink.task_transaction import TaskTransaction

_COMMITTED: Final = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT))


def status_of(transaction: TaskTransaction, found: TransactionDescription | KafkaError) -> Status:
    """Ids are not used again before a decision over them is done, so what is described is this transaction or nothing.

    Whoever shuts a producer out leaves its id aborted, empty, or open under a later epoch. An id that is not known was
    not used for ``transactional.id.expiration.ms``. Other errors are raised.
    """
    if isinstance(found, TransactionalIdNotFoundError):
        return Status.UNKNOWN
    if isinstance(found, KafkaError):
        raise found
    if found.state in _COMMITTED:
        return Status.COMMITTED
    is_own = (found.producer_id, found.producer_epoch) == (transaction.producer_id, transaction.producer_epoch)
    return Status.OPEN if found.state is TransactionState.ONGOING and is_own else Status.ABORTED
