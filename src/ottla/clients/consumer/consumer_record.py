"""What a consumer gives its user."""

from typing import Generic, NamedTuple, TypeVar

from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import NO_PARTITION_LEADER_EPOCH, TimestampType
from ottla.records.record import Header

K = TypeVar("K")
V = TypeVar("V")


class ConsumerRecord(NamedTuple, Generic[K, V]):
    """A record with its place in the log. A tuple, because nothing else is made as fast by the million."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """-1 if its producer gave none."""
    timestamp_type: TimestampType
    key: K | None
    value: V | None
    headers: tuple[Header, ...] = ()
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    """The epoch in which it was appended; -1 unknown."""

    @property
    def topic_partition(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(self.topic, self.partition)
