"""What a heartbeat says: all when joining and after a failure, else only what the coordinator was not told yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """What a member of a consumer group is configured with."""

    group_id: str
    member_id: str
    group_instance_id: str | None = None
    rack_id: str | None = None
    server_assignor: str | None = None
    max_poll_interval_ms: int = 300_000
    retry_backoff_ms: int = 100
    exclude_internal_topics: bool = True


class HeartbeatFields:
    """Remembers what was said last."""

    __slots__ = ("_owned", "_pattern", "_settings", "_topics")

    def __init__(self, settings: ConsumerSettings) -> None:
        self._settings = settings
        self._topics: frozenset[str] | None = None
        self._pattern: str | None = None
        self._owned: Mapping[TopicPartition, Uuid] | None = None

    def forget(self) -> None:
        """The coordinator may not have heard the last: say everything again."""
        self._topics = None
        self._pattern = None
        self._owned = None

    def forget_owned(self) -> None:
        """The coordinator waits to hear what the member has."""
        self._owned = None

    def is_news(self, topics: frozenset[str], pattern: str | None, owned: Mapping[TopicPartition, Uuid]) -> bool:
        """Whether the coordinator was told something else."""
        return (self._topics, self._pattern, self._owned) != (topics, pattern, owned)

    def next_request(
        self,
        epoch: int,
        topics: frozenset[str],
        pattern: str | None,
        owned: Mapping[TopicPartition, Uuid],
        *,
        says_all: bool,
    ) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat of a member in an epoch."""
        if says_all:
            self.forget()
        settings = self._settings
        request = ConsumerGroupHeartbeatRequest(
            group_id=settings.group_id,
            member_id=settings.member_id,
            member_epoch=epoch,
            instance_id=settings.group_instance_id,
        )
        if self._topics is None:
            request.rebalance_timeout_ms = settings.max_poll_interval_ms
            request.server_assignor = settings.server_assignor
            request.rack_id = settings.rack_id if says_all else None
        if self._topics != topics:
            request.subscribed_topic_names = sorted(topics)
        if self._pattern != pattern:
            request.subscribed_topic_regex = pattern or ""
        if self._owned != owned:
            request.topic_partitions = _by_topic_id(owned)
        self._topics, self._pattern, self._owned = topics, pattern, dict(owned)
        return request


def _by_topic_id(owned: Mapping[TopicPartition, Uuid]) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
    topics: dict[Uuid, list[int]] = {}
    for partition in sorted(owned):
        topics.setdefault(owned[partition], []).append(partition.partition)
    return [
        ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=indexes)
        for topic_id, indexes in topics.items()
    ]
