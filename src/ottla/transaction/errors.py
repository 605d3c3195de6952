"""What the coordinator refuses a producer with."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.transaction.state import TransactionState


def concurrent_transactions() -> ApiError:
    """Markers of the last transaction are on their way: the client tries again soon."""
    return ApiError(ErrorCode.CONCURRENT_TRANSACTIONS, "the markers of the last transaction are still being written")


def producer_fenced() -> ApiError:
    """Another producer has the transactional id, or the coordinator has bumped the epoch."""
    return ApiError(ErrorCode.PRODUCER_FENCED, "a newer epoch of this transactional id is in use")


def invalid_producer_id_mapping() -> ApiError:
    """The producer id is not the one of the transactional id, which we may never have heard of."""
    return ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, "the producer id is not that of its transactional id")


def invalid_txn_state(state: TransactionState, *, committed: bool) -> ApiError:
    """A transaction that cannot end that way, or has ended otherwise."""
    return ApiError(
        ErrorCode.INVALID_TXN_STATE, f"cannot {'commit' if committed else 'abort'} a transaction in {state.name}"
    )
