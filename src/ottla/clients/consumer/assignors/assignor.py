"""What a group's leader decides with, and what it decides from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol

from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.common.topic_partition import TopicPartition

NO_GENERATION = -1

TopicRacks = Mapping[str, Sequence[frozenset[str]]]
"""The partitions of each topic by their index: the racks of a partition's replicas, empty where they are not known."""


class RebalanceProtocol(IntEnum):
    """How members get from one assignment to the next; a higher one is preferred by those who know it."""

    EAGER = 0
    """Everybody gives up everything before joining again."""
    COOPERATIVE = 1
    """Everybody keeps what it has; what must move is given up first and assigned in a second rebalance."""


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What a member told the leader when it joined."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: Sequence[TopicPartition] = ()
    generation_id: int = NO_GENERATION
    """The generation in which the member owned them; -1 when it said none."""
    rack_id: str | None = None
    group_instance_id: str | None = None


class Assignment(NamedTuple):
    """What a member is to read, and what else the assignor tells it."""

    partitions: Sequence[TopicPartition]
    user_data: bytes | None = None


class PartitionAssignor(Protocol):
    """An assignor, ours or a user's. One object belongs to one consumer and may keep state between rebalances."""

    @property
    def name(self) -> str:
        """By which the members of a group agree on it."""

    @property
    def supported_protocols(self) -> Collection[RebalanceProtocol]:
        """The protocols whose rules the assignments keep; only assignors with a common one can be configured."""

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """What to tell the leader's assignor when this member joins."""

    def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> Mapping[str, Assignment]:
        """As the leader: an assignment for every member id of ``group``. ``topics`` are those that exist."""

    def on_assignment(self, assignment: Assignment, group_metadata: ConsumerGroupMetadata) -> None:
        """Learn the assignment of this member, leader or not."""


class SimpleAssignor:
    """What most assignors have in common: eager, nothing to tell, no state."""

    __slots__ = ()

    @property
    def supported_protocols(self) -> Collection[RebalanceProtocol]:
        """Eager only."""
        return (RebalanceProtocol.EAGER,)

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """Nothing."""
        del topics
        return None

    def on_assignment(self, assignment: Assignment, group_metadata: ConsumerGroupMetadata) -> None:
        """Keep nothing."""


def in_member_order(group: Mapping[str, MemberSubscription]) -> list[str]:
    """Static members first, by their instance ids, then the others by member id."""
    return sorted(group, key=lambda member_id: _member_key(member_id, group[member_id].group_instance_id))


def _member_key(member_id: str, group_instance_id: str | None) -> tuple[bool, str]:
    return (True, member_id) if group_instance_id is None else (False, group_instance_id)


def needs_rack_awareness(
    consumer_racks: Collection[str], partition_racks: Collection[frozenset[str]], all_partition_racks: frozenset[str]
) -> bool:
    """Whether racks can make a difference: some are shared, and not every partition is on all of them."""
    if all_partition_racks.isdisjoint(consumer_racks):
        return False
    return any(racks != all_partition_racks for racks in partition_racks)
