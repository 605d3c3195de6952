"""The ``uniform`` assignor for groups whose members all subscribe to the same topics."""

from collections.abc import Collection
from itertools import islice

from ottla.common.uuid import Uuid
from ottla.group.assignor.hash_order import (
    assigned_partition_order,
    assigned_topic_order,
    copy_capacity,
    in_name_order,
    in_uuid_order,
    member_order,
)
from ottla.group.assignor.mutable_assignment import MutableAssignment
from ottla.group.assignor.spec import Assignment, GroupAssignment, GroupSpec, PartitionAssignorError
from ottla.metadata.image.topics import TopicsImage


class UniformHomogeneousAssignmentBuilder:
    """One assignment of one group: whoever has more than a fair share gives up the rest, whoever has less gets it."""

    __slots__ = ("_spec", "_target", "_topic_ids", "_topics", "_unassigned", "_unfilled")

    def __init__(self, spec: GroupSpec, topics: TopicsImage) -> None:
        self._spec = spec
        self._topics = topics
        self._topic_ids = _subscribed_topic_ids(next(iter(spec.members.values())).subscribed_topic_names, topics)
        self._target: dict[str, Assignment | MutableAssignment] = {}
        self._unfilled: list[tuple[str, int]] = []  # members and how many partitions they are to get
        self._unassigned: list[tuple[Uuid, int]] = []

    def build(self) -> GroupAssignment:
        """The new assignment of every member."""
        total = self._collect_unassigned()
        self._keep_what_is_fair(total)
        self._assign_the_rest()
        return {
            member_id: target.to_assignment() if isinstance(target, MutableAssignment) else target
            for member_id, target in self._target.items()
        }

    def _collect_unassigned(self) -> int:
        """List what nobody owns; return the number of all partitions."""
        owned: dict[Uuid, set[int]] = {topic_id: set() for topic_id in self._topic_ids}
        for member in self._spec.members.values():
            for topic_id, partitions in member.assignment.items():
                if topic_id in owned:
                    owned[topic_id].update(partitions)
        total = 0
        for topic_id, taken in owned.items():
            count = len(self._topics.by_id[topic_id].partitions)
            total += count
            if len(taken) < count:
                self._unassigned += [(topic_id, partition) for partition in range(count) if partition not in taken]
        return total

    def _keep_what_is_fair(self, total: int) -> None:
        """Let every member keep up to its share.

        The first ones who have a partition more than the smallest share keep it, as long as there are such partitions;
        what remains of them goes to the last members.
        """
        members = self._spec.members
        minimum, extras = divmod(total, len(members))
        for index, member_id in enumerate(member_order(self._spec)):
            before = members[member_id].assignment
            has_extra = extras > 0
            target, quota = self._keep(before, minimum + has_extra)
            if quota > 0 and has_extra and len(members) - index > extras:
                quota -= 1
                has_extra = False
            if quota > 0:
                self._unfilled.append((member_id, quota))
            if has_extra:
                extras -= 1
            self._target[member_id] = target

    def _keep(self, before: Assignment, quota: int) -> tuple[Assignment | MutableAssignment, int]:
        """What remains of an assignment, and of the quota."""
        changed: MutableAssignment | None = None
        for topic_id in assigned_topic_order(before):
            partitions = before[topic_id]
            if topic_id not in self._topic_ids:
                changed = changed or MutableAssignment(before)
                changed.remove_topic(topic_id)
            elif len(partitions) <= quota:
                quota -= len(partitions)
            else:
                changed = changed or MutableAssignment(before)
                for partition in assigned_partition_order(partitions)[quota:]:
                    changed.remove(topic_id, partition)
                    self._unassigned.append((topic_id, partition))
                quota = 0
        return changed or before, quota

    def _assign_the_rest(self) -> None:
        unassigned = iter(self._unassigned)
        for member_id, quota in self._unfilled:
            target = self._target[member_id]
            if not isinstance(target, MutableAssignment):
                target = self._target[member_id] = MutableAssignment(target)
            for topic_id, partition in islice(unassigned, quota):
                target.add(topic_id, partition)
        if next(unassigned, None) is not None:
            raise PartitionAssignorError("Partitions were left unassigned")


def _subscribed_topic_ids(names: Collection[str], topics: TopicsImage) -> dict[Uuid, None]:
    existing = [topic.id for name in in_name_order(names) if (topic := topics.topic(name)) is not None]
    return dict.fromkeys(in_uuid_order(existing, copy_capacity(len(names))))
