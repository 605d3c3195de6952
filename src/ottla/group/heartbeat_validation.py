"""What a ConsumerGroupHeartbeat must look like, whatever the group is like."""

from collections.abc import Collection
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

JOIN_GROUP_MEMBER_EPOCH: Final = 0
LEAVE_GROUP_MEMBER_EPOCH: Final = -1
LEAVE_GROUP_STATIC_MEMBER_EPOCH: Final = -2

_CLIENT_MADE_MEMBER_IDS: Final = 1
"""From this version on members bring their id when they join."""
_NOT_GIVEN: Final = -1
_BLANKS: Final = "".join(map(chr, range(0x21)))
"""What Java's trim takes away."""


def validate_consumer_group_heartbeat(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Collection[str]
) -> None:
    """INVALID_REQUEST, or UNSUPPORTED_ASSIGNOR for an assignor that is not offered."""
    member_epoch = request.member_epoch
    if api_version >= _CLIENT_MADE_MEMBER_IDS or member_epoch > 0 or member_epoch == LEAVE_GROUP_MEMBER_EPOCH:
        _require_not_empty(request.member_id, "MemberId")
    _require_not_empty(request.group_id, "GroupId")
    _require_not_empty(request.instance_id, "InstanceId")
    _require_not_empty(request.rack_id, "RackId")
    if member_epoch == JOIN_GROUP_MEMBER_EPOCH:
        _validate_join(request)
    elif member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        if request.instance_id is None:
            raise InvalidRequestError("InstanceId can't be null.")
    elif member_epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _validate_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == _NOT_GIVEN:
        raise InvalidRequestError("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequestError("TopicPartitions must be empty when (re-)joining.")
    # An empty list or expression is fine: a member that is in the group and reads nothing yet.
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidRequestError(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _require_not_empty(value: str | None, name: str) -> None:
    if value is not None and not value.strip(_BLANKS):
        raise InvalidRequestError(f"{name} can't be empty.")
