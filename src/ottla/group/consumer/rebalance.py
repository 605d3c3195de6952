"""From a member's change to its next assignment: group epoch, target assignment, reconciliation."""

import logging
from typing import Final, NamedTuple

from ottla.coordinator.record import CoordinatorRecord
from ottla.group.assignor.spec import Assignment, SubscriptionType
from ottla.group.consumer.context import ConsumerGroupContext
from ottla.group.consumer.current_assignment import CurrentAssignmentBuilder
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.member_timers import MemberTimers
from ottla.group.consumer.subscriptions import SubscribedTopics, subscription_type
from ottla.group.consumer.target_assignment import TargetAssignment, TargetAssignmentBuilder
from ottla.group.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_epoch_record,
    new_consumer_group_member_subscription_record,
    new_consumer_group_subscription_metadata_tombstone_record,
)

logger = logging.getLogger(__name__)

METADATA_REFRESH_INTERVAL_MS: Final = 2**31 - 1
"""Topics are looked at when they change; this is for the group that missed it."""


class MemberChange(NamedTuple):
    """A request of a member as it is being decided: the member before and after, and the records so far."""

    group: ConsumerGroup
    """Perhaps one that does not exist yet: the records will make it."""
    member: ConsumerGroupMember
    updated_member: ConsumerGroupMember
    records: list[CoordinatorRecord]
    now_ms: int

    def write_subscription(self) -> bool:
        """Record the member if anything about it has changed; whether the topics that it names have."""
        if self.updated_member == self.member:
            return False
        self.records.append(new_consumer_group_member_subscription_record(self.group.group_id, self.updated_member))
        return self.updated_member.subscribed_topic_names != self.member.subscribed_topic_names

    def subscribed_topics(self) -> SubscribedTopics:
        """The topics that the group will subscribe to."""
        return self.group.subscriptions.topics_after(self.member, self.updated_member)

    def subscription_type(self) -> SubscriptionType:
        """Whether all members will subscribe to the same.

        Apache takes the group's present type when nothing bumps its epoch, and so gives partitions to a member that
        joins without a subscription while a rebalance is due, which never reads them.
        """
        group, new = self.group, self.updated_member
        is_new = not group.has_member(new.member_id) and group.static_member(new.instance_id) is None
        regexes = group.subscriptions.regexes_after(self.member, new)
        return subscription_type(regexes, self.subscribed_topics(), group.num_members + is_new)


class Rebalancer:
    """Decides in three steps, each of which adds the records that it needs."""

    __slots__ = ("_context", "_timers")

    def __init__(self, context: ConsumerGroupContext, timers: MemberTimers) -> None:
        self._context = context
        self._timers = timers

    def maybe_bump_group_epoch(self, change: MemberChange, *, bump: bool) -> int:
        """The next epoch if a subscription says so, or if the topics have changed since somebody last looked."""
        group, now_ms = change.group, change.now_ms
        if not bump and not group.has_metadata_expired(now_ms):
            return group.group_epoch
        metadata_hash = self._context.metadata_hash(change.subscribed_topics())
        epoch = group.group_epoch
        if bump or metadata_hash != group.metadata_hash:
            epoch += 1
            self.write_group_epoch(group, epoch, metadata_hash, change.records)
        group.set_metadata_refresh_deadline(now_ms + METADATA_REFRESH_INTERVAL_MS, epoch)
        if group.has_subscription_metadata_record:
            change.records.append(new_consumer_group_subscription_metadata_tombstone_record(group.group_id))
        return epoch

    def write_group_epoch(
        self, group: ConsumerGroup, epoch: int, metadata_hash: int, records: list[CoordinatorRecord]
    ) -> None:
        """A rebalance begins."""
        records.append(new_consumer_group_epoch_record(group.group_id, epoch, metadata_hash))
        logger.info(
            "[GroupId %s] Bumped group epoch to %d with metadata hash %d.", group.group_id, epoch, metadata_hash
        )
        self._context.metrics.consumer_group_rebalances.value += 1

    def maybe_update_target_assignment(self, change: MemberChange, group_epoch: int) -> TargetAssignment:
        """What the member is to have: by a new target assignment if the group's epoch is ahead and the last one is old
        enough, else by the last one.
        """
        group, now_ms = change.group, change.now_ms
        if group.assignment_epoch >= group_epoch or not self._may_assign(group, now_ms):
            return TargetAssignment(group.assignment_epoch, group.target_of(change.updated_member))
        assignor_name = group.preferred_server_assignor(
            self._context.config.group_consumer_assignors, change.member, change.updated_member
        )
        records, target = TargetAssignmentBuilder(
            group,
            group_epoch,
            assignor_name,
            change.subscription_type(),
            change.updated_member,
            self._context.image.topics,
        ).build(now_ms)
        logger.info(
            "[GroupId %s] Computed a new target assignment for epoch %d with '%s' assignor.",
            group.group_id,
            group_epoch,
            assignor_name,
        )
        change.records.extend(records)
        return target

    def _may_assign(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Whether the last target assignment, if there is one, is as old as the interval asks.

        Its time comes from a record. One in the future was written before the wall clock was set back; to wait for it
        would leave new members without partitions for as long.
        """
        interval_ms = self._context.assignment_interval_ms(group.group_id)
        last_ms = group.assignment_timestamp_ms
        return last_ms == 0 or not 0 <= now_ms - last_ms < interval_ms

    def maybe_reconcile(
        self,
        change: MemberChange,
        target: TargetAssignment,
        *,
        has_subscription_changed: bool,
        owned: Assignment | None,
    ) -> ConsumerGroupMember:
        """The member after its next step towards the target, and a rebalance timer if it has to give something up."""
        group, member = change.group, change.updated_member
        if not has_subscription_changed and member.is_reconciled_to(target.epoch):
            return member
        group_id = group.group_id
        reconciled = CurrentAssignmentBuilder(
            member,
            target.epoch,
            target.assignment,
            group.subscriptions.topics_of(member),
            self._context.image.topics,
            has_subscription_changed,
            group.owners.epoch,
            owned,
        ).build()
        if reconciled == member:
            return member
        change.records.append(new_consumer_group_current_assignment_record(group_id, reconciled))
        if not reconciled.use_classic_protocol:  # classic members have timers to join and to sync
            if reconciled.state is MemberState.UNREVOKED_PARTITIONS:
                self._timers.schedule_rebalance(group_id, reconciled)
            else:
                self._timers.cancel_rebalance(group_id, reconciled.member_id)
        return reconciled
