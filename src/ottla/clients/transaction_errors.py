"""What a coordinator or a leader says of producers and transactions, one class a code."""

from ottla.clients.error_kinds import AuthorizationError, RetriableError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError


class InvalidPidMappingError(KafkaError):
    """The transactional id has another producer id by now."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class InvalidTxnTimeoutError(KafkaError):
    """transaction.timeout.ms is larger than the broker allows."""

    code = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactionsError(RetriableError):
    """The transaction before is not finished yet."""

    code = ErrorCode.CONCURRENT_TRANSACTIONS


class TransactionalIdAuthorizationError(AuthorizationError):
    """We may not use this transactional id."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class ProducerFencedError(KafkaError):
    """A newer producer with the same transactional id has taken this one's place."""

    code = ErrorCode.PRODUCER_FENCED


class TransactionalIdNotFoundError(KafkaError):
    """The coordinator does not know this transactional id."""

    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


class TransactionAbortableError(KafkaError):
    """The transaction cannot be committed; abort it."""

    code = ErrorCode.TRANSACTION_ABORTABLE
