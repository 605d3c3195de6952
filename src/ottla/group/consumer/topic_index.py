"""Which consumer groups read a topic, and the hash of each topic that somebody reads."""

from collections.abc import Iterable

from ottla.group.consumer.group import ConsumerGroup
from ottla.group.metadata_hash import compute_group_hash, compute_topic_hash
from ottla.metadata.image.metadata import MetadataImage


class TopicIndex:
    """Groups by topic. Hashes are kept until their topic changes or the last group lets go of it."""

    __slots__ = ("_group_ids", "_hashes")

    def __init__(self) -> None:
        self._group_ids: dict[str, dict[str, None]] = {}
        self._hashes: dict[str, int] = {}

    def update(self, group: ConsumerGroup, names: Iterable[str]) -> None:
        """The group's subscriptions to some topics may have begun or ended."""
        group_id, subscribed = group.group_id, group.subscriptions.topics
        for name in names:
            if name in subscribed:
                self._group_ids.setdefault(name, {})[group_id] = None
            else:
                group_ids = self._group_ids.get(name, {})
                group_ids.pop(group_id, None)
                if not group_ids:
                    self._group_ids.pop(name, None)
                    self._hashes.pop(name, None)

    def groups_subscribed_to(self, name: str) -> Iterable[str]:
        """The ids of the groups that read a topic."""
        return self._group_ids.get(name, ())

    def topic_has_changed(self, name: str) -> None:
        """The hash of a topic is no longer what it was."""
        self._hashes.pop(name, None)

    def metadata_hash(self, names: Iterable[str], image: MetadataImage) -> int:
        """The hash of those topics that exist."""
        existing, hashes = image.topics.by_name, self._hashes
        group: dict[str, int] = {}
        for name in names:
            if name in existing:
                topic_hash = hashes.get(name)
                if topic_hash is None:
                    topic_hash = hashes[name] = compute_topic_hash(name, image)
                group[name] = topic_hash
        return compute_group_hash(group)
