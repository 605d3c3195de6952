"""Members who leave, or are removed because they were silent or too slow."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from ottla.common.errors import KafkaError
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.consumer.context import ConsumerGroupContext
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.member_timers import MemberTimers
from ottla.group.consumer.membership import removal_records
from ottla.group.consumer.migration import Migration
from ottla.group.record_helpers import (
    new_consumer_group_epoch_record,
    new_consumer_group_regular_expression_tombstone_record,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Fencing:
    """Removes members; their partitions are free at once, and the group's epoch is bumped."""

    __slots__ = ("_context", "_migration", "_timers")

    def __init__(self, context: ConsumerGroupContext, migration: Migration) -> None:
        self._context = context
        self._migration = migration
        self._timers = MemberTimers(context.timers, self.fence_by_timer)

    @property
    def timers(self) -> MemberTimers:
        """The timers that remove members."""
        return self._timers

    def fence_by_timer(
        self, group_id: str, member_id: str, reason: str, epoch: int | None, now_ms: int
    ) -> CoordinatorResult[None]:
        """A timer is due: remove its member, if it still is one (and at that epoch, if one is given)."""
        group = self._context.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None or epoch not in (None, member.member_epoch):
            return NOTHING
        logger.info("[GroupId %s] Member %s fenced from the group because %s.", group_id, member_id, reason)
        return self.fence(group, [member], None, now_ms)

    def fence(
        self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember], response: T, now_ms: int
    ) -> CoordinatorResult[T]:
        """Remove members, each of them once, and answer. If all who stay speak the classic protocol, the group becomes
        a classic one.
        """
        if not members:
            return CoordinatorResult((), response)
        for member in members:
            self._timers.cancel_all(group.group_id, member.member_id)
        if self._migration.may_downgrade_without(group, members):
            records, rebalance = self._migration.downgrade_without(group, members, now_ms)
            on_committed = partial(self._settle_downgrade, group, members, rebalance, now_ms)
            return CoordinatorResult(records, response, on_committed)
        records = self._removal(group, members)
        return CoordinatorResult(records, response, partial(self._keep_sessions, group, members))

    def _removal(self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember]) -> list[CoordinatorRecord]:
        group_id = group.group_id
        records = [record for member in members for record in removal_records(group_id, member.member_id)]
        dropped = _regexes_of_nobody_else(group, members)
        records += (new_consumer_group_regular_expression_tombstone_record(group_id, regex) for regex in dropped)
        metadata_hash = self._context.metadata_hash(group.subscriptions.topics_without(members, dropped))
        epoch = group.group_epoch + 1
        logger.info("[GroupId %s] Bumped group epoch to %d (hash %d).", group_id, epoch, metadata_hash)
        records.append(new_consumer_group_epoch_record(group_id, epoch, metadata_hash))
        return records

    def _settle_downgrade(
        self,
        group: ConsumerGroup,
        members: Sequence[ConsumerGroupMember],
        rebalance: str | None,
        now_ms: int,
        error: KafkaError | None,
    ) -> None:
        self._migration.settle_downgrade(group.group_id, rebalance, now_ms, error)
        self._keep_sessions(group, members, error)

    def _keep_sessions(
        self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember], error: KafkaError | None
    ) -> None:
        """The records were not written: the members are still there, and must not be so for ever."""
        if error is not None:
            for member in members:
                timeout_ms = self._context.session_timeout_ms(group.group_id)
                self._timers.schedule_session_if_absent(group.group_id, member.member_id, timeout_ms)


def _regexes_of_nobody_else(group: ConsumerGroup, members: Sequence[ConsumerGroupMember]) -> list[str]:
    counts: dict[str, int] = {}
    for member in members:
        if member.subscribed_topic_regex:
            counts[member.subscribed_topic_regex] = counts.get(member.subscribed_topic_regex, 0) + 1
    return [regex for regex, count in counts.items() if group.subscriptions.num_subscribers(regex) == count]
