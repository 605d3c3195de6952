"""What a delta of topics means for the replicas of one broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.metadata.image.topics import TopicImage
from ottla.metadata.partition_registration import PartitionRegistration


class PartitionInfo(NamedTuple):
    """A partition and the id of its topic."""

    topic_id: Uuid
    partition: PartitionRegistration


class TopicIdPartition(NamedTuple):
    """A partition by the id of its topic."""

    topic_id: Uuid
    partition_id: int


@dataclass(slots=True)
class LocalReplicaChanges:
    """One broker's part in a delta.

    ``deletes``: it is no longer a replica. ``leaders``: it leads and the partition epoch rose; ``elected_leaders``,
    a part of these, where the leader epoch rose too. ``followers``: it follows and the partition epoch rose.
    ``directory_ids``: partitions that are new, or that changed directory on this broker. A topic that was removed
    and made again is in ``deletes`` as well as in ``leaders`` or ``followers``.
    """

    deletes: list[TopicPartition] = field(default_factory=list)
    elected_leaders: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    leaders: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    followers: dict[TopicPartition, PartitionInfo] = field(default_factory=dict)
    topic_ids: dict[str, Uuid] = field(default_factory=dict)
    directory_ids: dict[TopicIdPartition, Uuid] = field(default_factory=dict)

    def add_topic(self, broker_id: int, topic: TopicImage, changes: Mapping[int, PartitionRegistration]) -> None:
        """Add the changed partitions of ``topic``, which is as before the changes."""
        for index, partition in changes.items():
            previous = topic.partitions.get(index)
            was_replica = previous is not None and broker_id in previous.replicas
            if broker_id not in partition.replicas:
                if was_replica:
                    self.deletes.append(TopicPartition(topic.name, index))
                continue
            if previous is None or previous.partition_epoch != partition.partition_epoch:
                self._add_replica(broker_id, topic, index, partition, previous)
            # A replica that joins an existing partition is left out here, as in Apache.
            if previous is None or (was_replica and previous.directory(broker_id) != partition.directory(broker_id)):
                self.directory_ids[TopicIdPartition(topic.id, index)] = partition.directory(broker_id)

    def _add_replica(
        self,
        broker_id: int,
        topic: TopicImage,
        index: int,
        partition: PartitionRegistration,
        previous: PartitionRegistration | None,
    ) -> None:
        topic_partition, info = TopicPartition(topic.name, index), PartitionInfo(topic.id, partition)
        self.topic_ids[topic.name] = topic.id
        if partition.leader != broker_id:
            self.followers[topic_partition] = info
            return
        self.leaders[topic_partition] = info
        if previous is None or previous.leader_epoch != partition.leader_epoch:
            self.elected_leaders[topic_partition] = info

    def add_deleted_topic(self, broker_id: int, topic: TopicImage) -> None:
        """Add the partitions of a topic that is gone."""
        self.deletes += [
            TopicPartition(topic.name, index)
            for index, partition in topic.partitions.items()
            if broker_id in partition.replicas
        ]
