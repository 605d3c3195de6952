"""JoinGroup to a consumer group: a member that speaks the classic protocol comes, or comes to its next epoch."""

from functools import partial
from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.assignor.spec import Assignment
from ottla.group.classic.context import MEMBER_ID_REQUIRED_VERSION
from ottla.group.classic.member import JoinRespond
from ottla.group.consumer.assignment import by_topic_id
from ottla.group.consumer.context import ConsumerGroupContext, RequestContext
from ottla.group.consumer.fencing import Fencing
from ottla.group.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from ottla.group.consumer.member import ClassicMember, ClassicProtocol, ConsumerGroupMember, topic_names
from ottla.group.consumer.member_validation import throw_if_group_is_full
from ottla.group.consumer.membership import joining_classic_member
from ottla.group.consumer.migration import Migration
from ottla.group.consumer.rebalance import MemberChange, Rebalancer
from ottla.group.consumer.regex_subscriptions import RegexSubscriptions, RegexUpdate
from ottla.group.consumer.target_assignment import TargetAssignment
from ottla.protocol.consumer_protocol import ConsumerProtocolSubscription, decode_subscription
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse


class _Join(NamedTuple):
    """A join as it is being decided."""

    change: MemberChange
    group_epoch: int
    has_subscription_changed: bool
    owned: Assignment
    """What the member says that it owns: all that it does not name has been given up."""
    respond: JoinRespond


class ClassicJoins:
    """Joins of consumer groups that have members."""

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

    def join(
        self,
        group: ConsumerGroup,
        context: RequestContext,
        request: JoinGroupRequest,
        respond: JoinRespond,
        now_ms: int,
    ) -> CoordinatorResult[None]:
        """Join, or join again. ``respond`` is called when that is committed, unless this raises.

        If the only member of the consumer protocol is a static one and is replaced so, the group becomes a classic one.
        """
        self._migration.throw_if_classic_member_cannot_join(group)
        is_unknown = not request.member_id
        member_id = request.member_id or str(Uuid.random(self._context.rng))
        throw_if_group_is_full(group, member_id, self._context.config.group_consumer_max_size)
        if not group.supports_classic_protocols(request.protocol_type, [each.name for each in request.protocols]):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Member {member_id}'s protocols are not supported.")
        is_dynamic = request.group_instance_id is None
        if is_unknown and is_dynamic and context.api_version >= MEMBER_ID_REQUIRED_VERSION:
            respond(JoinGroupResponse(member_id=member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED))
            return NOTHING
        subscription = _subscription(request)
        records: list[CoordinatorRecord] = []
        member = joining_classic_member(
            group, member_id, request.group_instance_id, records, is_unknown_member=is_unknown
        )
        change = MemberChange(group, member, _updated(member, context, request, subscription), records, now_ms)
        names_changed = change.write_subscription()
        changed = self._regexes.update(context, change) is not RegexUpdate.NONE or names_changed
        owned = ((each.topic, each.partitions) for each in subscription.owned_partitions)
        join = _Join(
            change,
            self._rebalancer.maybe_bump_group_epoch(change, bump=changed),
            changed,
            by_topic_id(owned, self._context.image.topics),
            respond,
        )
        replaced = group.static_member(request.group_instance_id)
        if replaced is not None and self._migration.may_downgrade_with_replaced(group, replaced):
            return self._join_and_downgrade(join, replaced)
        updated = self._reconcile(join, self._rebalancer.maybe_update_target_assignment(change, join.group_epoch))
        return CoordinatorResult(records, None, partial(self._joined, group.group_id, updated, respond))

    def _reconcile(self, join: _Join, target: TargetAssignment) -> ConsumerGroupMember:
        return self._rebalancer.maybe_reconcile(
            join.change, target, has_subscription_changed=join.has_subscription_changed, owned=join.owned
        )

    def _join_and_downgrade(self, join: _Join, replaced: ConsumerGroupMember) -> CoordinatorResult[None]:
        """The member's assignment follows the last target; if that is out of date, the classic group rebalances."""
        change, rebalance = join.change, None
        group, updated, now_ms = change.group, change.updated_member, change.now_ms
        if group.assignment_epoch < join.group_epoch:
            rebalance = f"Downgrade group {group.group_id} from consumer to classic with stale assignment."
        else:
            updated = self._reconcile(join, TargetAssignment(group.assignment_epoch, group.target_of(updated)))
        records = change.records + self._migration.downgrade_with_replaced(group, replaced, updated, now_ms)

        def settle(error: KafkaError | None) -> None:
            self._migration.settle_downgrade(group.group_id, rebalance, now_ms, error)
            _respond(updated, join.respond, error)

        return CoordinatorResult(records, None, settle)

    def _joined(
        self,
        group_id: str,
        member: ConsumerGroupMember,
        respond: JoinRespond,
        error: KafkaError | None,
    ) -> None:
        """The member has joined: it must heartbeat, and fetch its assignment within the rebalance timeout."""
        assert member.classic is not None, f"{member.member_id} has just joined with the classic protocol"
        if error is None:
            member_id, timers = member.member_id, self._fencing.timers
            timers.cancel_join(group_id, member_id)
            timers.schedule_session(group_id, member_id, member.classic.session_timeout_ms)
            timers.schedule_sync(group_id, member_id, member.rebalance_timeout_ms)
        _respond(member, respond, error)


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """What a member subscribes to: all of its protocols say the same."""
    try:
        return decode_subscription(request.protocols[0].metadata)
    except InvalidRequestError as error:
        raise ApiError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The embedded consumer protocol is malformed: {error}"
        ) from error


def _updated(
    member: ConsumerGroupMember,
    context: RequestContext,
    request: JoinGroupRequest,
    subscription: ConsumerProtocolSubscription,
) -> ConsumerGroupMember:
    """The member with what it says of itself."""
    timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.session_timeout_ms if timeout_ms == -1 else timeout_ms,  # version 0 has but one
        subscribed_topic_names=topic_names(subscription.topics),
        subscribed_topic_regex="",
        client_id=context.client_id,
        client_host=context.client_host,
        classic=ClassicMember(
            request.session_timeout_ms,
            tuple(ClassicProtocol(each.name, bytes(each.metadata)) for each in request.protocols),
        ),
    )


def _respond(member: ConsumerGroupMember, respond: JoinRespond, error: KafkaError | None) -> None:
    assert member.classic is not None, f"{member.member_id} has just joined with the classic protocol"
    if error is not None:
        respond(JoinGroupResponse(member_id=member.member_id, error_code=error.code))
        return
    respond(
        JoinGroupResponse(
            member_id=member.member_id,
            generation_id=member.member_epoch,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=member.classic.supported_protocols[0].name,
        )
    )
