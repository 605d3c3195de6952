"""The sticky assignment of a group whose members subscribe to different topics.

Everybody keeps what it owns and still subscribes to, the rest goes to those with the fewest partitions, and then
partitions are moved one by one until no move makes the group more balanced.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from ottla.clients.consumer.assignors.assignor import MemberSubscription, TopicRacks
from ottla.clients.consumer.assignors.partition_movements import PartitionMovements
from ottla.clients.consumer.assignors.rack_info import RackInfo
from ottla.common.topic_partition import TopicPartition


class MixedAssignment:
    """One computation.

    ``owned`` holds every member in the order in which they are served, ``previous`` who had a partition in an earlier
    generation than the newest.
    """

    __slots__ = (
        "_assigned",
        "_by_load",
        "_members_of",
        "_movements",
        "_num_partitions",
        "_previous",
        "_racks",
        "_topics",
        "_topics_of",
        "_whose",
    )

    def __init__(
        self,
        topics: TopicRacks,
        racks: RackInfo,
        owned: Mapping[str, Sequence[TopicPartition]],
        group: Mapping[str, MemberSubscription],
        previous: Mapping[TopicPartition, str],
    ) -> None:
        self._topics = topics
        self._racks = racks
        self._previous = previous
        self._movements = PartitionMovements()
        self._num_partitions = sum(len(partitions) for partitions in topics.values())
        self._topics_of = {
            member_id: [topic for topic in group[member_id].topics if topic in topics] for member_id in owned
        }
        self._members_of: dict[str, list[str]] = {topic: [] for topic in topics}
        for member_id, subscribed in self._topics_of.items():
            for topic in subscribed:
                self._members_of[topic].append(member_id)
        self._assigned = {member_id: dict.fromkeys(partitions) for member_id, partitions in owned.items()}
        self._whose = {partition: member_id for member_id, partitions in owned.items() for partition in partitions}
        self._by_load: list[tuple[int, str]] = []

    def compute(self) -> dict[str, list[TopicPartition]]:
        """The partitions of every member."""
        must_revoke = self._drop_unwanted()
        everything = [
            TopicPartition(topic, index)
            for topic in sorted(self._topics, key=lambda topic: (len(self._members_of[topic]), topic))
            for index in range(len(self._topics[topic]))
        ]
        kept = {partition for partitions in self._assigned.values() for partition in partitions}
        unassigned = [partition for partition in everything if partition not in kept]
        self._by_load = sorted((len(partitions), member_id) for member_id, partitions in self._assigned.items())
        is_first_assignment = self._by_load[-1][0] == 0
        self._fill(unassigned)
        fixed = self._set_apart_fixed()
        self._balance(
            [partition for partition in everything if self._can_move(partition)],
            [] if must_revoke else [partition for partition in unassigned if self._can_move(partition)],
            keep_if_no_better=not is_first_assignment,
        )
        return {member_id: list(partitions) for member_id, partitions in (self._assigned | fixed).items()}

    def _drop_unwanted(self) -> bool:
        """Take away what a member does not subscribe to any more, or what is in other racks; whether there was any."""
        dropped = False
        for member_id, partitions in self._assigned.items():
            subscribed = frozenset(self._topics_of[member_id])
            for partition in list(partitions):
                if partition.topic not in subscribed or self._racks.mismatch(member_id, partition):
                    del partitions[partition]
                    dropped = True
        return dropped

    def _fill(self, unassigned: Sequence[TopicPartition]) -> None:
        left = [partition for partition in unassigned if self._members_of[partition.topic]]
        if self._racks.member_racks:
            left = [partition for partition in left if not self._give_to_idlest(partition, within_racks=True)]
        for partition in left:
            self._give_to_idlest(partition, within_racks=False)

    def _give_to_idlest(self, partition: TopicPartition, *, within_racks: bool) -> bool:
        for load, member_id in self._by_load:
            if partition.topic not in self._topics_of[member_id]:
                continue
            if within_racks and self._racks.mismatch(member_id, partition):
                continue
            self._unrank(member_id, load)
            self._assigned[member_id][partition] = None
            self._whose[partition] = member_id
            self._rank(member_id)
            return True
        return False

    def _set_apart_fixed(self) -> dict[str, dict[TopicPartition, None]]:
        """The members with whom nobody could exchange anything, and what they have."""
        fixed = {}
        for member_id, partitions in list(self._assigned.items()):
            is_full = len(partitions) >= self._most_possible(member_id)
            if is_full and not any(self._can_move(partition) for partition in partitions):
                self._unrank(member_id, len(partitions))
                fixed[member_id] = self._assigned.pop(member_id)
        return fixed

    def _can_move(self, partition: TopicPartition) -> bool:
        return len(self._members_of[partition.topic]) > 1

    def _most_possible(self, member_id: str) -> int:
        subscribed = self._topics_of[member_id]
        if len(subscribed) == len(self._topics):
            return self._num_partitions
        return sum(len(self._topics[topic]) for topic in subscribed)

    def _balance(
        self, movable: Sequence[TopicPartition], added: Sequence[TopicPartition], *, keep_if_no_better: bool
    ) -> None:
        before = {member_id: dict(partitions) for member_id, partitions in self._assigned.items()}
        self._reassign(added)
        if self._reassign(movable) and keep_if_no_better and _imbalance(self._assigned) >= _imbalance(before):
            self._assigned = before

    def _reassign(self, partitions: Sequence[TopicPartition]) -> bool:
        """Move partitions for as long as that helps; whether any was moved.

        Members of an old generation can draw partitions back that the others push away again, for ever: Apache's
        assignor does not return then. Ours stops where it was before.
        """
        any_moved, moved = False, True
        seen: set[frozenset[tuple[TopicPartition, str]]] = set()
        while moved and (now := frozenset(self._whose.items())) not in seen:
            seen.add(now)
            moved = False
            for partition in partitions:
                if self._is_balanced():
                    break
                destination = self._better_member(partition)
                if destination is not None:
                    self._move(partition, destination)
                    any_moved = moved = True
        return any_moved

    def _better_member(self, partition: TopicPartition) -> str | None:
        load = len(self._assigned[self._whose[partition]])
        previous = self._previous.get(partition)
        if (
            previous in self._assigned
            and partition.topic in self._topics_of[previous]
            and load > len(self._assigned[previous]) + 1
        ):
            return previous
        if not any(load > len(self._assigned[member_id]) + 1 for member_id in self._members_of[partition.topic]):
            return None
        return next(member_id for _, member_id in self._by_load if partition.topic in self._topics_of[member_id])

    def _move(self, partition: TopicPartition, destination: str) -> None:
        partition = self._movements.better_to_move(partition, self._whose[partition], destination)
        source = self._whose[partition]
        self._unrank(source, len(self._assigned[source]))
        self._unrank(destination, len(self._assigned[destination]))
        self._movements.move(partition, source, destination)
        del self._assigned[source][partition]
        self._assigned[destination][partition] = None
        self._whose[partition] = destination
        self._rank(source)
        self._rank(destination)

    def _is_balanced(self) -> bool:
        """Whether no partition could go to a member with two fewer than its own."""
        if self._by_load[0][0] >= self._by_load[-1][0] - 1:
            return True
        for load, member_id in self._by_load:
            if load == self._most_possible(member_id):
                continue
            for topic in self._topics_of[member_id]:
                for index in range(len(self._topics[topic])):
                    if load + 1 < len(self._assigned[self._whose[TopicPartition(topic, index)]]):
                        return False
        return True

    def _rank(self, member_id: str) -> None:
        insort(self._by_load, (len(self._assigned[member_id]), member_id))

    def _unrank(self, member_id: str, load: int) -> None:
        del self._by_load[bisect_left(self._by_load, (load, member_id))]


def _imbalance(assigned: Mapping[str, Mapping[TopicPartition, None]]) -> int:
    """The differences in size of all pairs of members, summed up."""
    sizes = sorted(len(partitions) for partitions in assigned.values())
    return sum(size * (2 * index - len(sizes) + 1) for index, size in enumerate(sizes))
