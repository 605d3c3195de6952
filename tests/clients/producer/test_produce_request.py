"""Requests by topic id and by name, and what their answers say."""

import pytest

from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.batch_completer import PartitionAnswer
from ottla.clients.producer.produce_request import leader_hints, partition_answer, produce_attempt, read_answers
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.network.node import Node
from ottla.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

IDS = {"a": Uuid(bytes(15) + b"a"), "b": Uuid(bytes(15) + b"b")}


def batch(topic: str, partition: int) -> ProducerBatch:
    builder = BatchBuilder(1_000, 1_000)
    builder.append(0, None, b"v", None)
    made = ProducerBatch(TopicPartition(topic, partition), builder, 0, 0)
    made.close(None)
    return made


BATCHES = [batch("a", 0), batch("b", 1), batch("a", 2)]


@pytest.mark.parametrize(
    ("ids", "given", "expected"),
    [(IDS, None, None), (IDS, 11, 11), ({**IDS, "b": ZERO_UUID}, None, 12), ({**IDS, "b": ZERO_UUID}, 11, 11)],
)
def test_a_topic_without_an_id_goes_by_name(ids: dict[str, Uuid], given: int | None, expected: int | None) -> None:
    attempt = produce_attempt(BATCHES, ids, acks=-1, timeout_ms=5, transactional_id="t", version_max=given)
    assert attempt.version_max == expected
    request = attempt.request
    assert (request.acks, request.timeout_ms, request.transactional_id) == (-1, 5, "t")
    topics = {topic.name: [data.index for data in topic.partition_data] for topic in request.topic_data}
    assert topics == {"a": [0, 2], "b": [1]}
    assert {topic.name: topic.topic_id for topic in request.topic_data} == ids


@pytest.mark.parametrize("by_id", [True, False])
def test_answers_find_their_batches_by_id_and_by_name(by_id: bool) -> None:
    attempt = produce_attempt(BATCHES, IDS, acks=1, timeout_ms=5, transactional_id=None, version_max=None)

    def answered(name: str, *partitions: int) -> TopicProduceResponse:
        found = [PartitionProduceResponse(index=number, base_offset=number * 10) for number in partitions]
        if by_id:
            return TopicProduceResponse(topic_id=IDS[name], partition_responses=found)
        return TopicProduceResponse(name=name, partition_responses=found)

    response = ProduceResponse(responses=[answered("b", 1, 7), answered("a", 2)])
    found = [(each.topic_partition, partition.base_offset) for each, partition in read_answers(attempt, response)]
    assert found == [(TopicPartition("b", 1), 10), (TopicPartition("a", 2), 20)]


def test_an_answer_is_read_whole() -> None:
    errors = [BatchIndexAndErrorMessage(batch_index=3, batch_index_error_message="bad")]
    answered = PartitionProduceResponse(
        error_code=87,
        base_offset=1,
        log_append_time_ms=2,
        log_start_offset=3,
        error_message="why",
        record_errors=errors,
    )
    assert partition_answer(answered) == PartitionAnswer(87, 1, 2, 3, "why", [(3, "bad")])


def test_new_leaders_are_taken_from_the_answer() -> None:
    refused = PartitionProduceResponse(
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch(leader_id=2, leader_epoch=9)
    )
    unsure = PartitionProduceResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderIdAndEpoch())
    response = ProduceResponse(node_endpoints=[NodeEndpoint(node_id=2, host="two", port=9092)])
    hints = leader_hints([(BATCHES[0], refused), (BATCHES[1], unsure)], response)
    assert hints == ({("a", 0): (2, 9)}, [Node(2, "two", 9092)])
