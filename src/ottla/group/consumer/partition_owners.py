"""Who owns a partition, by the epoch of its owner."""

from typing import Final

from ottla.common.uuid import Uuid
from ottla.group.consumer.assignment import PartitionEpochs

NOT_OWNED: Final = -1
"""The epoch of a partition that nobody owns."""


class PartitionOwners:
    """The member epoch at which each partition is owned: it is free when its owner, at that very epoch, lets it go."""

    __slots__ = ("_epochs",)

    def __init__(self) -> None:
        self._epochs: dict[Uuid, dict[int, int]] = {}

    def epoch(self, topic_id: Uuid, partition: int) -> int:
        """The epoch of the owner; NOT_OWNED if there is none."""
        epochs = self._epochs.get(topic_id)
        return NOT_OWNED if epochs is None else epochs.get(partition, NOT_OWNED)

    def add(self, partitions: PartitionEpochs, epoch: int) -> None:
        """A member at ``epoch`` owns partitions now. One that is owned can only pass to a later epoch."""
        for topic_id, indexes in partitions.items():
            epochs = self._epochs.setdefault(topic_id, {})
            for index in indexes:
                before = epochs.get(index)
                assert before is None or before < epoch, (
                    f"Cannot set the epoch of {topic_id}-{index} to {epoch}: it is still owned at epoch {before}"
                )
                epochs[index] = epoch

    def remove(self, partitions: PartitionEpochs, epoch: int) -> None:
        """A member at ``epoch`` owns partitions no more; those that passed to another epoch stay there."""
        for topic_id, indexes in partitions.items():
            epochs = self._epochs.get(topic_id)
            if epochs is None:
                continue
            for index in indexes:
                if epochs.get(index) == epoch:
                    del epochs[index]
            if not epochs:
                del self._epochs[topic_id]

    def owned(self) -> dict[Uuid, dict[int, int]]:
        """All owned partitions with the epochs of their owners."""
        return {topic_id: dict(epochs) for topic_id, epochs in self._epochs.items()}
