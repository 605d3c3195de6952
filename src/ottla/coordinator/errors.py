"""What a client of a coordinator is told when the partition underneath refuses."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError

_TOLD: Final = {
    # Asking the transaction coordinator has failed: old clients retry this one, and without looking for another.
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def coordinator_error(error: KafkaError) -> KafkaError:
    """The error of an append in a coordinator's words; one that has none stays as it is."""
    code = _TOLD.get(ErrorCode(error.code))
    return error if code is None else ApiError(code, str(error))


def not_coordinator() -> ApiError:
    """Another broker is, or will be, the coordinator."""
    return ApiError(ErrorCode.NOT_COORDINATOR, "This is not the correct coordinator.")


def load_in_progress() -> ApiError:
    """The coordinator is here, and still reads its log."""
    return ApiError(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "The coordinator is loading and hence can't process requests."
    )
