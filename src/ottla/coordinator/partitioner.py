"""Which partition of a coordinator's topic an id belongs to."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.java_hash import partition_for


class CoordinatorPartitioner:
    """The partitions of ``topic``. COORDINATOR_NOT_AVAILABLE before ``startup`` and after ``shutdown``."""

    __slots__ = ("_partitions", "_topic")

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._partitions: list[TopicPartition] = []

    @property
    def is_started(self) -> bool:
        """Whether ids have partitions."""
        return bool(self._partitions)

    def startup(self, num_partitions: int) -> None:
        """An id belongs to one of so many partitions."""
        assert num_partitions > 0
        self._partitions = [TopicPartition(self._topic, partition) for partition in range(num_partitions)]

    def shutdown(self) -> None:
        """No id has a coordinator any more."""
        self._partitions = []

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
        return self._partitions[self.partition_for(key)]
