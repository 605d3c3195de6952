"""The sticky assignors: balanced, and everybody keeps as much as possible of what it had.

``sticky`` belongs to the eager protocol: members remember what they had and tell the leader. ``cooperative-sticky``
belongs to the cooperative one: a partition that must move is assigned to nobody until its member gave it up.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ottla.clients.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    MemberSubscription,
    RebalanceProtocol,
    SimpleAssignor,
    TopicRacks,
)
from ottla.clients.consumer.assignors.hash_order import in_hash_order
from ottla.clients.consumer.assignors.rack_info import RackInfo
from ottla.clients.consumer.assignors.sticky_mixed import MixedAssignment
from ottla.clients.consumer.assignors.sticky_uniform import UniformAssignment
from ottla.clients.consumer.assignors.sticky_user_data import (
    decode_generation,
    decode_previous_assignment,
    encode_generation,
    encode_previous_assignment,
)
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.common.topic_partition import TopicPartition


class OwnedPartitions(NamedTuple):
    """What a member says that it owns, or owned; the generation is None when it says none."""

    partitions: Sequence[TopicPartition]
    generation_id: int | None


class _Claims(NamedTuple):
    owned: dict[str, list[TopicPartition]]
    contested: frozenset[TopicPartition]
    """Claimed by two members of one generation, so by nobody."""


class StickyAssignor(SimpleAssignor):
    """Balanced and sticky, by the eager protocol."""

    __slots__ = ("_generation_id", "_max_generation_id", "_partitions")

    name: str = "sticky"

    def __init__(self) -> None:
        self._partitions: Sequence[TopicPartition] | None = None
        self._generation_id = NO_GENERATION
        self._max_generation_id = NO_GENERATION

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """The last assignment: it is given up before joining, so the subscription itself does not say it."""
        del topics
        if self._partitions is None:
            return None
        return encode_previous_assignment(self._partitions, self._generation_id)

    def on_assignment(self, assignment: Assignment, group_metadata: ConsumerGroupMetadata) -> None:
        """Remember the assignment."""
        self._partitions = assignment.partitions
        self._generation_id = group_metadata.generation_id

    def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> dict[str, Assignment]:
        """A balanced assignment that moves as little as possible."""
        assigned, _ = self._assign(topics, group)
        return {member_id: Assignment(partitions) for member_id, partitions in assigned.items()}

    def _owned_by(self, member: MemberSubscription) -> OwnedPartitions:
        return OwnedPartitions(*decode_previous_assignment(member.user_data))

    def _assign(
        self, topics: TopicRacks, group: Mapping[str, MemberSubscription]
    ) -> tuple[dict[str, list[TopicPartition]], dict[TopicPartition, str] | None]:
        """The assignment, and which partitions change hands, if that is known."""
        members = in_hash_order(group)
        said = {member_id: self._owned_by(group[member_id]) for member_id in members}
        wanted = {topic for member in group.values() for topic in member.topics}
        topics = {topic: partitions for topic, partitions in topics.items() if topic in wanted and partitions}
        for owned in said.values():
            self._max_generation_id = max(self._max_generation_id, _generation(owned))
        claims = _settle_claims(topics, group, said)
        racks = RackInfo(topics, group)
        if _is_uniform([group[member_id].topics for member_id in members]):
            uniform = UniformAssignment(topics, racks, claims.owned, claims.contested)
            return uniform.compute(), uniform.moving
        previous = self._previous_owners(said)
        return MixedAssignment(topics, racks, claims.owned, group, previous).compute(), None

    def _previous_owners(self, said: Mapping[str, OwnedPartitions]) -> dict[TopicPartition, str]:
        """Who had a partition last, of those whose generation is not the newest."""
        previous: dict[TopicPartition, tuple[int, str]] = {}
        for member_id, owned in said.items():
            generation_id = _generation(owned)
            if generation_id >= self._max_generation_id:
                continue
            for partition in owned.partitions:
                if partition not in previous or generation_id > previous[partition][0]:
                    previous[partition] = (generation_id, member_id)
        return {partition: member_id for partition, (_, member_id) in previous.items()}


class CooperativeStickyAssignor(StickyAssignor):
    """Balanced and sticky, by the cooperative protocol; in a group of eager members it follows theirs."""

    __slots__ = ()

    name = "cooperative-sticky"

    @property
    def supported_protocols(self) -> Collection[RebalanceProtocol]:
        """Both: a group changes over to the cooperative protocol while this one is used eagerly."""
        return (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)

    def subscription_user_data(self, topics: Collection[str]) -> bytes | None:
        """The generation: old leaders do not read it from the subscription."""
        del topics
        return encode_generation(self._generation_id)

    def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> dict[str, Assignment]:
        """As ``sticky``, without what others must give up first."""
        assigned, moving = self._assign(topics, group)
        if moving is None:
            moving = _changing_hands(group, assigned)
        return {
            member_id: Assignment([partition for partition in partitions if moving.get(partition) != member_id])
            for member_id, partitions in assigned.items()
        }

    def _owned_by(self, member: MemberSubscription) -> OwnedPartitions:
        if member.generation_id >= 0:
            return OwnedPartitions(member.owned_partitions, member.generation_id)
        return OwnedPartitions(member.owned_partitions, decode_generation(member.user_data))


def _generation(owned: OwnedPartitions) -> int:
    return NO_GENERATION if owned.generation_id is None else owned.generation_id


def _settle_claims(
    topics: TopicRacks, group: Mapping[str, MemberSubscription], said: Mapping[str, OwnedPartitions]
) -> _Claims:
    """What each member owns: of two that claim a partition, the newer generation's; of one generation, nobody's."""
    owned: dict[str, list[TopicPartition]] = {}
    owners: dict[TopicPartition, str] = {}
    contested = set()
    for member_id, claim in said.items():
        owned[member_id] = mine = []
        for partition in claim.partitions:
            if partition.partition >= len(topics.get(partition.topic, ())):
                continue  # deleted, perhaps made again with fewer partitions
            other = owners.get(partition)
            other_generation_id = NO_GENERATION if other is None else group[other].generation_id
            if other is not None and _generation(claim) < other_generation_id:
                continue
            owners[partition] = member_id
            if other is not None and partition in owned[other]:
                owned[other].remove(partition)
            if other is not None and _generation(claim) == other_generation_id:
                contested.add(partition)
            else:
                mine.append(partition)
    return _Claims(owned, frozenset(contested))


def _is_uniform(subscriptions: Sequence[Sequence[str]]) -> bool:
    """Whether all subscribe to the same; those before the first who subscribes to anything do not count."""
    common: frozenset[str] = frozenset()
    for topics in subscriptions:
        if not common:
            common = frozenset(topics)
        elif len(topics) != len(common) or not common.issuperset(topics):
            return False
    return True


def _changing_hands(
    group: Mapping[str, MemberSubscription], assigned: Mapping[str, Sequence[TopicPartition]]
) -> dict[TopicPartition, str]:
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, partitions in assigned.items():
        owned = frozenset(group[member_id].owned_partitions)
        added.update(dict.fromkeys((partition for partition in partitions if partition not in owned), member_id))
        revoked |= owned.difference(partitions)
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
