"""What a broker says of topics, partitions and records, one class a code."""

from ottla.clients.error_kinds import AuthorizationError, InvalidMetadataError, RetriableError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError, MessageTooLargeError


class UnknownTopicOrPartitionError(InvalidMetadataError):
    """The broker does not host this topic or partition."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class InvalidFetchSizeError(KafkaError):
    """The requested fetch size is invalid."""

    code = ErrorCode.INVALID_FETCH_SIZE


class LeaderNotAvailableError(InvalidMetadataError):
    """The partition has no leader at the moment."""

    code = ErrorCode.LEADER_NOT_AVAILABLE


class NotLeaderOrFollowerError(InvalidMetadataError):
    """The broker neither leads nor follows this partition."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class ReplicaNotAvailableError(InvalidMetadataError):
    """The replica that was asked for is not available."""

    code = ErrorCode.REPLICA_NOT_AVAILABLE


class RecordTooLargeError(MessageTooLargeError):
    """The record, or its batch, is larger than the producer or the broker allows."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class InvalidTopicError(KafkaError):
    """A name that no topic can have, or an operation that this topic does not allow."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class NotEnoughReplicasError(RetriableError):
    """Fewer replicas are in sync than min.insync.replicas asks for; nothing was written."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class NotEnoughReplicasAfterAppendError(RetriableError):
    """The records are written, but to fewer replicas than min.insync.replicas asks for."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


class InvalidRequiredAcksError(KafkaError):
    """acks must be 0, 1 or all."""

    code = ErrorCode.INVALID_REQUIRED_ACKS


class TopicAuthorizationError(AuthorizationError):
    """We may not do this to the topic."""

    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class ListenerNotFoundError(InvalidMetadataError):
    """The partition's leader has no listener of the kind that we are connected to."""

    code = ErrorCode.LISTENER_NOT_FOUND


class UnknownLeaderEpochError(RetriableError):
    """We know of a newer leader than the broker does."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class OffsetNotAvailableError(RetriableError):
    """The new leader does not know yet how far its log is committed."""

    code = ErrorCode.OFFSET_NOT_AVAILABLE


class UnknownTopicIdError(InvalidMetadataError):
    """The broker knows no topic of this id."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class FetchSessionIdNotFoundError(RetriableError):
    """The broker has forgotten the fetch session."""

    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class InvalidFetchSessionEpochError(RetriableError):
    """The broker and we disagree on where the fetch session stands."""

    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class FetchSessionTopicIdError(RetriableError):
    """The fetch session began with another kind of topic names."""

    code = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


class OffsetMovedToTieredStorageError(KafkaError):
    """The offset is in tiered storage."""

    code = ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE
