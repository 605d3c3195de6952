"""Offsets that belong to transactions which have not ended."""

from collections.abc import Mapping

from ottla.group.offsets.store import OffsetStore

_NONE: Mapping[str, Mapping[int, Mapping[int, None]]] = {}


class PendingTransactionalOffsets:
    """Offsets by producer, and which producers have one for a partition.

    An offset is added when its record is written, and leaves when its transaction ends or when a tombstone for its
    partition is written: such a tombstone ends the offsets of all transactions, whatever becomes of these.
    """

    __slots__ = ("_open", "by_producer")

    def __init__(self) -> None:
        self.by_producer: dict[int, OffsetStore] = {}
        self._open: dict[str, dict[str, dict[int, dict[int, None]]]] = {}  # group, topic, partition, producers

    def add(self, producer_id: int, group_id: str, topic: str, partition: int, packed: bytes) -> None:
        """A transaction commits an offset, if it ends well."""
        offsets = self.by_producer.get(producer_id)
        if offsets is None:
            offsets = self.by_producer[producer_id] = OffsetStore()
        offsets.put(group_id, topic, partition, packed)
        partitions = self._open.setdefault(group_id, {}).setdefault(topic, {})
        partitions.setdefault(partition, {})[producer_id] = None

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Forget what any transaction would commit for a partition."""
        for producer_id in list(self.of_group(group_id).get(topic, {}).get(partition, ())):
            self.by_producer[producer_id].remove(group_id, topic, partition)
            self._close(producer_id, group_id, topic, partition)

    def end(self, producer_id: int) -> OffsetStore | None:
        """A transaction has ended: take its offsets, if it has any."""
        offsets = self.by_producer.pop(producer_id, None)
        if offsets is not None:
            for group_id, topic, partition, _ in offsets:
                self._close(producer_id, group_id, topic, partition)
        return offsets

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, Mapping[int, None]]]:
        """The producers with open transactions, by topic and partition; nothing in it is empty."""
        return self._open.get(group_id, _NONE)

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction has an offset for a partition."""
        return partition in self.of_group(group_id).get(topic, ())

    def _close(self, producer_id: int, group_id: str, topic: str, partition: int) -> None:
        topics = self._open[group_id]
        partitions = topics[topic]
        producers = partitions[partition]
        del producers[producer_id]
        if not producers:
            del partitions[partition]
            if not partitions:
                del topics[topic]
                if not topics:
                    del self._open[group_id]
