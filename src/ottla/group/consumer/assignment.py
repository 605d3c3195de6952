"""Partitions by topic: those a member is to have, and those it has with the epoch at which it got each."""

from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.uuid import Uuid
from ottla.group.assignor.spec import Assignment
from ottla.metadata.image.topics import TopicsImage

PartitionEpochs = Mapping[Uuid, Mapping[int, int]]
"""The epoch at which a member got each of its partitions, by topic. Never changed once made."""

NO_PARTITIONS: Final[dict[Uuid, dict[int, int]]] = {}
"""Nothing assigned."""


def at_epoch(assignment: Assignment, epoch: int) -> dict[Uuid, dict[int, int]]:
    """All partitions, got at one epoch."""
    return {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in assignment.items()}


def owns_any(owned: Assignment, partitions: PartitionEpochs) -> bool:
    """Whether one of the owned partitions is among some."""
    return any(
        not partitions[topic_id].keys().isdisjoint(indexes)
        for topic_id, indexes in owned.items()
        if topic_id in partitions
    )


def owns_only(owned: Assignment, partitions: PartitionEpochs) -> bool:
    """Whether all owned partitions are among some."""
    return all(
        topic_id in partitions and partitions[topic_id].keys() >= set(indexes) for topic_id, indexes in owned.items()
    )


def merged(topics: Iterable[tuple[Uuid, Iterable[int]]]) -> dict[Uuid, list[int]]:
    """What a client says that it owns; it may name a topic more than once."""
    owned: dict[Uuid, list[int]] = {}
    for topic_id, partitions in topics:
        owned.setdefault(topic_id, []).extend(partitions)
    return owned


def by_topic_id(topics: Iterable[tuple[str, Iterable[int]]], image: TopicsImage) -> dict[Uuid, list[int]]:
    """As ``merged``, for topics by name; those that do not exist are left out."""
    return merged((topic.id, indexes) for name, indexes in topics if (topic := image.by_name.get(name)) is not None)


def by_topic_name(assignment: Mapping[Uuid, Iterable[int]], image: TopicsImage) -> list[tuple[str, list[int]]]:
    """Topics by name with their partitions in order; those that do not exist are left out."""
    return sorted(
        (topic.name, sorted(partitions))
        for topic_id, partitions in assignment.items()
        if (topic := image.by_id.get(topic_id)) is not None
    )
