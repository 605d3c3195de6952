"""The sticky assignment of a group whose members all subscribe to the same topics.

Everybody keeps what it owns up to its share, and the rest is dealt out in turn. The share is the number of partitions
divided by that of members; where that leaves a remainder, as many members get one more.
"""

from collections import deque

from ottla.clients.consumer.assignors.assignor import TopicRacks
from ottla.clients.consumer.assignors.rack_info import RackInfo
from ottla.common.topic_partition import TopicPartition


class UniformAssignment:
    """One computation; ``owned`` holds every member in the order in which they are served."""

    __slots__ = (
        "_below_share",
        "_contested",
        "_given_up",
        "_max_share",
        "_min_share",
        "_num_above",
        "_num_above_max",
        "_owned",
        "_racks",
        "_topics",
        "_turn",
        "_with_share",
        "assigned",
        "moving",
    )

    def __init__(
        self,
        topics: TopicRacks,
        racks: RackInfo,
        owned: dict[str, list[TopicPartition]],
        contested: frozenset[TopicPartition],
    ) -> None:
        self._topics = topics
        self._racks = racks
        self._owned = owned
        self._contested = contested
        self._given_up: dict[TopicPartition, str] = {}
        self._below_share: list[str] = []
        self._with_share: deque[str] = deque()
        """Members with exactly the lower share, who may get one more."""
        num_partitions = sum(len(partitions) for partitions in topics.values())
        self._min_share, self._num_above_max = divmod(num_partitions, len(owned))
        self._max_share = self._min_share + (self._num_above_max > 0)
        self._num_above = 0
        self._turn = 0
        self.assigned: dict[str, list[TopicPartition]] = {member_id: [] for member_id in owned}
        self.moving: dict[TopicPartition, str] = {}
        """Partitions that somebody else owns still, with their new member."""

    def compute(self) -> dict[str, list[TopicPartition]]:
        """The partitions of every member."""
        for member_id in self._owned:
            self._keep(member_id)
        kept = {partition for partitions in self.assigned.values() for partition in partitions}
        everything = (
            TopicPartition(topic, index) for topic in sorted(self._topics) for index in range(len(self._topics[topic]))
        )
        unassigned = [partition for partition in everything if partition not in kept]
        self._below_share.sort()
        self._with_share = deque(sorted(self._with_share))
        unassigned = self._racks.fewest_members_first(unassigned)
        if self._racks.member_racks:
            unassigned = [partition for partition in unassigned if not self._give_within_rack(partition)]
        self._deal(unassigned)
        return self.assigned

    def _keep(self, member_id: str) -> None:
        owned = []
        for partition in self._owned[member_id]:
            if self._racks.mismatch(member_id, partition):
                self._given_up[partition] = member_id
            elif partition not in self._contested:
                owned.append(partition)
        owned.sort(key=lambda partition: (partition.partition, partition.topic))
        num_kept = len(owned)
        if num_kept < self._min_share:
            self._below_share.append(member_id)
        elif num_kept >= self._max_share and self._num_above < self._num_above_max:
            num_kept = self._max_share
            self._count_above()
        else:
            num_kept = self._min_share
            if self._num_above < self._num_above_max:
                self._with_share.append(member_id)
        self.assigned[member_id] += owned[:num_kept]
        self._given_up.update(dict.fromkeys(owned[num_kept:], member_id))

    def _count_above(self) -> None:
        self._num_above += 1
        if self._num_above == self._num_above_max:
            self._with_share.clear()

    def _give_within_rack(self, partition: TopicPartition) -> bool:
        index = self._racks.next_near(partition, self._below_share, self._turn)
        if index >= 0:
            member_id = self._below_share[index]
            num_assigned = len(self.assigned[member_id]) + 1
            if num_assigned >= self._min_share:
                self._below_share.remove(member_id)
                if num_assigned < self._max_share and self._num_above < self._num_above_max:
                    self._with_share.append(member_id)
            else:
                index += 1
            self._turn = index % len(self._below_share) if self._below_share else 0
        else:
            index = self._racks.next_near(partition, self._with_share, 0)
            if index < 0:
                return False
            member_id = self._with_share[index]
            if len(self.assigned[member_id]) + 1 == self._max_share:
                del self._with_share[index]
                self._count_above()
        self._give(partition, member_id)
        return True

    def _deal(self, unassigned: list[TopicPartition]) -> None:
        turn = 0
        for partition in unassigned:
            if turn >= len(self._below_share):
                turn = 0
            if self._below_share:
                member_id = self._below_share[turn]
                turn += 1
            else:
                assert self._with_share, "partitions are left and every member has its share"
                member_id = self._with_share.popleft()
            if self._give(partition, member_id) == self._min_share:
                turn -= 1
                del self._below_share[turn]
                self._with_share.append(member_id)

    def _give(self, partition: TopicPartition, member_id: str) -> int:
        self.assigned[member_id].append(partition)
        if partition in self._contested or self._given_up.get(partition, member_id) != member_id:
            self.moving[partition] = member_id
        return len(self.assigned[member_id])
