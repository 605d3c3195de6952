"""Batches into a Produce request, and its response into answers about the batches."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ottla.clients.producer.batch_completer import PartitionAnswer
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.network.node import Node
from ottla.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

LAST_VERSION_BY_NAME: Final = 12


class ProduceAttempt(NamedTuple):
    """A request, the newest version that it can go out in, and the batches in it."""

    request: ProduceRequest
    version_max: int | None
    batches: Mapping[tuple[Uuid | str, int], ProducerBatch]
    """By the topic's id and by its name: the response says one or the other."""


def produce_attempt(
    batches: Sequence[ProducerBatch],
    topic_ids: Mapping[str, Uuid],
    *,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None,
    version_max: int | None,
) -> ProduceAttempt:
    """One batch of each of some partitions. A topic without an id, on an old broker, can only go by name."""
    topics: dict[str, list[PartitionProduceData]] = {}
    by_topic: dict[tuple[Uuid | str, int], ProducerBatch] = {}
    for batch in batches:
        name, partition = batch.topic_partition
        topics.setdefault(name, []).append(PartitionProduceData(index=partition, records=batch.records()))
        by_topic[name, partition] = batch
        by_topic[topic_ids[name], partition] = batch
    if any(topic_ids[name] == ZERO_UUID for name in topics):
        version_max = LAST_VERSION_BY_NAME if version_max is None else min(version_max, LAST_VERSION_BY_NAME)
    topic_data = [
        TopicProduceData(name=name, topic_id=topic_ids[name], partition_data=partitions)
        for name, partitions in topics.items()
    ]
    request = ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=topic_data)
    return ProduceAttempt(request, version_max, by_topic)


def read_answers(
    attempt: ProduceAttempt, response: ProduceResponse
) -> list[tuple[ProducerBatch, PartitionProduceResponse]]:
    """What the response says about each batch; a partition that was not asked about is left out."""
    answers = []
    for topic in response.responses:
        name: Uuid | str = topic.name if topic.topic_id == ZERO_UUID else topic.topic_id
        for partition in topic.partition_responses:
            batch = attempt.batches.get((name, partition.index))
            if batch is not None:
                answers.append((batch, partition))
    return answers


def partition_answer(partition: PartitionProduceResponse) -> PartitionAnswer:
    """In the producer's own terms."""
    return PartitionAnswer(
        partition.error_code,
        partition.base_offset,
        partition.log_append_time_ms,
        partition.log_start_offset,
        partition.error_message,
        [(error.batch_index, error.batch_index_error_message) for error in partition.record_errors],
    )


def leader_hints(
    answers: Sequence[tuple[ProducerBatch, PartitionProduceResponse]], response: ProduceResponse
) -> tuple[dict[tuple[str, int], tuple[int, int]], list[Node]]:
    """The leaders, with their epochs, that the broker names where it does not lead any more, and where they are."""
    leaders: dict[tuple[str, int], tuple[int, int]] = {}
    for batch, partition in answers:
        leader = partition.current_leader
        if partition.error_code and leader is not None and leader.leader_id >= 0 and leader.leader_epoch >= 0:
            leaders[batch.topic_partition] = (leader.leader_id, leader.leader_epoch)
    return leaders, [Node(node.node_id, node.host, node.port) for node in response.node_endpoints]
