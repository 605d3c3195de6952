"""The round robin assignor: all partitions of all topics in a row, dealt out one by one."""

from collections.abc import Mapping

from ottla.clients.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    SimpleAssignor,
    TopicRacks,
    in_member_order,
)
from ottla.common.topic_partition import TopicPartition


class RoundRobinAssignor(SimpleAssignor):
    """Deals partitions to the members in turn; a member who does not subscribe to the topic is passed over."""

    __slots__ = ()

    name = "roundrobin"

    def assign(self, topics: TopicRacks, group: Mapping[str, MemberSubscription]) -> dict[str, Assignment]:
        """Give each partition to the next member in turn that wants its topic."""
        members = in_member_order(group)
        subscribed = {member_id: frozenset(group[member_id].topics) for member_id in members}
        assigned: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        turn = 0
        for topic in sorted(frozenset().union(*subscribed.values()) & topics.keys()):
            for partition in range(len(topics[topic])):
                while topic not in subscribed[members[turn]]:
                    turn = (turn + 1) % len(members)
                assigned[members[turn]].append(TopicPartition(topic, partition))
                turn = (turn + 1) % len(members)
        return {member_id: Assignment(partitions) for member_id, partitions in assigned.items()}
