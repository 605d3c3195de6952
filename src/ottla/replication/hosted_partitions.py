"""The partitions that a broker hosts, by name and by topic id."""

from collections.abc import Callable, Iterator

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.replication.partition import Partition


class HostedPartitions:
    """Online partitions, and those whose disk has failed.

    A partition is hosted: added → online → offline (its disk fails) or removed. ``is_known`` says whether the metadata
    has a partition, which decides how one that is not hosted is answered.
    """

    def __init__(self, is_known: Callable[[TopicPartition], bool] = lambda _topic_partition: False) -> None:
        self.online: dict[TopicPartition, Partition] = {}
        self.offline: dict[TopicPartition, Uuid | None] = {}
        """With the topic ids, where they are known."""
        self._by_topic_id: dict[Uuid, dict[int, Partition]] = {}
        self._is_known = is_known

    def __iter__(self) -> Iterator[Partition]:
        """The online ones."""
        return iter(self.online.values())

    def __len__(self) -> int:
        return len(self.online) + len(self.offline)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.online or topic_partition in self.offline

    def leaders(self) -> Iterator[Partition]:
        """Those that this broker leads."""
        return (partition for partition in self.online.values() if partition.is_leader)

    def get(self, topic_partition: TopicPartition) -> Partition | None:
        """The online partition of this name."""
        return self.online.get(topic_partition)

    def by_topic_id(self, topic_id: Uuid, index: int) -> Partition | None:
        """The online partition of a topic id."""
        partitions = self._by_topic_id.get(topic_id)
        return None if partitions is None else partitions.get(index)

    def has_topic(self, topic: str) -> bool:
        """Whether a partition of the topic is online."""
        return any(topic_partition.topic == topic for topic_partition in self.online)

    def require(self, topic_partition: TopicPartition, topic_id: Uuid | None = None) -> Partition:
        """The online partition.

        KafkaStorageError where its disk has failed; NOT_LEADER_OR_FOLLOWER where the topic exists, so that the client
        looks for its new place; UNKNOWN_TOPIC_OR_PARTITION where not; UNKNOWN_TOPIC_ID where it has another id.
        """
        partition = self.online.get(topic_partition)
        if partition is None:
            raise self.missing(topic_partition)
        if topic_id is not None and topic_id is not partition.topic_id and topic_id != partition.topic_id:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, f"Topic {topic_partition.topic} has not the id {topic_id}")
        return partition

    def missing(self, topic_partition: TopicPartition) -> ApiError | KafkaStorageError:
        """Why a partition is not online."""
        if topic_partition in self.offline:
            return KafkaStorageError(f"Partition {topic_partition} is in an offline log directory")
        known = self._is_known(topic_partition)
        return ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Error while fetching partition state for {topic_partition}",
        )

    def add(self, partition: Partition) -> None:
        """Host a partition; one of its name that was offline belonged to a topic that is gone."""
        topic_partition = partition.topic_partition
        assert topic_partition not in self.online, f"{topic_partition} is hosted already"
        self.offline.pop(topic_partition, None)
        self.online[topic_partition] = partition
        self._by_topic_id.setdefault(partition.topic_id, {})[topic_partition.partition] = partition

    def remove(self, topic_partition: TopicPartition) -> Partition | None:
        """Host a partition no longer, and stop it; returns it if it was online."""
        self.offline.pop(topic_partition, None)
        partition = self.online.pop(topic_partition, None)
        if partition is not None:
            partitions = self._by_topic_id[partition.topic_id]
            del partitions[topic_partition.partition]
            if not partitions:
                del self._by_topic_id[partition.topic_id]
            partition.stop()
        return partition

    def mark_offline(self, topic_partition: TopicPartition) -> None:
        """Its disk has failed."""
        partition = self.remove(topic_partition)
        self.offline[topic_partition] = None if partition is None else partition.topic_id
