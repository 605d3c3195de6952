"""Subscriptions by regular expressions: checked when they come, resolved beside requests, all of a group at once."""

from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import Final

from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.consumer.context import ConsumerGroupContext, RequestContext
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.rebalance import METADATA_REFRESH_INTERVAL_MS, MemberChange, Rebalancer
from ottla.group.consumer.resolved_regular_expression import ResolvedRegularExpression
from ottla.group.consumer.subscriptions import add_to_counts
from ottla.group.consumer.topic_regex import resolve_regular_expressions, validate_topic_regex
from ottla.group.record_helpers import (
    new_consumer_group_regular_expression_record,
    new_consumer_group_regular_expression_tombstone_record,
)

REGEX_BATCH_REFRESH_MIN_INTERVAL_MS: Final = 10_000
"""Expressions that come within this time after a refresh wait for the next one, so that they rebalance together."""


class RegexUpdate(Enum):
    """What a request did to its member's regular expression."""

    NONE = 0
    """It is the same."""
    UNRESOLVED = 1
    """It is another, and nobody knows its topics yet."""
    RESOLVED = 2
    """It is another, whose topics are known; or none."""


class RegexSubscriptions:
    """The regular expressions of all groups."""

    __slots__ = ("_context", "_rebalancer")

    def __init__(self, context: ConsumerGroupContext, rebalancer: Rebalancer) -> None:
        self._context = context
        self._rebalancer = rebalancer

    def update(self, context: RequestContext, change: MemberChange) -> RegexUpdate:
        """Note a member's change of its expression (INVALID_REGULAR_EXPRESSION if it is none), and refresh all of the
        group if it is time: to what whoever asks may know of.
        """
        group, old, new = (
            change.group,
            change.member.subscribed_topic_regex,
            change.updated_member.subscribed_topic_regex,
        )
        subscriptions, update, is_new = group.subscriptions, RegexUpdate.NONE, False
        if old != new:
            update = RegexUpdate.UNRESOLVED
            if old and subscriptions.num_subscribers(old) == 1:
                change.records.append(new_consumer_group_regular_expression_tombstone_record(group.group_id, old))
            if new and not subscriptions.num_subscribers(new):
                validate_topic_regex(new)
                is_new = True
            elif not new or new in subscriptions.resolved:
                update = RegexUpdate.RESOLVED
        if is_new or subscriptions.regexes:
            self._maybe_refresh(context, change, is_new=is_new)
        return update

    def _maybe_refresh(self, context: RequestContext, change: MemberChange, *, is_new: bool) -> None:
        """Resolve all expressions unless that is under way or was done a moment ago: if one is not resolved, if there
        are new topics, or because the last time is long ago.
        """
        group, now_ms = change.group, change.now_ms
        key, subscriptions = f"{group.group_id}-regex", group.subscriptions
        if self._context.tasks.is_scheduled(key):
            return
        last_ms = subscriptions.last_refresh_time_ms
        if last_ms is not None and last_ms > now_ms:
            last_ms = None  # it stands in records from before the wall clock was set back
        if last_ms is not None and now_ms <= last_ms + REGEX_BATCH_REFRESH_MIN_INTERVAL_MS:
            return
        regexes = subscriptions.regexes_after(change.member, change.updated_member)
        if regexes and (
            is_new
            or last_ms is None
            or len(regexes) != len(subscriptions.resolved)
            or subscriptions.last_version < self._context.image_version_with_new_topics
            or now_ms > last_ms + self._context.config.group_consumer_regex_refresh_interval_ms
        ):
            work = resolve_regular_expressions(list(regexes), self._context.image, context.describable_topics, now_ms)
            self._context.tasks.schedule(key, work, partial(self._resolved, group.group_id))

    def _resolved(
        self, group_id: str, resolved: Mapping[str, ResolvedRegularExpression], now_ms: int
    ) -> CoordinatorResult[None]:
        """Note what expressions stand for, as far as anybody still subscribes to them; rebalance if that is new."""
        group = self._context.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return NOTHING
        subscriptions, records = group.subscriptions, list[CoordinatorRecord]()
        subscribed, bump = dict(subscriptions.topics), False
        for regex, after in resolved.items():
            if not subscriptions.num_subscribers(regex):
                continue
            before = subscriptions.resolved.get(regex)
            old_topics = () if before is None else before.topics
            if old_topics != after.topics:
                bump = True
                add_to_counts(subscribed, old_topics, by_regex=-1)
                add_to_counts(subscribed, after.topics, by_regex=1)
            elif before is None and has_target_assignment(group, regex):
                bump = True
            records.append(
                new_consumer_group_regular_expression_record(
                    group_id,
                    regex,
                    topics=after.topics,
                    version=after.version,
                    timestamp_ms=after.timestamp_ms,
                )
            )
        metadata_hash = self._context.metadata_hash(subscribed)
        if bump or metadata_hash != group.metadata_hash:
            epoch = group.group_epoch + 1
            self._rebalancer.write_group_epoch(group, epoch, metadata_hash, records)
            group.set_metadata_refresh_deadline(now_ms + METADATA_REFRESH_INTERVAL_MS, epoch)
        return CoordinatorResult(records, None)


def has_target_assignment(group: ConsumerGroup, regex: str) -> bool:
    """Whether somebody who subscribes to an expression is to have any partitions.

    If the expression is new and stands for no topic, these are of an earlier subscription, and others wait for them.
    Apache does not look, and nobody gets them before the next rebalance.
    """
    return any(
        group.target_assignment.get(member_id)
        for member_id, member in group.members.items()
        if member.subscribed_topic_regex == regex
    )
