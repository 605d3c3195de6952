"""The requests of a classic member."""

from collections.abc import Collection
from typing import Final

from ottla.clients.consumer.classic.generation import ClassicSettings, Generation
from ottla.clients.consumer.classic.leader import ask_user_data, write_subscription
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

PROTOCOL_TYPE: Final = "consumer"
_REASON_LENGTH_MAX: Final = 255


def join_group(
    settings: ClassicSettings,
    generation: Generation,
    topics: frozenset[str],
    owned: Collection[TopicPartition],
    reason: str,
) -> JoinGroupRequest:
    """Join, with what each assignor wants its leader to know."""
    return JoinGroupRequest(
        group_id=settings.group_id,
        session_timeout_ms=settings.session_timeout_ms,
        rebalance_timeout_ms=settings.max_poll_interval_ms,
        member_id=generation.member_id,
        group_instance_id=settings.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[
            JoinGroupRequestProtocol(
                name=assignor.name,
                metadata=write_subscription(
                    topics,
                    ask_user_data(assignor, topics),
                    owned,
                    generation.generation_id,
                    settings.rack_id,
                ),
            )
            for assignor in settings.assignors
        ],
        reason=reason[:_REASON_LENGTH_MAX],
    )


def sync_group(
    settings: ClassicSettings, generation: Generation, assignments: list[SyncGroupRequestAssignment]
) -> SyncGroupRequest:
    """Ask for the own assignment, as the leader bringing all."""
    return SyncGroupRequest(
        group_id=settings.group_id,
        generation_id=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=settings.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=generation.protocol_name,
        assignments=assignments,
    )


def heartbeat(settings: ClassicSettings, generation: Generation) -> HeartbeatRequest:
    """Say that the member lives."""
    return HeartbeatRequest(
        group_id=settings.group_id,
        generation_id=generation.generation_id,
        member_id=generation.member_id,
        group_instance_id=settings.group_instance_id,
    )


def leave_group(settings: ClassicSettings, generation: Generation, reason: str) -> LeaveGroupRequest | None:
    """Say that the member goes; None if the coordinator does not know it, or it is static and keeps its place."""
    if not generation.member_id or settings.group_instance_id is not None:
        return None
    return LeaveGroupRequest(
        group_id=settings.group_id,
        member_id=generation.member_id,
        members=[
            MemberIdentity(
                member_id=generation.member_id,
                group_instance_id=settings.group_instance_id,
                reason=reason[:_REASON_LENGTH_MAX],
            )
        ],
    )
