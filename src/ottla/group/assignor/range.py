"""The ``range`` assignor: the partitions of each topic in runs, to members in order."""

from ottla.common.uuid import Uuid
from ottla.group.assignor.spec import Assignment, GroupAssignment, GroupSpec, MemberSpec
from ottla.metadata.image.topics import TopicsImage


class _Topic:
    """How far a topic has been given away."""

    __slots__ = ("id", "members_left", "next_partition", "num_partitions")

    def __init__(self, topic_id: Uuid, num_partitions: int) -> None:
        self.id = topic_id
        self.num_partitions = num_partitions
        self.members_left = 0
        self.next_partition = 0

    def take(self) -> range:
        """The run of the next member: its fair share of what is left, rounded up."""
        start = self.next_partition
        end = start - (start - self.num_partitions) // self.members_left
        self.members_left -= 1
        self.next_partition = end
        return range(start, end)


def assign_range(spec: GroupSpec, topics: TopicsImage) -> GroupAssignment:
    """Cut each topic in as many runs of partitions as it has subscribers, the first ones longer by one if need be.

    Topics with as many partitions and the same subscribers are cut alike, so that members can join them. Static members
    come first, by instance id, so that they keep their runs when others come and go.
    """
    member_ids = _sorted_member_ids(spec)
    by_name: dict[str, _Topic | None] = {}
    subscriptions: dict[int, list[_Topic]] = {}  # by the identity of the names, which many members share
    members = spec.members
    for member_id in member_ids:
        names = members[member_id].subscribed_topic_names
        subscribed = subscriptions.get(id(names))
        if subscribed is None:
            subscribed = subscriptions[id(names)] = []
            for name in names:
                if name not in by_name:
                    topic = topics.topic(name)
                    by_name[name] = None if topic is None else _Topic(topic.id, len(topic.partitions))
                found = by_name[name]
                if found is not None:
                    subscribed.append(found)
        for each in subscribed:
            each.members_left += 1
    return {
        member_id: _assign_member(members[member_id], subscriptions[id(members[member_id].subscribed_topic_names)])
        for member_id in member_ids
    }


def _assign_member(member: MemberSpec, subscribed: list[_Topic]) -> Assignment:
    assignment = {topic.id: tuple(run) for topic in subscribed if (run := topic.take())}
    before = member.assignment
    if assignment.keys() == before.keys() and all(
        partitions == before[topic_id] or set(partitions) == set(before[topic_id])
        for topic_id, partitions in assignment.items()
    ):
        return before
    return assignment


def _sorted_member_ids(spec: GroupSpec) -> list[str]:
    """Static members by instance id, then the others by member id, both in Java's order of strings."""

    def key(member_id: str) -> tuple[bool, bytes]:
        instance_id = spec.members[member_id].instance_id
        is_dynamic = instance_id is None
        return is_dynamic, (member_id if instance_id is None else instance_id).encode("utf-16-be", "surrogatepass")

    return sorted(spec.members, key=key)
