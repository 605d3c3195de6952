"""A member's assignment while it changes."""

from ottla.common.uuid import Uuid
from ottla.group.assignor.hash_order import (
    DEFAULT_CAPACITY,
    assigned_partition_order,
    assigned_topic_order,
    copy_capacity,
    grown_capacity,
    in_partition_order,
    in_uuid_order,
    table_size_for,
)
from ottla.group.assignor.spec import Assignment, has_same_partitions


class _PartitionSet:
    """Partitions of a topic, in the order in which they came, and the size of Java's table for them."""

    __slots__ = ("capacity", "partitions")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.partitions: dict[int, None] = {}

    @classmethod
    def copy_of(cls, partitions: list[int]) -> "_PartitionSet":
        copy = cls(copy_capacity(len(partitions)))
        copy.partitions = dict.fromkeys(partitions)
        return copy

    def add(self, partition: int) -> None:
        self.partitions[partition] = None
        if len(self.partitions) > self.capacity * 3 // 4:
            self.capacity *= 2

    def in_order(self) -> tuple[int, ...]:
        return tuple(in_partition_order(self.partitions, self.capacity))


class MutableAssignment:
    """A copy of an assignment, to be changed. It keeps the order that Java's HashMap and HashSets would have."""

    __slots__ = ("_before", "_capacity", "_topics")

    def __init__(self, before: Assignment) -> None:
        self._before = before
        self._topics = {  # the last one comes first in its bucket: HashMap.computeIfAbsent puts new entries there
            topic_id: _PartitionSet.copy_of(assigned_partition_order(before[topic_id]))
            for topic_id in reversed(list(assigned_topic_order(before)))
        }
        count = len(before)
        self._capacity = grown_capacity(table_size_for(count), count) if count else 0

    def add(self, topic_id: Uuid, partition: int, capacity: int = DEFAULT_CAPACITY) -> None:
        """Add a partition; ``capacity`` is that of the topic's new table if this is its first."""
        topics = self._topics
        # HashMap.computeIfAbsent makes room for the entries that are there, not for the one that it may add.
        if self._capacity == 0:
            self._capacity = 1
        elif len(topics) > self._capacity * 3 // 4:
            self._capacity *= 2
        partitions = topics.get(topic_id)
        if partitions is None:
            partitions = topics[topic_id] = _PartitionSet(capacity)
        partitions.add(partition)

    def remove(self, topic_id: Uuid, partition: int) -> None:
        """Remove a partition, and the topic with its last one."""
        partitions = self._topics[topic_id].partitions
        del partitions[partition]
        if not partitions:
            del self._topics[topic_id]

    def remove_topic(self, topic_id: Uuid) -> None:
        """Remove all partitions of a topic."""
        del self._topics[topic_id]

    def to_assignment(self) -> Assignment:
        """The outcome; what there was before if that has the same partitions."""
        topics = self._topics
        ordered = topics if len(topics) < 2 else in_uuid_order(reversed(topics), self._capacity)
        assignment = {topic_id: topics[topic_id].in_order() for topic_id in ordered}
        return self._before if has_same_partitions(assignment, self._before) else assignment
