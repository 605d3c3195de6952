"""The cluster as a client knows it: an image that never changes, and how an answer makes the next one of it."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.network.node import Node
from ottla.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

NO_NODE: Final = -1
NO_EPOCH: Final = -1


class PartitionMetadata(NamedTuple):
    """One partition. ``leader_id`` is -1 while nobody leads it, ``leader_epoch`` where the broker is too old to say."""

    partition: int
    leader_id: int = NO_NODE
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error_code: int = ErrorCode.NONE


class TopicMetadata(NamedTuple):
    """One topic and its partitions by number. With an ``error_code`` it may have none."""

    name: str
    topic_id: Uuid = ZERO_UUID
    is_internal: bool = False
    partitions: Mapping[int, PartitionMetadata] = MappingProxyType({})
    error_code: int = ErrorCode.NONE


class ClusterMetadata:
    """An immutable image. ``topics`` holds what was asked for, topics with errors included."""

    __slots__ = ("_names", "cluster_id", "controller_id", "nodes", "racks", "topics")

    def __init__(
        self,
        cluster_id: str | None = None,
        controller_id: int = NO_NODE,
        nodes: Mapping[int, Node] | None = None,
        topics: Mapping[str, TopicMetadata] | None = None,
        racks: Mapping[int, str | None] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.nodes: Mapping[int, Node] = MappingProxyType(dict(nodes or {}))
        self.racks: Mapping[int, str | None] = MappingProxyType(dict(racks or {}))
        self.topics: Mapping[str, TopicMetadata] = MappingProxyType(dict(topics or {}))
        self._names = {topic.topic_id: name for name, topic in self.topics.items() if topic.topic_id != ZERO_UUID}

    @property
    def controller(self) -> Node | None:
        """The node to send an administrator's requests to, if it is known."""
        return self.nodes.get(self.controller_id)

    def leader(self, topic: str, partition: int) -> Node | None:
        """The partition's leader; None if there is none, or the partition is not known."""
        known = self.partition(topic, partition)
        return None if known is None else self.nodes.get(known.leader_id)

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The newest epoch that is known of a partition's leader; -1 if none is."""
        known = self.partition(topic, partition)
        return NO_EPOCH if known is None else known.leader_epoch

    def partition(self, topic: str, partition: int) -> PartitionMetadata | None:
        """A partition, if it is known."""
        known = self.topics.get(topic)
        return None if known is None else known.partitions.get(partition)

    def partitions_for(self, topic: str) -> list[PartitionMetadata]:
        """The topic's partitions by number; none if the topic is not known."""
        known = self.topics.get(topic)
        return [] if known is None else [known.partitions[number] for number in sorted(known.partitions)]

    def topic_name(self, topic_id: Uuid) -> str | None:
        """The name of the topic with this id, if it is known."""
        return self._names.get(topic_id)

    def topic_id(self, topic: str) -> Uuid:
        """The topic's id; zeros if it is not known."""
        known = self.topics.get(topic)
        return ZERO_UUID if known is None else known.topic_id

    def merge(self, response: MetadataResponse, keep: Collection[str] | None = ()) -> "ClusterMetadata":
        """The image after an answer: its nodes, its topics, and of the topics that it leaves out those in ``keep``.

        ``keep`` None keeps all. An answer can come from a broker that is behind: a partition whose epoch in it is older
        than the one known keeps its known leader, unless the topic has another id and thus is another topic.
        """
        topics = {name: topic for name, topic in self.topics.items() if keep is None or name in keep}
        for answered in response.topics:
            if answered.name is not None:
                topics[answered.name] = _merge_topic(self.topics.get(answered.name), answered)
        return ClusterMetadata(
            response.cluster_id,
            response.controller_id,
            {broker.node_id: Node(broker.node_id, broker.host, broker.port) for broker in response.brokers},
            topics,
            {broker.node_id: broker.rack for broker in response.brokers},
        )

    def with_leaders(
        self, leaders: Mapping[tuple[str, int], tuple[int, int]], nodes: Collection[Node]
    ) -> "ClusterMetadata":
        """The image after brokers named new leaders by themselves: (id, epoch) by topic and partition.

        One that is not newer than what is known is left out, as is one whose node nobody knows.
        """
        known_nodes = dict(self.nodes) | {node.id: node for node in nodes}
        topics = dict(self.topics)
        for (name, number), (leader_id, epoch) in leaders.items():
            known = self.partition(name, number)
            if known is None or epoch <= known.leader_epoch or leader_id not in known_nodes:
                continue
            topic = topics[name]
            partition = known._replace(leader_id=leader_id, leader_epoch=epoch, error_code=ErrorCode.NONE)
            topics[name] = topic._replace(partitions=MappingProxyType({**topic.partitions, number: partition}))
        return ClusterMetadata(self.cluster_id, self.controller_id, known_nodes, topics, self.racks)


def _merge_topic(known: TopicMetadata | None, answered: MetadataResponseTopic) -> TopicMetadata:
    """The topic in an answer. One that is in error for a while keeps what is known of its partitions' epochs."""
    assert answered.name is not None
    is_same = known is not None and (
        answered.topic_id == known.topic_id or ZERO_UUID in (answered.topic_id, known.topic_id)
    )
    before: Mapping[int, PartitionMetadata] = known.partitions if known is not None and is_same else {}
    partitions = {
        partition.partition_index: _merge_partition(before.get(partition.partition_index), partition)
        for partition in answered.partitions
    }
    return TopicMetadata(
        answered.name, answered.topic_id, answered.is_internal, MappingProxyType(partitions), answered.error_code
    )


def _merge_partition(known: PartitionMetadata | None, answered: MetadataResponsePartition) -> PartitionMetadata:
    if known is not None and NO_EPOCH < answered.leader_epoch < known.leader_epoch:
        return known
    return PartitionMetadata(
        answered.partition_index,
        answered.leader_id,
        answered.leader_epoch,
        tuple(answered.replica_nodes),
        tuple(answered.isr_nodes),
        tuple(answered.offline_replicas),
        answered.error_code,
    )
