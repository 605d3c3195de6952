"""ConsumerGroupHeartbeat: join, stay, tell of oneself, leave."""

import logging
from functools import partial
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import CoordinatorResult
from ottla.group.assignor.spec import Assignment
from ottla.group.classic.group import ClassicGroup
from ottla.group.consumer.assignment import PartitionEpochs, merged
from ottla.group.consumer.context import ConsumerGroupContext, RequestContext, not_found
from ottla.group.consumer.fencing import Fencing
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    ConsumerGroupMember,
    topic_names,
)
from ottla.group.consumer.member_validation import (
    known_static_member,
    throw_if_group_is_full,
    throw_if_instance_id_is_fenced,
)
from ottla.group.consumer.membership import heartbeating_member
from ottla.group.consumer.migration import Migration
from ottla.group.consumer.rebalance import MemberChange, Rebalancer
from ottla.group.consumer.regex_subscriptions import RegexSubscriptions, RegexUpdate
from ottla.group.record_helpers import new_consumer_group_current_assignment_record
from ottla.protocol.messages.consumer_group_heartbeat import (
    Assignment as AssignmentMessage,
)
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)

logger = logging.getLogger(__name__)

_NOT_GIVEN: Final = -1


class Heartbeats:
    """Answers heartbeats; requests are well-formed by the time that they come here."""

    __slots__ = ("_context", "_fencing", "_migration", "_rebalancer", "_regexes")

    def __init__(
        self,
        context: ConsumerGroupContext,
        *,
        fencing: Fencing,
        migration: Migration,
        rebalancer: Rebalancer,
        regexes: RegexSubscriptions,
    ) -> None:
        self._context = context
        self._fencing = fencing
        self._migration = migration
        self._rebalancer = rebalancer
        self._regexes = regexes

    def heartbeat(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """Answer one heartbeat: a negative epoch leaves."""
        if request.member_epoch < JOIN_GROUP_MEMBER_EPOCH:
            return self._leave(request, now_ms)
        return self._stay(context, request, now_ms)

    def _stay(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """A member joins or is alive; what it says of itself may change the group, and the group its assignment.

        The answer has the assignment if the member joins, if its request was a full one (it may have missed an answer),
        or if the assignment has changed.
        """
        group_id, epoch = request.group_id, request.member_epoch
        records: list[CoordinatorRecord] = []
        group, upgraded = self._group(group_id, records, is_joining=epoch == JOIN_GROUP_MEMBER_EPOCH)
        throw_if_group_is_full(group, request.member_id, self._context.config.group_consumer_max_size)
        member_id = request.member_id or str(Uuid.random(self._context.rng))
        owned = _owned(request)
        member = heartbeating_member(group, member_id, request.instance_id, records, member_epoch=epoch, owned=owned)
        change = MemberChange(group, member, _updated(member, context, request), records, now_ms)

        is_rebalancing = upgraded is not None and self._migration.is_rebalancing(upgraded)
        names_changed = change.write_subscription()
        regex_update = self._regexes.update(context, change)
        group_epoch = self._rebalancer.maybe_bump_group_epoch(
            # An expression that is yet to be resolved bumps the epoch when it is. A classic group that was rebalancing
            # still has to; Apache forgets that if whoever joins subscribes to nothing.
            change,
            bump=names_changed or regex_update is RegexUpdate.RESOLVED or is_rebalancing,
        )
        target = self._rebalancer.maybe_update_target_assignment(change, group_epoch)
        updated = self._rebalancer.maybe_reconcile(
            change,
            target,
            has_subscription_changed=names_changed or regex_update is not RegexUpdate.NONE,
            owned=owned,
        )

        if upgraded is not None:
            self._schedule_classic_sessions(group)
        self._fencing.timers.schedule_session(group_id, member_id, self._context.session_timeout_ms(group_id))
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self._context.heartbeat_interval_ms(group_id),
        )
        if (
            epoch == JOIN_GROUP_MEMBER_EPOCH
            or _is_full(request)
            or updated.assigned_partitions != member.assigned_partitions
        ):
            response.assignment = _assignment(updated.assigned_partitions)
        on_committed = None if upgraded is None else partial(_send_to_rejoin, upgraded)
        return CoordinatorResult(records, response, on_committed)

    def _group(
        self, group_id: str, records: list[CoordinatorRecord], *, is_joining: bool
    ) -> tuple[ConsumerGroup, ClassicGroup | None]:
        """The group, perhaps one that the records will make; and the classic group that it was, if it had members."""
        group = self._context.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group, None
        if group is None and not is_joining:
            raise not_found(f"Consumer group {group_id} not found.")
        if group is None:
            return ConsumerGroup(group_id), None
        if not is_joining or not isinstance(group, ClassicGroup):
            raise not_found(f"Group {group_id} is not a consumer group.")
        if group.is_empty:
            records += group.tombstone_records()
            return ConsumerGroup(group_id), None
        return self._migration.upgrade(group, records), group

    def _schedule_classic_sessions(self, group: ConsumerGroup) -> None:
        """The members of a classic group live on; should the change fail, the timers find no such members."""
        for member in group.members.values():
            if member.classic is not None:
                self._fencing.timers.schedule_session(
                    group.group_id, member.member_id, member.classic.session_timeout_ms
                )

    def _leave(
        self, request: ConsumerGroupHeartbeatRequest, now_ms: int
    ) -> CoordinatorResult[ConsumerGroupHeartbeatResponse]:
        """A member leaves for good, or a static one for a while: its place is kept until its session ends."""
        group = self._context.consumer_group(request.group_id)
        member_id, epoch = request.member_id, request.member_epoch
        response = ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch)
        if request.instance_id is None:
            member = group.member(member_id)
        else:
            member = known_static_member(group, request.instance_id)
            throw_if_instance_id_is_fenced(member, member_id)
            if epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
                logger.info("[GroupId %s] Static member %s temporarily left.", group.group_id, member_id)
                record = new_consumer_group_current_assignment_record(group.group_id, member.left_temporarily())
                return CoordinatorResult([record], response)
        logger.info("[GroupId %s] Member %s left the consumer group.", group.group_id, member_id)
        return self._fencing.fence(group, [member], response, now_ms)


