"""Every error that the clients raise.

All are KafkaErrors: ``code`` is Kafka's number (-1 where Kafka has none) and ``retriable`` says whether Apache's
clients would try again. Names are those of Apache's exceptions with Error for Exception.
"""

from typing import Final

from ottla.clients import admin_errors, group_errors, topic_errors, transaction_errors
from ottla.clients.admin_errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    ClusterAuthorizationError,
    ControllerMovedError,
    DelegationTokenAuthorizationError,
    DelegationTokenDisabledError,
    DelegationTokenExpiredError,
    DelegationTokenNotFoundError,
    DelegationTokenOwnerMismatchError,
    DuplicateResourceError,
    DuplicateVoterError,
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    FeatureUpdateFailedError,
    IllegalSaslStateError,
    InconsistentClusterIdError,
    InconsistentVoterSetError,
    InvalidPartitionsError,
    InvalidPrincipalTypeError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidUpdateVersionError,
    InvalidVoterKeyError,
    MismatchedEndpointTypeError,
    NoReassignmentInProgressError,
    NotControllerError,
    OperationNotAttemptedError,
    PolicyViolationError,
    PreferredLeaderNotAvailableError,
    ReassignmentInProgressError,
    RebootstrapRequiredError,
    ResourceNotFoundError,
    SecurityDisabledError,
    StaleBrokerEpochError,
    ThrottlingQuotaExceededError,
    TopicDeletionDisabledError,
    TopicExistsError,
    UnacceptableCredentialError,
    UnknownControllerIdError,
    UnknownServerError,
    UnsupportedByAuthenticationError,
    UnsupportedEndpointTypeError,
    UnsupportedSaslMechanismError,
    VoterNotFoundError,
)
from ottla.clients.error_kinds import AuthorizationError, InvalidMetadataError, RetriableError
from ottla.clients.group_errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupAuthorizationError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    GroupNotEmptyError,
    GroupSubscribedToTopicError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    InvalidCommitOffsetSizeError,
    InvalidGroupIdError,
    InvalidRegularExpressionError,
    InvalidSessionTimeoutError,
    InvalidShareSessionEpochError,
    MemberIdRequiredError,
    NotCoordinatorError,
    OffsetMetadataTooLargeError,
    RebalanceInProgressError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
    UnstableOffsetCommitError,
    UnsupportedAssignorError,
)
from ottla.clients.topic_errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
    InvalidFetchSizeError,
    InvalidRequiredAcksError,
    InvalidTopicError,
    LeaderNotAvailableError,
    ListenerNotFoundError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OffsetMovedToTieredStorageError,
    OffsetNotAvailableError,
    RecordTooLargeError,
    ReplicaNotAvailableError,
    TopicAuthorizationError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.transaction_errors import (
    ConcurrentTransactionsError,
    InvalidPidMappingError,
    InvalidTxnTimeoutError,
    ProducerFencedError,
    TransactionAbortableError,
    TransactionalIdAuthorizationError,
    TransactionalIdNotFoundError,
)
from ottla.common import errors as common_errors
from ottla.common.error_code import ErrorCode
from ottla.common.errors import (
    ApiError,
    CorruptRecordError,
    DuplicateSequenceError,
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    InvalidConfigError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidRequestError,
    InvalidTimestampError,
    InvalidTxnStateError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceError,
    RecordListTooLargeError,
    TransactionCoordinatorFencedError,
    UnknownProducerIdError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from ottla.network.client_errors import AuthenticationError, NetworkError, RequestTimedOutError, UnsupportedVersionError

__all__ = [
    "ApiError",
    "AuthenticationError",
    "AuthorizationError",
    "BrokerIdNotRegisteredError",
    "BrokerNotAvailableError",
    "BufferExhaustedError",
    "ClientClosedError",
    "ClusterAuthorizationError",
    "CommitFailedError",
    "ConcurrentTransactionsError",
    "ControllerMovedError",
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "CorruptRecordError",
    "DelegationTokenAuthorizationError",
    "DelegationTokenDisabledError",
    "DelegationTokenExpiredError",
    "DelegationTokenNotFoundError",
    "DelegationTokenOwnerMismatchError",
    "DuplicateResourceError",
    "DuplicateSequenceError",
    "DuplicateVoterError",
    "ElectionNotNeededError",
    "EligibleLeadersNotAvailableError",
    "FeatureUpdateFailedError",
    "FencedInstanceIdError",
    "FencedLeaderEpochError",
    "FencedMemberEpochError",
    "FetchSessionIdNotFoundError",
    "FetchSessionTopicIdError",
    "GroupAuthorizationError",
    "GroupIdNotFoundError",
    "GroupMaxSizeReachedError",
    "GroupNotEmptyError",
    "GroupSubscribedToTopicError",
    "IllegalGenerationError",
    "IllegalSaslStateError",
    "IllegalStateError",
    "InconsistentClusterIdError",
    "InconsistentGroupProtocolError",
    "InconsistentTopicIdError",
    "InconsistentVoterSetError",
    "InvalidCommitOffsetSizeError",
    "InvalidConfigError",
    "InvalidFetchSessionEpochError",
    "InvalidFetchSizeError",
    "InvalidGroupIdError",
    "InvalidMetadataError",
    "InvalidPartitionsError",
    "InvalidPidMappingError",
    "InvalidPrincipalTypeError",
    "InvalidProducerEpochError",
    "InvalidRecordError",
    "InvalidRegularExpressionError",
    "InvalidReplicaAssignmentError",
    "InvalidReplicationFactorError",
    "InvalidRequestError",
    "InvalidRequiredAcksError",
    "InvalidSessionTimeoutError",
    "InvalidShareSessionEpochError",
    "InvalidTimestampError",
    "InvalidTopicError",
    "InvalidTxnStateError",
    "InvalidTxnTimeoutError",
    "InvalidUpdateVersionError",
    "InvalidVoterKeyError",
    "KafkaError",
    "KafkaStorageError",
    "KafkaTimeoutError",
    "LeaderNotAvailableError",
    "ListenerNotFoundError",
    "LogDirNotFoundError",
    "LogTruncationError",
    "MemberIdRequiredError",
    "MismatchedEndpointTypeError",
    "NetworkError",
    "NoOffsetForPartitionError",
    "NoReassignmentInProgressError",
    "NotControllerError",
    "NotCoordinatorError",
    "NotEnoughReplicasAfterAppendError",
    "NotEnoughReplicasError",
    "NotLeaderOrFollowerError",
    "OffsetMetadataTooLargeError",
    "OffsetMovedToTieredStorageError",
    "OffsetNotAvailableError",
    "OffsetOutOfRangeError",
    "OperationNotAttemptedError",
    "OutOfOrderSequenceError",
    "PolicyViolationError",
    "PreferredLeaderNotAvailableError",
    "ProducerFencedError",
    "ReassignmentInProgressError",
    "RebalanceInProgressError",
    "RebootstrapRequiredError",
    "RecordListTooLargeError",
    "RecordTooLargeError",
    "ReplicaNotAvailableError",
    "RequestTimedOutError",
    "ResourceNotFoundError",
    "RetriableError",
    "SecurityDisabledError",
    "SerializationError",
    "ShareSessionLimitReachedError",
    "ShareSessionNotFoundError",
    "StaleBrokerEpochError",
    "StaleMemberEpochError",
    "ThrottlingQuotaExceededError",
    "TopicAuthorizationError",
    "TopicDeletionDisabledError",
    "TopicExistsError",
    "TransactionAbortableError",
    "TransactionAbortedError",
    "TransactionCoordinatorFencedError",
    "TransactionalIdAuthorizationError",
    "TransactionalIdNotFoundError",
    "UnacceptableCredentialError",
    "UnknownControllerIdError",
    "UnknownLeaderEpochError",
    "UnknownMemberIdError",
    "UnknownProducerIdError",
    "UnknownServerError",
    "UnknownTopicIdError",
    "UnknownTopicOrPartitionError",
    "UnreleasedInstanceIdError",
    "UnstableOffsetCommitError",
    "UnsupportedAssignorError",
    "UnsupportedByAuthenticationError",
    "UnsupportedCompressionTypeError",
    "UnsupportedEndpointTypeError",
    "UnsupportedForMessageFormatError",
    "UnsupportedSaslMechanismError",
    "UnsupportedVersionError",
    "VoterNotFoundError",
    "error_for",
    "invalidates_metadata",
]


class KafkaTimeoutError(KafkaError, TimeoutError):
    """What was asked for did not happen in time; the message says what it was and what was tried."""

    code = ErrorCode.REQUEST_TIMED_OUT
    retriable = True


class IllegalStateError(KafkaError):
    """The client was asked for something that it cannot do where it stands; a mistake of its user."""


class ClientClosedError(IllegalStateError):
    """The client is closed, or was closed during the call."""


class SerializationError(KafkaError):
    """A serializer or deserializer failed; its own error is the cause."""


class BufferExhaustedError(KafkaTimeoutError):
    """The producer's buffer.memory stayed full for max.block.ms."""


class CommitFailedError(KafkaError):
    """The group has given the partitions to others before their offsets were committed."""


class TransactionAbortedError(KafkaError):
    """The transaction was aborted before this record was sent."""


class NoOffsetForPartitionError(KafkaError):
    """A partition has neither a position nor a rule (auto.offset.reset) that gives it one."""


class LogTruncationError(OffsetOutOfRangeError):
    """The log has lost records that the consumer has read: a leader was elected that did not have them."""


def _by_code() -> dict[int, type[KafkaError]]:
    """The classes that name a code; one that inherits it says more than a code does."""
    modules = (common_errors, topic_errors, group_errors, transaction_errors, admin_errors)
    found: dict[int, type[KafkaError]] = {}
    for module in modules:
        for error in vars(module).values():
            is_error = isinstance(error, type) and issubclass(error, KafkaError) and error.__module__ == module.__name__
            if is_error and "code" in vars(error):
                found[error.code] = error
    return found


_CLASSES: Final[dict[int, type[KafkaError]]] = {
    **_by_code(),
    ErrorCode.UNKNOWN_SERVER_ERROR: UnknownServerError,
    ErrorCode.REQUEST_TIMED_OUT: KafkaTimeoutError,
    ErrorCode.NETWORK_EXCEPTION: NetworkError,
    ErrorCode.SASL_AUTHENTICATION_FAILED: AuthenticationError,
    ErrorCode.UNSUPPORTED_VERSION: UnsupportedVersionError,
}


def error_for(code: int, message: str | None = "") -> KafkaError:
    """The error of a code in an answer; without a ``message`` it says what its class says."""
    assert code != ErrorCode.NONE, "no error"
    error_class = _CLASSES.get(code)
    if error_class is not None:
        return error_class(message or (error_class.__doc__ or "").partition("\n")[0])
    try:
        return ApiError(ErrorCode(code), message or ErrorCode(code).name)
    except ValueError:
        error: KafkaError = UnknownServerError(
            message or f"The broker answered with error code {code}, which is not known here"
        )
        error.code = code
        return error


def invalidates_metadata(code: int) -> bool:
    """Whether a code says that the cluster's metadata is out of date."""
    return code in _INVALIDATING


_INVALIDATING: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NETWORK_EXCEPTION,
        *(code for code, error in _CLASSES.items() if issubclass(error, InvalidMetadataError)),
    }
)
