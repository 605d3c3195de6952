"""The topics and their partitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.common.uuid import Uuid
from ottla.metadata.image_writer_options import ImageWriterOptions
from ottla.metadata.partition_registration import PartitionRegistration
from ottla.metadata.records.topics import PartitionRecord, TopicRecord


class TopicImage(NamedTuple):
    """One topic; its partitions by index."""

    name: str
    id: Uuid
    partitions: Mapping[int, PartitionRegistration]

    def records(self, options: ImageWriterOptions) -> Iterator[TopicRecord | PartitionRecord]:
        """The topic, then its partitions in order."""
        yield TopicRecord(name=self.name, topic_id=self.id)
        for partition_id in sorted(self.partitions):
            yield self.partitions[partition_id].to_record(self.id, partition_id, options)


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """The same topics by name and by id.

    Images share every topic that did not change: a change copies the two tables and the partitions of its topic.
    """

    by_id: Mapping[Uuid, TopicImage] = field(default_factory=dict)
    by_name: Mapping[str, TopicImage] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is no topic."""
        return not self.by_id

    def topic(self, name: str) -> TopicImage | None:
        """A topic by its name."""
        return self.by_name.get(name)

    def topic_name(self, topic_id: Uuid) -> str | None:
        """The name that belongs to an id."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.name

    def topic_id(self, name: str) -> Uuid | None:
        """The id that belongs to a name."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.id

    def partition(self, name: str, index: int) -> PartitionRegistration | None:
        """A partition by its topic's name."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.partitions.get(index)

    def partition_by_id(self, topic_id: Uuid, index: int) -> PartitionRegistration | None:
        """A partition by its topic's id."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def records(self, options: ImageWriterOptions) -> Iterator[TopicRecord | PartitionRecord]:
        """Every topic, followed by its partitions."""
        for topic in self.by_id.values():
            yield from topic.records(options)