def _updated(
    member: ConsumerGroupMember, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupMember:
    """The member with what it says of itself; what it does not say stays as it is."""
    names, regex, timeout_ms = (
        request.subscribed_topic_names,
        request.subscribed_topic_regex,
        request.rebalance_timeout_ms,
    )
    if (
        names is None
        and regex is None
        and timeout_ms == _NOT_GIVEN
        and request.instance_id is None
        and request.rack_id is None
        and not request.server_assignor
        and member.client_id == context.client_id
        and member.client_host == context.client_host
        and member.classic is None
    ):
        return member  # as in nearly all heartbeats
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == _NOT_GIVEN else timeout_ms,
        server_assignor_name=request.server_assignor or member.server_assignor_name,
        subscribed_topic_names=member.subscribed_topic_names if names is None else topic_names(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=context.client_id,
        client_host=context.client_host,
        classic=None,
    )


def _owned(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    """What the member says that it owns; None if it does not say."""
    if request.topic_partitions is None:
        return None
    return merged((each.topic_id, each.partitions) for each in request.topic_partitions)


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a request says all that it can, as members do after an error."""
    return (
        request.rebalance_timeout_ms != _NOT_GIVEN
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )


def _assignment(partitions: PartitionEpochs) -> AssignmentMessage:
    return AssignmentMessage(
        topic_partitions=[
            ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=sorted(epochs))
            for topic_id, epochs in partitions.items()
        ]
    )


def _send_to_rejoin(group: ClassicGroup, error: KafkaError | None) -> None:
    """The classic group is a consumer group now: members who wait in it have to join again."""
    if error is None:
        group.members.fail_all(ErrorCode.REBALANCE_IN_PROGRESS)
