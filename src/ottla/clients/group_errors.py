"""What a coordinator says of groups and their members, one class a code."""

from ottla.clients.error_kinds import AuthorizationError, RetriableError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError


class OffsetMetadataTooLargeError(KafkaError):
    """The metadata of a committed offset is too long."""

    code = ErrorCode.OFFSET_METADATA_TOO_LARGE


class CoordinatorLoadInProgressError(RetriableError):
    """The coordinator is still reading its log."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailableError(RetriableError):
    """There is no coordinator at the moment."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinatorError(RetriableError):
    """Another broker is the coordinator."""

    code = ErrorCode.NOT_COORDINATOR


class IllegalGenerationError(KafkaError):
    """The group has moved on to another generation."""

    code = ErrorCode.ILLEGAL_GENERATION


class InconsistentGroupProtocolError(KafkaError):
    """The member has no assignor in common with the others of its group."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupIdError(KafkaError):
    """A name that no group can have."""

    code = ErrorCode.INVALID_GROUP_ID


class UnknownMemberIdError(KafkaError):
    """The coordinator does not know this member, any more or yet."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class InvalidSessionTimeoutError(KafkaError):
    """The session timeout is outside of what the broker allows."""

    code = ErrorCode.INVALID_SESSION_TIMEOUT


class RebalanceInProgressError(KafkaError):
    """The group is rebalancing; join it again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class InvalidCommitOffsetSizeError(KafkaError):
    """The offsets to commit do not fit into a record."""

    code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE


class GroupAuthorizationError(AuthorizationError):
    """We may not use this group."""

    code = ErrorCode.GROUP_AUTHORIZATION_FAILED


class GroupNotEmptyError(KafkaError):
    """The group still has members."""

    code = ErrorCode.NON_EMPTY_GROUP


class GroupIdNotFoundError(KafkaError):
    """There is no group of this name, or it is of another kind."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class MemberIdRequiredError(KafkaError):
    """Join again, with the member id in the answer."""

    code = ErrorCode.MEMBER_ID_REQUIRED


class GroupMaxSizeReachedError(KafkaError):
    """The group has as many members as the broker allows."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class FencedInstanceIdError(KafkaError):
    """Another consumer with the same group.instance.id has taken this one's place."""

    code = ErrorCode.FENCED_INSTANCE_ID


class GroupSubscribedToTopicError(KafkaError):
    """The group is subscribed to this topic, so its offsets cannot be deleted."""

    code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


class UnstableOffsetCommitError(RetriableError):
    """Offsets of a transaction are not decided yet."""

    code = ErrorCode.UNSTABLE_OFFSET_COMMIT


class FencedMemberEpochError(KafkaError):
    """The coordinator has fenced the member; it must join again."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class UnreleasedInstanceIdError(KafkaError):
    """Another member still holds this group.instance.id."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignorError(KafkaError):
    """The coordinator does not have this assignor."""

    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class StaleMemberEpochError(KafkaError):
    """The member does not know its newest epoch yet."""

    code = ErrorCode.STALE_MEMBER_EPOCH


class InvalidRegularExpressionError(KafkaError):
    """The coordinator cannot read the regular expression."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION


class ShareSessionNotFoundError(RetriableError):
    """The broker has forgotten the share session."""

    code = ErrorCode.SHARE_SESSION_NOT_FOUND


class InvalidShareSessionEpochError(RetriableError):
    """The broker and we disagree on where the share session stands."""

    code = ErrorCode.INVALID_SHARE_SESSION_EPOCH


class ShareSessionLimitReachedError(RetriableError):
    """The broker has as many share sessions as it allows."""

    code = ErrorCode.SHARE_SESSION_LIMIT_REACHED
