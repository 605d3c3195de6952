"""The order in which Java's hash tables hold members and partitions.

Apache's sticky assignors walk over HashMaps, so who keeps a partition can follow from hash codes. To give the same
assignments as the Java members of a group we walk in the same order. Buckets with more than eight
entries, which Java turns into trees, keep their entries' order here.
"""

from collections.abc import Collection

from ottla.common.java_hash import string_hash_code
from ottla.common.topic_partition import TopicPartition

_INT_MASK = 0xFFFFFFFF
_DEFAULT_CAPACITY = 16


def in_hash_order(texts: Collection[str]) -> list[str]:
    """Strings as a HashMap holds them that they were put into in the given order."""
    mask = _capacity(_DEFAULT_CAPACITY, len(texts)) - 1
    return sorted(texts, key=lambda text: _spread(string_hash_code(text)) & mask)


class HashedPartitions:
    """A HashSet of partitions: it knows which one Java's iterator would give first."""

    __slots__ = ("_capacity", "_partitions")

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, None] = {}
        self._capacity = _DEFAULT_CAPACITY

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, partition: TopicPartition) -> None:
        """Put one in; the table may grow, and never shrinks."""
        self._partitions[partition] = None
        self._capacity = _capacity(self._capacity, len(self._partitions))

    def remove(self, partition: TopicPartition) -> None:
        """Take one out that is in."""
        del self._partitions[partition]

    def first(self) -> TopicPartition:
        """The first that an iteration gives."""
        mask = self._capacity - 1
        return min(self._partitions, key=lambda partition: _spread(_partition_hash_code(partition)) & mask)


def _partition_hash_code(partition: TopicPartition) -> int:
    return 31 * (31 + partition.partition) + string_hash_code(partition.topic)


def _spread(code: int) -> int:
    code &= _INT_MASK
    return code ^ code >> 16


def _capacity(capacity: int, size: int) -> int:
    while size > capacity * 3 // 4:
        capacity *= 2
    return capacity
