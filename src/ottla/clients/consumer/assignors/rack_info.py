"""Where members and partitions are, for the sticky assignors: empty unless racks can make a difference."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ottla.clients.consumer.assignors.assignor import MemberSubscription, TopicRacks, needs_rack_awareness
from ottla.common.topic_partition import TopicPartition

_NOWHERE: frozenset[str] = frozenset()


class RackInfo:
    """The racks of members and of partitions' replicas."""

    __slots__ = ("_num_members_near", "_partition_racks", "member_racks")

    def __init__(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> None:
        member_racks = {member_id: member.rack_id for member_id, member in group.items() if member.rack_id}
        partition_racks: dict[TopicPartition, frozenset[str]] = {}
        if member_racks:
            for topic, racks_of in topics.items():
                for partition, racks in enumerate(racks_of):
                    partition_racks[TopicPartition(topic, partition)] = racks
        members_in = Counter(member_racks.values())
        self._num_members_near = {
            partition: sum(members_in[rack] for rack in racks) for partition, racks in partition_racks.items()
        }
        everywhere = _NOWHERE.union(*partition_racks.values())
        is_used = needs_rack_awareness(list(members_in), partition_racks.values(), everywhere)
        self.member_racks: dict[str, str] = member_racks if is_used else {}
        self._partition_racks = partition_racks if is_used else {}

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member says where it is, and the partition is elsewhere."""
        rack = self.member_racks.get(member_id)
        return rack is not None and rack not in self._partition_racks.get(partition, _NOWHERE)

    def racks_of(self, partition: TopicPartition) -> frozenset[str]:
        """Where the partition is."""
        return self._partition_racks.get(partition, _NOWHERE)

    def fewest_members_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Partitions that few members are near to come first."""
        if not self._num_members_near:
            return partitions
        return sorted(partitions, key=lambda partition: self._num_members_near.get(partition, 0))

    def next_near(self, partition: TopicPartition, members: Sequence[str], first: int) -> int:
        """The index of the first member near the partition, looking round from ``first``; -1 if there is none."""
        racks = self._partition_racks.get(partition, _NOWHERE)
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self.member_racks.get(members[index]) in racks:
                return index
        return -1
