"""From what a member has to what the coordinator wants it to have: revoke first, then assign.

Promised: a partition is owned only between an ASSIGN and a REVOKE or LOSE that names it. A topic that was deleted and
made again has another id: its partitions are other partitions, and are revoked before the new ones are assigned.
"""

from collections.abc import Callable
from typing import NamedTuple

from ottla.clients.consumer.member_machine import Duty, DutyKind
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.protocol.messages.consumer_group_heartbeat import Assignment


class TopicIdPartition(NamedTuple):
    """A partition as the coordinator names it."""

    topic_id: Uuid
    partition: int


class Reconciliation:
    """What is owned, by name and id, and the newest target."""

    __slots__ = ("_granting", "_has_revoked", "_is_lost", "_target", "_topic_name", "owned")

    def __init__(self, topic_name: Callable[[Uuid], str | None]) -> None:
        """``topic_name`` tells the name of a topic that the metadata knows."""
        self._topic_name = topic_name
        self.owned: dict[TopicPartition, Uuid] = {}
        self._target: frozenset[TopicIdPartition] = frozenset()
        self._granting: dict[TopicPartition, Uuid] = {}
        self._has_revoked = False
        self._is_lost = False

    def aim(self, assignment: Assignment) -> None:
        """The coordinator has a new target."""
        self._target = frozenset(
            TopicIdPartition(topic.topic_id, partition)
            for topic in assignment.topic_partitions
            for partition in topic.partitions
        )

    def lose(self) -> None:
        """The member is out of the group."""
        self._is_lost = True
        self._target = frozenset()
        self._has_revoked = False

    def found(self) -> None:
        """A new membership begins, with nothing owned."""
        assert not self.owned, f"joins with partitions: {sorted(self.owned)}"
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether the user has partitions that the group has taken away."""
        return self._is_lost and bool(self.owned)

    @property
    def is_reconciled(self) -> bool:
        """Whether the user has exactly the target."""
        has = {TopicIdPartition(topic_id, partition.partition) for partition, topic_id in self.owned.items()}
        return has == self._target

    @property
    def has_unknown_topics(self) -> bool:
        """Whether the target has topics that the metadata does not know."""
        return any(self._topic_name(topic_id) is None for topic_id, _ in self._target)

    def duty(self) -> Duty | None:
        """The next thing to do in the user's task; partitions of unknown topics wait for the metadata."""
        if self._is_lost:
            return Duty(DutyKind.LOSE, frozenset(self.owned)) if self.owned else None
        revoked = frozenset(
            partition
            for partition, topic_id in self.owned.items()
            if TopicIdPartition(topic_id, partition.partition) not in self._target
        )
        if revoked:
            return Duty(DutyKind.REVOKE, revoked)
        self._granting = {
            TopicPartition(name, partition): topic_id
            for topic_id, partition in self._target
            if (name := self._topic_name(topic_id)) is not None and TopicPartition(name, partition) not in self.owned
        }
        if self._granting or self._has_revoked:
            return Duty(DutyKind.ASSIGN, frozenset(self._granting))
        return None

    def done(self, duty: Duty) -> None:
        """A duty was performed."""
        if duty.kind is DutyKind.ASSIGN:
            self.owned = self.owned | {partition: self._granting[partition] for partition in duty.partitions}
            self._has_revoked = False
            return
        self.owned = {
            partition: topic_id for partition, topic_id in self.owned.items() if partition not in duty.partitions
        }
        self._has_revoked = duty.kind is DutyKind.REVOKE and not self._is_lost
