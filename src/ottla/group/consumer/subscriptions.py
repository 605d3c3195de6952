"""What the members of a group subscribe to, by names and by regular expressions."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ottla.group.assignor.spec import SubscriptionType
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.resolved_regular_expression import ResolvedRegularExpression


class SubscriptionCount(NamedTuple):
    """How many members name a topic, and how many regular expressions match it."""

    by_name: int = 0
    by_regex: int = 0


SubscribedTopics = dict[str, SubscriptionCount]
"""Every topic that somebody subscribes to, in one way or the other."""

_NOBODY = SubscriptionCount()


class GroupSubscriptions:
    """The subscriptions of a group; changed by replay only."""

    __slots__ = ("regexes", "resolved", "topics")

    def __init__(self) -> None:
        self.topics: SubscribedTopics = {}
        self.regexes: dict[str, int] = {}
        """How many members subscribe to each regular expression."""
        self.resolved: dict[str, ResolvedRegularExpression] = {}

    def update(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
        """A member came (no old one), went (no new one) or changed."""
        _move_names(self.topics, old, new)
        _move_regex(self.regexes, old, new)

    def set_resolved(self, regex: str, resolved: ResolvedRegularExpression | None) -> None:
        """A regular expression stands for other topics now, or for none because nobody subscribes to it."""
        before = self.resolved.pop(regex, None)
        if before is not None:
            add_to_counts(self.topics, before.topics, by_regex=-1)
        if resolved is not None:
            self.resolved[regex] = resolved
            add_to_counts(self.topics, resolved.topics, by_regex=1)

    def topics_after(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> SubscribedTopics:
        """The topics after ``update``, and after nobody's regular expression has been dropped."""
        topics = dict(self.topics)
        _move_names(topics, old, new)
        if old is not None and old.subscribed_topic_regex:
            regex = old.subscribed_topic_regex
            is_kept = new is not None and new.subscribed_topic_regex == regex
            if not is_kept and self.num_subscribers(regex) == 1:
                self._drop_regex(topics, regex)
        return topics

    def regexes_after(self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> dict[str, int]:
        """The regular expressions after ``update``."""
        regexes = dict(self.regexes)
        _move_regex(regexes, old, new)
        return regexes

    def topics_without(
        self, members: Iterable[ConsumerGroupMember], dropped_regexes: Iterable[str]
    ) -> SubscribedTopics:
        """The topics after some members have gone, and the regular expressions that only they had."""
        topics = dict(self.topics)
        for member in members:
            _move_names(topics, member, None)
        for regex in dropped_regexes:
            self._drop_regex(topics, regex)
        return topics

    def num_subscribers(self, regex: str) -> int:
        """How many members subscribe to a regular expression."""
        return self.regexes.get(regex, 0)

    def topics_of(self, member: ConsumerGroupMember) -> Collection[str]:
        """The topics that one member wants; a regular expression that is not resolved stands for none."""
        names = member.subscribed_topic_names
        resolved = self.resolved.get(member.subscribed_topic_regex)
        if resolved is None or not resolved.topics:
            return names
        return tuple(sorted({*names, *resolved.topics})) if names else resolved.topics

    @property
    def last_refresh_time_ms(self) -> int | None:
        """When regular expressions were last resolved; None if none is."""
        return max((resolved.timestamp_ms for resolved in self.resolved.values()), default=None)

    @property
    def last_version(self) -> int:
        """The version of the metadata that they were resolved with: all are at once."""
        return max((resolved.version for resolved in self.resolved.values()), default=0)

    def _drop_regex(self, topics: SubscribedTopics, regex: str) -> None:
        resolved = self.resolved.get(regex)
        if resolved is not None:
            add_to_counts(topics, resolved.topics, by_regex=-1)


def add_to_counts(topics: SubscribedTopics, names: Iterable[str], *, by_name: int = 0, by_regex: int = 0) -> None:
    """Count subscriptions up or down; topics that nobody subscribes to any more are forgotten."""
    for name in names:
        count = topics.get(name, _NOBODY)
        count = SubscriptionCount(max(count.by_name + by_name, 0), max(count.by_regex + by_regex, 0))
        if count == _NOBODY:
            topics.pop(name, None)
        else:
            topics[name] = count


def subscription_type(regexes: Mapping[str, int], topics: SubscribedTopics, num_members: int) -> SubscriptionType:
    """Whether all members subscribe to the same: the same names, or one regular expression and no names."""
    if not regexes:
        same = all(count.by_name == num_members for count in topics.values())
    else:
        same = next(iter(regexes.values())) == num_members and all(
            count.by_regex == 1 and count.by_name == 0 for count in topics.values()
        )
    return SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS


def count_one(counts: dict[str, int], name: str, change: int) -> None:
    """Count something up or down by name; what is at 0 is forgotten."""
    count = counts.get(name, 0) + change
    if count > 0:
        counts[name] = count
    else:
        counts.pop(name, None)


def _move_names(topics: SubscribedTopics, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
    before = () if old is None else old.subscribed_topic_names
    after = () if new is None else new.subscribed_topic_names
    if before != after:
        add_to_counts(topics, before, by_name=-1)
        add_to_counts(topics, after, by_name=1)


def _move_regex(regexes: dict[str, int], old: ConsumerGroupMember | None, new: ConsumerGroupMember | None) -> None:
    before = "" if old is None else old.subscribed_topic_regex
    after = "" if new is None else new.subscribed_topic_regex
    if before != after:
        if before:
            count_one(regexes, before, -1)
        if after:
            count_one(regexes, after, 1)
