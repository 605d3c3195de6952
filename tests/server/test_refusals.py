"""What is wrong with a request stands where clients of every version look for it.

The expectations are Apache Kafka's: with OTTLA_APACHE_HALF=1 its broker answers.
"""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.wire import Wire, create_topic

NOBODYS_ID = Uuid.from_string("AQIDBAUGBwgJCgsMDQ4PEA")
NOT_ASKED = -(1 << 31)
LATEST = -1


@pytest.fixture
def created(address: str, topic: str) -> str:
    """A topic of one partition."""
    create_topic(address, topic)
    return topic


@pytest.mark.parametrize("version", [1, 2])
def test_an_election_of_no_known_type_fails_at_each_partition(wire: Wire, created: str, version: int) -> None:
    asked = [TopicPartitions(topic=created, partitions=[0, 9])]
    response = wire.ask(ElectLeadersRequest(election_type=7, topic_partitions=asked), version)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    (result,) = response.replica_election_results
    assert result.topic == created
    assert [(each.partition_id, each.error_code) for each in result.partition_result] == [
        (0, ErrorCode.INVALID_REQUEST),
        (9, ErrorCode.INVALID_REQUEST),
    ]


def test_a_producer_id_that_is_refused_comes_with_no_epoch(wire: Wire) -> None:
    response = wire.ask(InitProducerIdRequest(transactional_id=None, producer_id=5, producer_epoch=-1), 5)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", [1, 11])
def test_a_partition_that_is_named_twice_is_refused_once(wire: Wire, created: str, version: int) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=created, partitions=[asked, asked])])
    ((answer,),) = [each.partitions for each in wire.ask(request, version).topics]
    assert (answer.partition_index, answer.error_code) == (0, ErrorCode.INVALID_REQUEST)


def test_nobody_may_do_anything_with_a_topic_id_that_nobody_has(wire: Wire) -> None:
    asked = MetadataRequestTopic(topic_id=NOBODYS_ID, name=None)
    (answer,) = wire.ask(MetadataRequest(topics=[asked], include_topic_authorized_operations=True), 13).topics
    assert (answer.error_code, answer.topic_authorized_operations) == (ErrorCode.UNKNOWN_TOPIC_ID, NOT_ASKED)


@pytest.mark.parametrize(("version", "error"), [(12, "UNKNOWN_TOPIC_OR_PARTITION"), (18, "UNKNOWN_TOPIC_ID")])
def test_of_a_partition_that_does_not_exist_no_transactions_are_listed(wire: Wire, version: int, error: str) -> None:
    asked = FetchTopic(topic="nobodys", topic_id=NOBODYS_ID, partitions=[FetchPartition(partition=0)])
    response = wire.ask(FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=-1, topics=[asked]), version)
    ((answer,),) = [each.partitions for each in response.responses]
    assert answer.error_code == ErrorCode[error]
    assert list(answer.aborted_transactions) == []


def test_a_partition_that_is_read_uncommitted_has_no_list_of_transactions(wire: Wire, created: str) -> None:
    asked = FetchTopic(topic=created, partitions=[FetchPartition(partition=0, partition_max_bytes=100)])
    response = wire.ask(FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=-1, topics=[asked]), 12)
    ((answer,),) = [each.partitions for each in response.responses]
    assert (answer.error_code, answer.aborted_transactions) == (ErrorCode.NONE, None)
