"""The range assignor: each topic cut into as many runs of partitions as it has members.

Members get the same indexes of topics with as many partitions, so that topics can be joined. When racks make a
difference, partitions go first to members in their replicas' racks, within the same limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from ottla.clients.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    SimpleAssignor,
    TopicRacks,
    in_member_order,
    needs_rack_awareness,
)
from ottla.common.topic_partition import TopicPartition


class RangeAssignor(SimpleAssignor):
    """Gives each member of a topic a run of its partitions; the first ones get one more where it does not divide."""

    __slots__ = ()

    name = "range"

    def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> dict[str, Assignment]:
        """Cut every topic among those who subscribe to it."""
        assigned: dict[str, list[TopicPartition]] = {member_id: [] for member_id in group}
        subscribed = {member_id: frozenset(subscription.topics) for member_id, subscription in group.items()}
        racks = {member_id: group[member_id].rack_id or None for member_id in in_member_order(group)}
        cuts = [
            _TopicCut(
                topic,
                partition_racks,
                {member_id: rack_id for member_id, rack_id in racks.items() if topic in subscribed[member_id]},
            )
            for topic, partition_racks in topics.items()
            if partition_racks
        ]
        is_rack_aware = any(cut.needs_rack_awareness for cut in cuts)
        if is_rack_aware:
            _assign_within_racks(cuts, assigned)
        for cut in cuts:
            cut.deal(assigned, within_racks=False)
        if is_rack_aware:
            for partitions in assigned.values():
                partitions.sort()
        return {member_id: Assignment(partitions) for member_id, partitions in assigned.items()}


def _assign_within_racks(cuts: Sequence["_TopicCut"], assigned: dict[str, list[TopicPartition]]) -> None:
    alike: dict[tuple[tuple[str, ...], int], list[_TopicCut]] = {}
    for cut in cuts:
        alike.setdefault((tuple(cut.member_racks), len(cut.partition_racks)), []).append(cut)
    for (members, num_partitions), group in alike.items():
        if len(group) > 1:
            _assign_together(members, num_partitions, group, assigned)
        elif group[0].needs_rack_awareness:
            group[0].deal(assigned, within_racks=True)


def _assign_together(
    members: Sequence[str], num_partitions: int, cuts: Sequence["_TopicCut"], assigned: dict[str, list[TopicPartition]]
) -> None:
    """Topics with as many partitions and the same members: an index goes to one member, if it fits for all topics."""
    remaining = list(members)
    for partition in range(num_partitions):
        for member_id in remaining:
            if all(cut.racks_match(member_id, partition) and cut.room(member_id) > 0 for cut in cuts):
                for cut in cuts:
                    cut.give(member_id, [partition], assigned)
                if not any(cut.room(member_id) > 0 for cut in cuts):
                    remaining.remove(member_id)
                break
        if not remaining:
            return


class _TopicCut:
    """One topic while it is cut: what is left, and how much each member may still get."""

    __slots__ = (
        "_extra_left",
        "_num_assigned",
        "_share",
        "_unassigned",
        "member_racks",
        "needs_rack_awareness",
        "partition_racks",
        "topic",
    )

    def __init__(
        self, topic: str, partition_racks: Sequence[frozenset[str]], member_racks: dict[str, str | None]
    ) -> None:
        self.topic = topic
        self.member_racks = member_racks
        self._unassigned = dict.fromkeys(range(len(partition_racks)))
        self._num_assigned = dict.fromkeys(member_racks, 0)
        self._share, self._extra_left = divmod(len(partition_racks), len(member_racks)) if member_racks else (0, 0)
        racks = [rack for rack in member_racks.values() if rack is not None]
        self.partition_racks: Sequence[frozenset[str]] = partition_racks if racks else ()
        self.needs_rack_awareness = needs_rack_awareness(
            racks, self.partition_racks, frozenset().union(*self.partition_racks)
        )

    def racks_match(self, member_id: str, partition: int) -> bool:
        """Whether the member is in a rack of the partition, or does not say where it is."""
        rack = self.member_racks[member_id]
        return rack is None or rack in self.partition_racks[partition]

    def room(self, member_id: str) -> int:
        """How many partitions the member may still get."""
        return max(0, self._share + (self._extra_left > 0) - self._num_assigned[member_id])

    def deal(self, assigned: dict[str, list[TopicPartition]], *, within_racks: bool) -> None:
        """Give each member in turn as many as it may get."""
        for member_id in self.member_racks:
            candidates: Iterable[int] = self._unassigned
            if within_racks:
                candidates = [partition for partition in self._unassigned if self.racks_match(member_id, partition)]
            self.give(member_id, list(islice(candidates, self.room(member_id))), assigned)

    def give(self, member_id: str, partitions: Sequence[int], assigned: dict[str, list[TopicPartition]]) -> None:
        """Assign partitions; those of a member above the common share use up one extra."""
        if not partitions:
            return
        assigned[member_id].extend(TopicPartition(self.topic, partition) for partition in partitions)
        self._num_assigned[member_id] += len(partitions)
        if self._num_assigned[member_id] > self._share:
            self._extra_left -= 1
        for partition in partitions:
            del self._unassigned[partition]
