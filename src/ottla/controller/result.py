"""What an operation of the controller returns, and the words of errors that come without any."""

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.protocol.message import Message

T = TypeVar("T")
U = TypeVar("U")

MAX_RECORDS_PER_USER_OP: Final = 10_000
"""How many records one request of a user may cause."""

_DEFAULT_MESSAGES: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
    ErrorCode.TOPIC_DELETION_DISABLED: "Topic deletion is disabled.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
}


class ControllerResult(NamedTuple, Generic[T]):
    """Records to append and what to answer once they are committed.

    ``is_atomic`` says that the records must stand in one batch; others may be cut where a batch is full.
    """

    records: Sequence[Message]
    response: T
    is_atomic: bool = True

    def without_records(self) -> "ControllerResult[T]":
        """The same answer with no change, for requests that only validate."""
        return ControllerResult((), self.response, self.is_atomic)

    def with_response(self, response: U) -> "ControllerResult[U]":
        """The same records with another answer."""
        return ControllerResult(self.records, response, self.is_atomic)


def error(code: ErrorCode) -> ApiError:
    """An error in Kafka's own words for its code."""
    return ApiError(code, _DEFAULT_MESSAGES[code])


def message_of(failure: KafkaError) -> str | None:
    """What a response says about a failure; null where there is nothing to say."""
    return str(failure) or None


def check_record_count(records: Sequence[Message]) -> None:
    """POLICY_VIOLATION when one request asks for more than a batch can hold."""
    if len(records) > MAX_RECORDS_PER_USER_OP:
        raise excessively_large()


def excessively_large() -> ApiError:
    """The error of a request that would cause more records than one may."""
    return ApiError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
