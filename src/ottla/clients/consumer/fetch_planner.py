"""Which node is asked for what, next."""

from collections.abc import Collection, Container
from typing import NamedTuple

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetch_session import PartitionFetch
from ottla.clients.consumer.partition_state import PartitionState
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition


class NodeFetch(NamedTuple):
    """One request: at most ``max_bytes`` in all, of these partitions, in this order of preference."""

    node_id: int
    partitions: dict[TopicPartition, PartitionFetch]
    max_bytes: int


class FetchPlan(NamedTuple):
    """What to send, and of which partitions nobody knows the leader."""

    fetches: list[NodeFetch]
    leaderless: list[TopicPartition]


def note_leaders(subscription: SubscriptionState, metadata: ClusterMetadata) -> None:
    """Compare the positions' leader epochs with the newest known; those that are behind must be validated."""
    for (topic, index), state in subscription.partitions.items():
        if state.position is not None:
            epoch = metadata.leader_epoch(topic, index)
            if 0 <= epoch != state.position.current_leader_epoch:
                subscription.leader_changed(TopicPartition(topic, index), epoch)


def plan_fetches(
    subscription: SubscriptionState,
    buffer: FetchBuffer,
    metadata: ClusterMetadata,
    *,
    now_ms: int,
    busy_nodes: Container[int],
    in_flight: Collection[TopicPartition],
    fetch_max_bytes: int,
    max_partition_fetch_bytes: int,
) -> FetchPlan:
    """One request a node that has none in flight, for each partition that may be read.

    A node is left alone while as much as may wait of one of its partitions does: without that partition the others, if
    nothing is written to them, would keep the node's only request waiting for ``fetch.max.wait.ms``.
    A node whose answers wait is asked for what is left of ``fetch.max.bytes``, and for nothing while that is less than
    half: small fetches are dear, and a large one comes soon. So no more than ``fetch.max.bytes`` of a node wait,
    except for a single batch that is larger. If all that waits is paused it makes room.
    """
    fetches: dict[int, dict[TopicPartition, PartitionFetch]] = {}
    leaderless = []
    full_nodes = set()
    for partition, state in subscription.fetchable():
        if partition in in_flight:
            continue
        node_id = _node(partition, state, metadata, now_ms)
        offset = buffer.expected_offset(partition)
        if node_id < 0:
            leaderless.append(partition)
        elif offset is None:
            full_nodes.add(node_id)
        elif node_id not in busy_nodes:
            assert state.position is not None
            fetches.setdefault(node_id, {})[partition] = PartitionFetch(
                metadata.topic_id(partition.topic),
                offset,
                state.position.current_leader_epoch,
                max_partition_fetch_bytes,
            )
    planned = []
    enough = (fetch_max_bytes + 1) // 2
    for node_id, partitions in fetches.items():
        if node_id in full_nodes:
            continue
        if fetch_max_bytes - buffer.bytes_from(node_id) < enough:
            buffer.make_room(node_id)
        room = fetch_max_bytes - buffer.bytes_from(node_id)
        if room >= enough:
            planned.append(NodeFetch(node_id, partitions, room))
    return FetchPlan(planned, leaderless)


def _node(partition: TopicPartition, state: PartitionState, metadata: ClusterMetadata, now_ms: int) -> int:
    """The replica that the leader sent us to, as long as that holds, or the leader; -1 if there is none."""
    replica = state.preferred_read_replica
    if replica >= 0:
        if now_ms < state.preferred_until_ms and replica in metadata.nodes:
            return replica
        state.preferred_read_replica = -1
    leader = metadata.leader(*partition)
    return -1 if leader is None else leader.id
