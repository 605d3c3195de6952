"""Offsets by group, topic and partition."""

from collections.abc import Iterator
from sys import intern


class OffsetStore:
    """Packed offsets (see :func:`~ottla.group.offsets.offset_and_metadata.pack`). No table in it is ever empty."""

    __slots__ = ("by_group", "num_offsets")

    def __init__(self) -> None:
        self.by_group: dict[str, dict[str, dict[int, bytes]]] = {}
        self.num_offsets = 0

    def get(self, group_id: str, topic: str, partition: int) -> bytes | None:
        """The offset, if there is one."""
        topics = self.by_group.get(group_id)
        if topics is None:
            return None
        partitions = topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def num_offsets_of(self, group_id: str) -> int:
        """How many offsets a group has."""
        return sum(map(len, self.by_group.get(group_id, {}).values()))

    def put(self, group_id: str, topic: str, partition: int, packed: bytes) -> None:
        """Keep an offset in place of the one before."""
        topics = self.by_group.get(group_id)
        if topics is None:
            topics = self.by_group[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            partitions = topics[intern(topic)] = {}  # many groups read the same topics: keep one copy of the name
        if partition not in partitions:
            self.num_offsets += 1
        partitions[partition] = packed

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Forget an offset, if there is one."""
        topics = self.by_group.get(group_id)
        if topics is None:
            return
        partitions = topics.get(topic)
        if partitions is None or partitions.pop(partition, None) is None:
            return
        self.num_offsets -= 1
        if not partitions:
            del topics[topic]
            if not topics:
                del self.by_group[group_id]

    def __iter__(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Group, topic, partition and packed offset of each."""
        for group_id, topics in self.by_group.items():
            for topic, partitions in topics.items():
                for partition, packed in partitions.items():
                    yield group_id, topic, partition, packed
