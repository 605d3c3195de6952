"""The ``range`` assignor: the partitions of each topic in runs, to members in order."""

from ottla.common.uuid import Uuid
from ottla.group.assignor.hash_order import in_name_order, in_uuid_order, member_order, table_size_for
from ottla.group.assignor.spec import (
    Assignment,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    SubscriptionType,
    has_same_partitions,
)
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
    subscriptions = _Subscriptions(topics)
    members = spec.members
    member_ids = _sorted_member_ids(spec)
    for member_id in member_ids:
        for topic in subscriptions.of(members[member_id]):
            topic.members_left += 1
    is_homogeneous = spec.subscription_type is SubscriptionType.HOMOGENEOUS
    assigned = {}
    for member_id in member_ids:
        member = members[member_id]
        subscribed = subscriptions.of(member)
        expected = len(subscribed) if is_homogeneous else len(member.subscribed_topic_names)
        runs = _take_runs(subscribed, expected)
        is_kept = member_id != spec.new_member_id and has_same_partitions(runs, member.assignment)
        assigned[member_id] = member.assignment if is_kept else runs
    return {member_id: assigned[member_id] for member_id in member_order(spec)}


class _Subscriptions:
    """The existing topics that members subscribe to, in Apache's order."""

    __slots__ = ("_by_name", "_by_names", "_topics")

    def __init__(self, topics: TopicsImage) -> None:
        self._topics = topics
        self._by_name: dict[str, _Topic | None] = {}
        self._by_names: dict[int, list[_Topic]] = {}  # by the identity of the names, which many members share

    def of(self, member: MemberSpec) -> list[_Topic]:
        names = member.subscribed_topic_names
        subscribed = self._by_names.get(id(names))
        if subscribed is None:
            found = [self._find(name) for name in in_name_order(names)]
            subscribed = self._by_names[id(names)] = [topic for topic in found if topic is not None]
        return subscribed

    def _find(self, name: str) -> _Topic | None:
        if name not in self._by_name:
            topic = self._topics.topic(name)
            self._by_name[name] = None if topic is None else _Topic(topic.id, len(topic.partitions))
        return self._by_name[name]


def _take_runs(subscribed: list[_Topic], expected: int) -> Assignment:
    """The runs of the next member, as a HashMap made for ``expected`` topics holds them."""
    runs = {topic.id: tuple(run) for topic in subscribed if (run := topic.take())}
    if len(runs) < 2:
        return runs
    return {topic_id: runs[topic_id] for topic_id in in_uuid_order(runs, table_size_for(expected * 4 // 3 + 1))}


def _sorted_member_ids(spec: GroupSpec) -> list[str]:
    """Static members by instance id, then the others by member id, both in Java's order of strings."""

    def key(member_id: str) -> tuple[bool, bytes]:
        instance_id = spec.members[member_id].instance_id
        is_dynamic = instance_id is None
        return is_dynamic, (member_id if instance_id is None else instance_id).encode("utf-16-be", "surrogatepass")

    return sorted(spec.members, key=key)
