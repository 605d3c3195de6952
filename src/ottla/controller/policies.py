"""Rules that an operator sets beside Kafka's own: which topics and which configuration a cluster may have."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ottla.metadata.image import ConfigResource


class NewTopic(NamedTuple):
    """A topic that somebody wants to create: with a number of partitions and replicas, or with assignments."""

    name: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]


CreateTopicPolicy = Callable[[NewTopic], None]
"""Raises POLICY_VIOLATION for a topic that is not wanted."""

AlterConfigPolicy = Callable[[ConfigResource, Mapping[str, str | None]], None]
"""Raises POLICY_VIOLATION for changes (None deletes) that are not wanted."""


class PartitionRoom(Protocol):
    """How many more partitions the broker in this process can hold."""

    def require_room(self, partitions: int) -> None:
        """POLICY_VIOLATION when it cannot open so many more."""

    def promise(self, partitions: int) -> None:
        """So many were granted, and are about to be opened."""
