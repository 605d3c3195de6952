"""Changes to topics, and what they mean for one broker."""

from ottla.common.uuid import Uuid
from ottla.metadata.image.local_replica_changes import LocalReplicaChanges
from ottla.metadata.image.topics import TopicImage, TopicsImage
from ottla.metadata.partition_registration import LeaderRecoveryState, PartitionRegistration
from ottla.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)


class TopicDelta:
    """Changes to one topic. A topic that is new in the delta has an image without partitions."""

    __slots__ = ("elr_election_counts", "image", "partition_changes", "unclean_election_counts")

    def __init__(self, image: TopicImage) -> None:
        self.image = image
        self.partition_changes: dict[int, PartitionRegistration] = {}
        self.unclean_election_counts: dict[int, int] = {}
        self.elr_election_counts: dict[int, int] = {}

    @property
    def name(self) -> str:
        """The topic's name."""
        return self.image.name

    @property
    def id(self) -> Uuid:
        """The topic's id."""
        return self.image.id

    def new_partitions(self) -> dict[int, PartitionRegistration]:
        """The partitions that the image lacks."""
        return {
            index: partition
            for index, partition in self.partition_changes.items()
            if index not in self.image.partitions
        }

    def partition(self, index: int) -> PartitionRegistration | None:
        """A partition after the changes so far."""
        return self.partition_changes.get(index) or self.image.partitions.get(index)

    def replay_partition(self, record: PartitionRecord) -> None:
        """The partition is as the record says."""
        previous = self.partition(record.partition_id)
        if previous is not None:
            self._count_elections(record.partition_id, previous, record.leader, record.leader_recovery_state)
        self.partition_changes[record.partition_id] = PartitionRegistration.from_record(record)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        """The partition changes; raises ValueError when it does not exist."""
        previous = self.partition(record.partition_id)
        if previous is None:
            raise ValueError(f"Unable to find partition {record.topic_id}:{record.partition_id}")
        self._count_elections(record.partition_id, previous, record.leader, record.leader_recovery_state)
        self.partition_changes[record.partition_id] = previous.merge(record)

    def replay_clear_elr(self) -> None:
        """Forget the eligible leader replicas of every partition that has any."""
        for index, partition in {**self.image.partitions, **self.partition_changes}.items():
            if partition.elr or partition.last_known_elr:
                self.partition_changes[index] = partition.merge(
                    PartitionChangeRecord(
                        partition_id=index, topic_id=self.id, eligible_leader_replicas=(), last_known_elr=()
                    )
                )

    def _count_elections(self, index: int, previous: PartitionRegistration, leader: int, recovery_state: int) -> None:
        if recovery_state == LeaderRecoveryState.RECOVERING:
            self.unclean_election_counts[index] = self.unclean_election_counts.get(index, 0) + 1
        if leader in previous.elr:
            self.elr_election_counts[index] = self.elr_election_counts.get(index, 0) + 1

    def apply(self) -> TopicImage:
        """The topic after the changes."""
        if not self.partition_changes:
            return self.image
        return TopicImage(self.image.name, self.image.id, {**self.image.partitions, **self.partition_changes})


class TopicsDelta:
    """Changes to the topics.

    A topic that was made and removed within the delta leaves no trace. A topic that was removed and made again has
    its old id in ``deleted_topic_ids`` and its new id in ``changed_topics`` and ``created_topics``.
    """

    __slots__ = ("changed_topics", "created_topics", "deleted_topic_ids", "image")

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.changed_topics: dict[Uuid, TopicDelta] = {}
        self.created_topics: dict[str, Uuid] = {}
        self.deleted_topic_ids: dict[Uuid, None] = {}

    def replay_topic(self, record: TopicRecord) -> None:
        """The topic exists, without partitions as yet."""
        self.changed_topics[record.topic_id] = TopicDelta(TopicImage(record.name, record.topic_id, {}))
        self.created_topics[record.name] = record.topic_id

    def replay_partition(self, record: PartitionRecord) -> None:
        """A partition of an existing topic is as the record says."""
        self._topic_delta(record.topic_id).replay_partition(record)

    def replay_partition_change(self, record: PartitionChangeRecord) -> None:
        """An existing partition changes."""
        self._topic_delta(record.topic_id).replay_partition_change(record)

    def replay_remove_topic(self, record: RemoveTopicRecord) -> str:
        """The topic is gone; returns its name, so that its configuration can go too."""
        topic_id = record.topic_id
        delta = self.changed_topics.pop(topic_id, None)
        topic = self.image.by_id.get(topic_id)
        if delta is not None:
            name = delta.name
            self.created_topics.pop(name, None)
        elif topic is not None:
            name = topic.name
        else:
            raise ValueError(f"Unable to delete topic with id {topic_id}: no such topic found.")
        if topic is not None:
            self.deleted_topic_ids[topic_id] = None
        return name

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """Forget eligible leader replicas; a topic that was made again is found under its new id."""
        if not record.topic_name:
            for every_id in (*self.image.by_id, *self.created_topics.values()):
                self._clear_elr(every_id)
            return
        topic_id = self.created_topics.get(record.topic_name) or self.image.topic_id(record.topic_name)
        if topic_id is None:
            raise ValueError(f"Unable to clear elr for topic with name {record.topic_name}: no such topic found.")
        self._clear_elr(topic_id)

    def create_all(self, topics: TopicsImage) -> None:
        """Every topic of an image is new, with all its partitions."""
        for topic in topics.by_id.values():
            delta = TopicDelta(TopicImage(topic.name, topic.id, {}))
            delta.partition_changes.update(topic.partitions)
            self.changed_topics[topic.id] = delta
            self.created_topics[topic.name] = topic.id

    def _clear_elr(self, topic_id: Uuid) -> None:
        if topic_id not in self.deleted_topic_ids:
            self._topic_delta(topic_id).replay_clear_elr()

    def _topic_delta(self, topic_id: Uuid) -> TopicDelta:
        delta = self.changed_topics.get(topic_id)
        if delta is None:
            topic = self.image.by_id.get(topic_id)
            if topic is None:
                raise ValueError(f"Unable to find topic with id {topic_id}")
            delta = self.changed_topics[topic_id] = TopicDelta(topic)
        return delta

    def topic_was_deleted(self, name: str) -> bool:
        """Whether the image's topic of that name was removed, even if a new one took its place."""
        topic_id = self.image.topic_id(name)
        return topic_id is not None and topic_id in self.deleted_topic_ids

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        for topic_id in self.image.by_id:
            if topic_id not in self.changed_topics:
                self.deleted_topic_ids[topic_id] = None

    def apply(self) -> TopicsImage:
        """The image after the changes; it shares the topics that did not change."""
        if not self.changed_topics and not self.deleted_topic_ids:
            return self.image
        by_id, by_name = dict(self.image.by_id), dict(self.image.by_name)
        for topic_id in self.deleted_topic_ids:
            del by_name[by_id.pop(topic_id).name]
        for topic_id, delta in self.changed_topics.items():
            topic = delta.apply()
            by_id[topic_id] = by_name[topic.name] = topic
        return TopicsImage(by_id, by_name)

    def local_changes(self, broker_id: int) -> LocalReplicaChanges:
        """What ``broker_id`` has to do: replicas to delete, to lead, to follow."""
        changes = LocalReplicaChanges()
        for delta in self.changed_topics.values():
            changes.add_topic(broker_id, delta.image, delta.partition_changes)
        for topic_id in self.deleted_topic_ids:
            changes.add_deleted_topic(broker_id, self.image.by_id[topic_id])
        return changes
