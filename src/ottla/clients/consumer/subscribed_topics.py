"""Which topics a subscription means at the moment."""

from collections.abc import Collection

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.membership import Subscription
from ottla.common.error_code import ErrorCode
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.common.topic_partition import TopicPartition

_EXISTS = (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE)


class SubscribedTopics:
    """A subscription beside the newest metadata: ``names`` are the topics listed, or those that the pattern matches."""

    __slots__ = ("_exclude_internal", "metadata", "names", "subscription")

    def __init__(self, *, exclude_internal: bool) -> None:
        self._exclude_internal = exclude_internal
        self.subscription: Subscription | None = None
        self.metadata = ClusterMetadata()
        self.names: frozenset[str] = frozenset()

    @property
    def is_known(self) -> bool:
        """Whether the names can be told: a pattern needs metadata first."""
        return self.subscription is not None and (self.subscription.pattern is None or bool(self.metadata.nodes))

    def subscribe(self, subscription: Subscription | None) -> None:
        """Another subscription, or none."""
        self.subscription = subscription
        self._update()

    def update_metadata(self, metadata: ClusterMetadata) -> None:
        """The cluster may have changed."""
        self.metadata = metadata
        self._update()

    def matches(self, partitions: Collection[TopicPartition]) -> bool:
        """Whether all partitions are of topics that are subscribed to; the leader may know more topics than we do."""
        if self.subscription is None:
            return False
        pattern, topics = self.subscription.pattern, self.subscription.topics
        if pattern is not None:
            return all(pattern.fullmatch(partition.topic) for partition in partitions)
        return all(partition.topic in topics for partition in partitions)

    def _update(self) -> None:
        if self.subscription is None:
            self.names = frozenset()
        elif self.subscription.pattern is None:
            self.names = self.subscription.topics
        else:
            self.names = frozenset(filter(self._is_match, self.metadata.topics))

    def _is_match(self, name: str) -> bool:
        assert self.subscription is not None and self.subscription.pattern is not None
        topic = self.metadata.topics[name]
        is_hidden = self._exclude_internal and (topic.is_internal or name in INTERNAL_TOPICS)
        return topic.error_code in _EXISTS and not is_hidden and self.subscription.pattern.fullmatch(name) is not None
