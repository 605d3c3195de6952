"""What an error of a coordinator means for a transaction."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from ottla.clients.errors import CommitFailedError, ProducerFencedError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.message import Message
from ottla.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


class Verdict(Enum):
    """What to do after an answer."""

    DONE = auto()
    RETRY = auto()
    FIND_COORDINATOR = auto()
    """It has moved: look for it, and try again there."""
    ABORTABLE = auto()
    """The transaction cannot be committed; the next one can."""
    FATAL = auto()
    """This producer cannot go on."""


_EVERYWHERE: Final = {
    ErrorCode.NONE: Verdict.DONE,
    ErrorCode.NOT_COORDINATOR: Verdict.FIND_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Verdict.FIND_COORDINATOR,
    ErrorCode.INVALID_PRODUCER_EPOCH: Verdict.FATAL,
    ErrorCode.PRODUCER_FENCED: Verdict.FATAL,
    ErrorCode.TRANSACTION_ABORTABLE: Verdict.ABORTABLE,
}
_FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
_LEFT_THE_GROUP: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
_BY_REQUEST: Final[Mapping[type[Message], Mapping[int, Verdict]]] = {
    InitProducerIdRequest: {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
    },
    AddPartitionsToTxnRequest: {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.FATAL,
        ErrorCode.INVALID_TXN_STATE: Verdict.FATAL,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING: Verdict.FATAL,
    },
    AddOffsetsToTxnRequest: {
        ErrorCode.UNKNOWN_PRODUCER_ID: Verdict.ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
    },
    TxnOffsetCommitRequest: {
        ErrorCode.REQUEST_TIMED_OUT: Verdict.FIND_COORDINATOR,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: Verdict.ABORTABLE,
        ErrorCode.FENCED_INSTANCE_ID: Verdict.ABORTABLE,
        ErrorCode.UNKNOWN_MEMBER_ID: Verdict.ABORTABLE,
        ErrorCode.ILLEGAL_GENERATION: Verdict.ABORTABLE,
    },
    EndTxnRequest: {ErrorCode.UNKNOWN_PRODUCER_ID: Verdict.ABORTABLE},
}
_OTHERWISE: Final[Mapping[type[Message], Verdict]] = {AddPartitionsToTxnRequest: Verdict.ABORTABLE}
"""What a code means that nobody expects of a request, and that is not worth another try; FATAL of all others."""


def judge(request: Message, code: int) -> Verdict:
    """The verdict on an answer to a request of a transaction."""
    kind = type(request)
    verdict = _BY_REQUEST[kind].get(code, _EVERYWHERE.get(code))  # type: ignore[call-overload]
    if verdict is not None:
        # An abort that could only be aborted again would go round in circles.
        is_abort = isinstance(request, EndTxnRequest) and not request.committed
        return Verdict.FATAL if is_abort and verdict is Verdict.ABORTABLE else verdict
    if error_for(code).retriable:
        return Verdict.RETRY
    return _OTHERWISE.get(kind, Verdict.FATAL)


def error_of(code: int) -> KafkaError:
    """What the user is told of a code that ends a transaction."""
    if code in _FENCED:
        return ProducerFencedError("A newer producer with the same transactional id has taken this one's place")
    if code in _LEFT_THE_GROUP:
        return CommitFailedError(
            "The consumer has left its group, or another has its partitions: abort the transaction"
        )
    return error_for(code)
