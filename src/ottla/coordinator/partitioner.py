"""Which partition of a coordinator's topic an id belongs to."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.java_hash import partition_for

_NOT_STARTED: Final = 0


class CoordinatorPartitioner:
    """The partitions of ``topic``. COORDINATOR_NOT_AVAILABLE before ``startup`` and after ``shutdown``."""

    __slots__ = ("_num_partitions", "_topic")

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._num_partitions = _NOT_STARTED

    @property
    def is_started(self) -> bool:
        """Whether ids have partitions."""
        return self._num_partitions != _NOT_STARTED

    def startup(self, num_partitions: int) -> None:
        """An id belongs to one of so many partitions."""
        assert num_partitions > 0
        self._num_partitions = num_partitions

    def shutdown(self) -> None:
        """No id has a coordinator any more."""
        self._num_partitions = _NOT_STARTED

    def check_started(self) -> None:
        """COORDINATOR_NOT_AVAILABLE if it is not."""
        if not self.is_started:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")

    def partition_for(self, key: str) -> int:
        """The partition of an id."""
        self.check_started()
        return partition_for(key, self._num_partitions)

    def topic_partition_for(self, key: str) -> TopicPartition:
        """As ``partition_for``."""
        return TopicPartition(self._topic, self.partition_for(key))
