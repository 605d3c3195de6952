"""A topic's partitions as a producer sees them: their queues, and which one records without a key go to."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ottla.clients.producer.compression_ratio import CompressionRatio
from ottla.clients.producer.partition_queue import NO_LEADER, PartitionQueue
from ottla.clients.producer.producer_batch import NO_LEADER_EPOCH
from ottla.clients.producer.sticky_partitioner import PartitionLoad, StickyPartitioner
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from random import Random

    from ottla.clients.cluster.metadata import PartitionMetadata


class TopicQueue:
    """``update`` keeps it up with the metadata. ``partitions`` are numbered from 0 and never taken away: those beyond
    ``count`` are of a topic that was deleted and made anew with fewer, and what waits for them has no leader.
    """

    __slots__ = ("_available", "_sticky", "count", "is_adaptive", "name", "partitions", "ratio", "sticky_partition")

    def __init__(self, name: str, sticky_bytes: int, rng: "Random", *, is_adaptive: bool) -> None:
        self.name = name
        self.partitions: list[PartitionQueue] = []
        self.ratio = CompressionRatio()
        self.is_adaptive = is_adaptive
        self._sticky = StickyPartitioner(sticky_bytes, rng)
        self.count = 0
        self.sticky_partition = -1
        """Where records without a key go; -1 before the first."""
        self._available: Sequence[int] | None = None

    def update(self, partitions: Iterable["PartitionMetadata"]) -> None:
        """The partitions and their leaders, by the newest metadata."""
        self._available = None
        known = {partition.partition: partition for partition in partitions}
        for number in range(len(self.partitions), len(known)):
            self.partitions.append(PartitionQueue(TopicPartition(self.name, number)))
        for number, queue in enumerate(self.partitions):
            found = known.get(number)
            if found is None:
                queue.update_leader(NO_LEADER, NO_LEADER_EPOCH)
            else:
                queue.update_leader(found.leader_id, found.leader_epoch)
        self.count = len(known)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or is in flight."""
        return not any(queue.batches or queue.in_flight for queue in self.partitions)

    @property
    def numbers(self) -> Sequence[int]:
        """All partitions."""
        return range(self.count)

    @property
    def available(self) -> Sequence[int]:
        """Those that have a leader."""
        if self._available is None:
            self._available = [number for number in self.numbers if self.partitions[number].leader_id >= 0]
        return self._available

    def choose_sticky(self, is_available: Callable[[int], bool]) -> int:
        """As ``sticky_partition``, when a new batch is due there: this is when to move on to another partition.

        ``is_available`` says whether a leader can be sent to.
        """
        sticky = self._sticky
        if 0 <= sticky.partition < self.count:
            queue = self.partitions[sticky.partition]
            if not sticky.has_enough(queue.appended_bytes, all_batches_full=queue.builder is None):
                return sticky.partition
        if self.is_adaptive:
            loads = [
                PartitionLoad(number, len(queue.batches), queue.leader_id >= 0 and is_available(queue.leader_id))
                for number, queue in zip(self.numbers, self.partitions, strict=False)
            ]
            chosen = sticky.draw_by_load(loads, self.available)
        else:
            chosen = sticky.draw(self.numbers, self.available)
        sticky.switch(chosen, self.partitions[chosen].appended_bytes)
        self.sticky_partition = chosen
        return chosen
