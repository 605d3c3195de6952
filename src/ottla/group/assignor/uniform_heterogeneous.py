"""The ``uniform`` assignor for groups whose members subscribe to different topics."""

from collections.abc import Collection, Iterable

from ottla.common.uuid import Uuid
from ottla.group.assignor.hash_order import member_order, table_size_for
from ottla.group.assignor.member_balancer import MemberBalancer
from ottla.group.assignor.mutable_assignment import MutableAssignment
from ottla.group.assignor.spec import Assignment, GroupAssignment, GroupSpec
from ottla.metadata.image.topics import TopicsImage

_ROUNDS_MAX = 16
"""How often all topics are balanced. Topics whose subscribers overlap only in part may take many rounds to converge."""

_NOBODY = -1


class _Topic:
    """A topic that somebody subscribes to. Members are indices in Apache's order of them."""

    __slots__ = ("id", "num_partitions", "owners", "subscribers")

    def __init__(self, topic_id: Uuid, num_partitions: int) -> None:
        self.id = topic_id
        self.num_partitions = num_partitions
        self.subscribers: list[int] = []
        self.owners = [_NOBODY] * num_partitions

    @property
    def order(self) -> tuple[float, int, int, int]:
        """Most partitions a subscriber first, then fewest subscribers, then the id as Java compares it: signed."""
        most, least = (int.from_bytes(half, "big", signed=True) for half in (self.id.bytes[:8], self.id.bytes[8:]))
        return -(self.num_partitions / len(self.subscribers)), len(self.subscribers), most, least

    @property
    def table_capacity(self) -> int:
        """The size of Java's table for the partitions that a member gets of this topic."""
        fair_share = -(-self.num_partitions // len(self.subscribers))
        return table_size_for(fair_share * 4 // 3 + 1)


class UniformHeterogeneousAssignmentBuilder:
    """One assignment of one group.

    Members keep what they still subscribe to, the rest goes to whoever has the least, and then partitions move from
    those who have the most to those who have the least, topic by topic, until that changes nothing.
    """

    __slots__ = ("_counts", "_member_ids", "_target", "_topics")

    def __init__(self, spec: GroupSpec, topics: TopicsImage) -> None:
        self._member_ids = member_order(spec)
        self._counts = [0] * len(self._member_ids)
        self._target: list[Assignment | MutableAssignment] = []
        self._topics: dict[Uuid, _Topic] = {}
        subscriptions: dict[int, dict[Uuid, None]] = {}  # by the identity of the names, which many members share
        for index, member_id in enumerate(self._member_ids):
            member = spec.members[member_id]
            names = member.subscribed_topic_names
            subscribed = subscriptions.get(id(names))
            if subscribed is None:
                subscribed = subscriptions[id(names)] = self._subscribe(names, topics)
            for topic_id in subscribed:
                self._topics[topic_id].subscribers.append(index)
            self._target.append(self._keep(index, member.assignment, subscribed))

    def _subscribe(self, names: Collection[str], topics: TopicsImage) -> dict[Uuid, None]:
        subscribed: dict[Uuid, None] = {}
        for name in names:
            topic = topics.topic(name)
            if topic is not None:
                subscribed[topic.id] = None
                if topic.id not in self._topics:
                    self._topics[topic.id] = _Topic(topic.id, len(topic.partitions))
        return subscribed

    def _keep(self, index: int, before: Assignment, subscribed: dict[Uuid, None]) -> Assignment | MutableAssignment:
        changed: MutableAssignment | None = None
        for topic_id, partitions in before.items():
            if topic_id in subscribed:
                owners = self._topics[topic_id].owners
                for partition in partitions:
                    owners[partition] = index
                self._counts[index] += len(partitions)
            else:
                changed = changed or MutableAssignment(before)
                changed.remove_topic(topic_id)
        return changed or before

    def build(self) -> GroupAssignment:
        """The new assignment of every member."""
        topics = sorted(self._topics.values(), key=lambda topic: topic.order)
        self._assign_unowned(topics)
        self._balance([topic for topic in topics if len(topic.subscribers) >= 2])
        return {
            member_id: target.to_assignment() if isinstance(target, MutableAssignment) else target
            for member_id, target in zip(self._member_ids, self._target, strict=True)
        }

    def _assign_unowned(self, topics: Iterable[_Topic]) -> None:
        for topic in topics:
            unowned = [partition for partition, owner in enumerate(topic.owners) if owner == _NOBODY]
            if unowned:
                balancer = MemberBalancer(topic.subscribers, self._counts)
                for partition in unowned:
                    self._give(topic, partition, balancer.next_least_loaded())

    def _balance(self, topics: list[_Topic]) -> None:
        """Balance all topics in turn until each was looked at since the last change."""
        last_changed: _Topic | None = None
        for _ in range(_ROUNDS_MAX):
            for topic in topics:
                if topic is last_changed:
                    return
                if self._balance_topic(topic) or last_changed is None:
                    last_changed = topic

    def _balance_topic(self, topic: _Topic) -> bool:
        """Move partitions of a topic between its subscribers; whether any moved."""
        balancer = MemberBalancer(topic.subscribers, self._counts)
        if balancer.imbalance <= 1:
            return False
        to_give: dict[int, list[int]] = {}  # what each owner had at first, the last partition to go first
        for partition, owner in enumerate(topic.owners):
            to_give.setdefault(owner, []).append(partition)
        moved = False
        while not balancer.is_balanced:
            giver = balancer.next_most_loaded()
            while giver is not None and not to_give.get(giver):
                balancer.exclude_most_loaded()
                giver = balancer.next_most_loaded()
            if giver is None:
                break
            partition = to_give[giver].pop()
            taker = balancer.next_least_loaded()
            if balancer.is_balanced:
                break
            self._changeable(giver).remove(topic.id, partition)
            self._counts[giver] -= 1
            self._give(topic, partition, taker)
            moved = True
        return moved

    def _give(self, topic: _Topic, partition: int, taker: int) -> None:
        self._changeable(taker).add(topic.id, partition, topic.table_capacity)
        topic.owners[partition] = taker
        self._counts[taker] += 1

    def _changeable(self, index: int) -> MutableAssignment:
        target = self._target[index]
        if not isinstance(target, MutableAssignment):
            target = self._target[index] = MutableAssignment(target)
        return target
