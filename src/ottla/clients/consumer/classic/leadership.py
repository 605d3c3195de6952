"""A member as its group's leader: whom it assigns for, and which metadata that was made of."""

from collections.abc import Mapping, Sequence

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.assignors.assignor import (
    MemberSubscription,
    PartitionAssignor,
    RebalanceProtocol,
    TopicRacks,
)
from ottla.clients.consumer.classic.leader import assign_group, read_group, subscribed_topics
from ottla.protocol.messages.join_group import JoinGroupResponseMember
from ottla.protocol.messages.sync_group import SyncGroupRequestAssignment


class Leadership:
    """Lives from a JoinGroup's answer that makes this member the leader to its next JoinGroup."""

    __slots__ = ("_group", "_is_rack_aware", "_skip_assignment", "_snapshot", "topics")

    def __init__(self, *, is_rack_aware: bool) -> None:
        self._is_rack_aware = is_rack_aware
        self._group: Mapping[str, MemberSubscription] | None = None
        self._skip_assignment = False
        self._snapshot: TopicRacks | None = None
        self.topics: frozenset[str] = frozenset()
        """What anybody in the group subscribes to: the leader must watch it all."""

    @property
    def must_assign(self) -> bool:
        """Whether the group waits for an assignment."""
        return self._group is not None

    def begin(self, members: Sequence[JoinGroupResponseMember], *, skip_assignment: bool) -> None:
        """Become the leader of these; InvalidRequestError if one's subscription cannot be read."""
        self._group = read_group(members)
        self._skip_assignment = skip_assignment
        self.topics = subscribed_topics(self._group)

    def end(self) -> None:
        """Be nobody's leader."""
        self._group = None
        self._snapshot = None
        self.topics = frozenset()

    def assign(
        self, assignor: PartitionAssignor, protocol: RebalanceProtocol, metadata: ClusterMetadata
    ) -> list[SyncGroupRequestAssignment]:
        """What everybody gets; nothing where the broker says that the old assignment stands."""
        assert self._group is not None, "there is nobody to assign for"
        group, self._group = self._group, None
        self._snapshot = self._take_snapshot(metadata)
        if self._skip_assignment:
            return []
        return assign_group(assignor, protocol, topic_racks(metadata, self.topics), group)

    def is_outdated(self, metadata: ClusterMetadata) -> bool:
        """Whether a topic of the group came, went, or has other partitions since the assignment was made."""
        return self._snapshot is not None and self._snapshot != self._take_snapshot(metadata)

    def _take_snapshot(self, metadata: ClusterMetadata) -> TopicRacks:
        racks = topic_racks(metadata, self.topics)
        if self._is_rack_aware:
            return racks
        return {topic: [frozenset()] * len(partitions) for topic, partitions in racks.items()}


def topic_racks(metadata: ClusterMetadata, topics: frozenset[str]) -> dict[str, list[frozenset[str]]]:
    """The partitions of topics that exist, each with the racks of its replicas."""
    racks = {node_id: rack for node_id, rack in metadata.racks.items() if rack}
    return {
        topic: [
            frozenset(racks[node_id] for node_id in partition.replicas if node_id in racks) for partition in partitions
        ]
        for topic in sorted(topics)
        if (partitions := metadata.partitions_for(topic))
    }
