"""Where replicas and coordinators are, and waiting until they are elsewhere."""

from collections.abc import Collection, Mapping, Sequence

from ottla.clients.admin import NewTopic
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from tests.clients.admin.waiting import attempts, eventually
from tests.node_cluster import NodeCluster


def make_topic(admin: Admin, topic: str, leaders: Sequence[int], **configs: str) -> str:
    """A topic whose partitions are led by these brokers and followed by the two others, which are in sync."""
    assignments = {index: [leader, *({1, 2, 3} - {leader})] for index, leader in enumerate(leaders)}
    return place_topic(admin, topic, assignments, **configs)


def place_topic(admin: Admin, topic: str, assignments: Mapping[int, Sequence[int]], **configs: str) -> str:
    """A topic whose partitions are on these brokers, all of which know of it."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    admin.create_topics([NewTopic(topic, replica_assignments=assignments, configs=settings)])
    partitions = {TopicPartition(topic, index): node_ids for index, node_ids in assignments.items()}

    def are_placed() -> bool:
        found = admin.describe_log_dirs(partitions=partitions)
        return all(
            any(partition in directory.replicas for directory in found[node_id].values())
            for partition, node_ids in partitions.items()
            for node_id in node_ids
        )

    eventually(are_placed)
    return topic


def leader_of(admin: Admin, partition: TopicPartition) -> int | None:
    """The broker that leads a partition, as far as one broker knows."""
    return _leaders(admin, partition.topic)[partition.partition]


def await_leader(admin: Admin, partition: TopicPartition, among: Collection[int]) -> int:
    """Wait until one of these leads a partition; which one."""
    for _ in attempts(f"A leader of {partition} among {sorted(among)}"):
        leader = leader_of(admin, partition)
        if leader is not None and leader in among:
            return leader
    raise AssertionError


def await_in_sync(admin: Admin, topic: str) -> None:
    """Wait until all replicas of a topic are in sync."""

    def is_so() -> bool:
        partitions = admin.describe_topics([topic])[topic].partitions
        return all(set(each.isr) == set(each.replicas) for each in partitions)

    eventually(is_so)


def are_in_sync(admin: Admin, brokers: NodeCluster) -> bool:
    """Whether all brokers take part, and all replicas there are are in sync."""
    try:
        if {node.id for node in admin.describe_cluster().nodes} != set(brokers.nodes):
            return False
        described = admin.describe_topics(list(admin.list_topics(include_internal=True)))
    except KafkaError:
        return False  # a topic of another test goes this moment
    return all(set(each.isr) == set(each.replicas) for topic in described.values() for each in topic.partitions)


def _leaders(admin: Admin, topic: str) -> list[int | None]:
    described = admin.describe_topics([topic], raise_errors=False)[topic]
    return [] if isinstance(described, KafkaError) else [each.leader_id for each in described.partitions]
