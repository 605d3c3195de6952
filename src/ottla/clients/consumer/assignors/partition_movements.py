"""Which partitions moved from whom to whom within one sticky assignment.

If another partition of the same topic moved the other way, that one is better moved back.
"""

from typing import NamedTuple

from ottla.clients.consumer.assignors.hash_order import HashedPartitions
from ottla.common.topic_partition import TopicPartition


class Move(NamedTuple):
    """From a member to a member."""

    source: str
    destination: str


class PartitionMovements:
    """The moves so far; a partition that moved twice counts as moved once from its first member."""

    __slots__ = ("_by_topic", "_moves")

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Move, HashedPartitions]] = {}
        self._moves: dict[TopicPartition, Move] = {}

    def move(self, partition: TopicPartition, source: str, destination: str) -> None:
        """Note that a partition moved; moving back to the first member undoes what was noted."""
        earlier = self._moves.pop(partition, None)
        if earlier is not None:
            assert earlier.destination == source, f"{partition} moves from {source} but is at {earlier.destination}"
            partitions = self._by_topic[partition.topic][earlier]
            partitions.remove(partition)
            if not partitions:
                del self._by_topic[partition.topic][earlier]
            source = earlier.source
            if source == destination:
                return
        move = Move(source, destination)
        self._moves[partition] = move
        self._by_topic.setdefault(partition.topic, {}).setdefault(move, HashedPartitions()).add(partition)

    def better_to_move(self, partition: TopicPartition, source: str, destination: str) -> TopicPartition:
        """``partition``, or one of its topic that moved the opposite way before."""
        if partition in self._moves:
            source = self._moves[partition].source
        opposite = self._by_topic.get(partition.topic, {}).get(Move(destination, source))
        return partition if opposite is None else opposite.first()
