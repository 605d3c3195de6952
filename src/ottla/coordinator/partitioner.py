"""Which partition of a coordinator's topic an id belongs to."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.java_hash import partition_for

_KNOWN_MAX: Final = 4096
"""The same few ids come again and again; so many of them are remembered."""


class CoordinatorPartitioner:
    """The partitions of ``topic``. COORDINATOR_NOT_AVAILABLE before ``startup`` and after ``shutdown``."""

    __slots__ = ("_known", "_partitions", "_topic")

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._partitions: list[TopicPartition] = []
        self._known: dict[str, TopicPartition] = {}

    @property
    def is_started(self) -> bool:
        """Whether ids have partitions."""
        return bool(self._partitions)

    def startup(self, num_partitions: int) -> None:
        """An id belongs to one of so many partitions."""
        assert num_partitions > 0
        self._partitions = [TopicPartition(self._topic, partition) for partition in range(num_partitions)]
        self._known.clear()

    def shutdown(self) -> None:
        """No id has a coordinator any more."""
        self._partitions = []
        self._known.clear()

    def check_started(self) -> None:
        """COORDINATOR_NOT_AVAILABLE if it is not."""
        if not self.is_started:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")

    def partition_for(self, key: str) -> int:
        """The partition of an id."""
        self.check_started()
        return partition_for(key, len(self._partitions))

    def topic_partition_for(self, key: str) -> TopicPartition:
        """As ``partition_for``."""
        found = self._known.get(key)
        if found is None:
            found = self._partitions[self.partition_for(key)]
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[key] = found
        return found
