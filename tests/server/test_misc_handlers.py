"""The smaller APIs over the wire: the cluster, the quorum, producers, epochs, deletion, features, elections."""

from collections.abc import Mapping

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.messages.describe_producers import DescribeProducersRequest, PartitionResponse, TopicRequest
from ottla.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.protocol.messages.envelope import EnvelopeRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from ottla.records.builder import SimpleRecord, build_batch
from tests.server.conftest import Addresses
from tests.server.wire import BOUND_S, Wire, create_topic, eventually

BOUND_MS = BOUND_S * 1000
BROKERS, CONTROLLERS = 1, 2
UPGRADE, SAFE_DOWNGRADE = 1, 2


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {"auto.create.topics.enable": "false"}


def produce(wire: Wire, topic: str, count: int, *, producer_id: int = -1, sequence: int = -1) -> None:
    records = build_batch(
        [SimpleRecord(1_000 + number, None, b"v") for number in range(count)],
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=sequence,
    )
    data = [PartitionProduceData(index=0, records=bytes(records))]
    request = ProduceRequest(
        acks=-1, timeout_ms=BOUND_MS, topic_data=[TopicProduceData(name=topic, partition_data=data)]
    )
    ((answer,),) = [each.partition_responses for each in wire.ask(request, 9).responses]
    assert answer.error_code == 0


# -- the cluster ------------------------------------------------------------------------------------------------------


def cluster(wire: Wire, version: int, endpoint_type: int = BROKERS) -> DescribeClusterResponse:
    found: DescribeClusterResponse = wire.ask(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    return found


@pytest.mark.parametrize("version", range(3))
def test_brokers_are_described_by_brokers(wire: Wire, addresses: Addresses, version: int) -> None:
    response = cluster(wire, version)
    assert (response.error_code, response.endpoint_type, response.controller_id) == (0, BROKERS, 1)
    assert response.cluster_id
    assert [(each.broker_id, f"{each.host}:{each.port}", each.is_fenced) for each in response.brokers] == [
        (1, addresses.broker, False)
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_controllers_are_described_by_controllers(
    controller_wire: Wire, wire: Wire, addresses: Addresses, version: int
) -> None:
    response = cluster(controller_wire, version, CONTROLLERS)
    assert (response.error_code, response.endpoint_type, response.controller_id) == (0, CONTROLLERS, 1)
    assert response.cluster_id == cluster(wire, version).cluster_id
    assert [(each.broker_id, f"{each.host}:{each.port}") for each in response.brokers] == [(1, addresses.controller)]


@pytest.mark.parametrize("version", [1, 2])
def test_the_wrong_listener_and_the_wrong_type(wire: Wire, controller_wire: Wire, version: int) -> None:
    assert cluster(wire, version, CONTROLLERS).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert cluster(controller_wire, version, BROKERS).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert cluster(wire, version, 3).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


# -- the quorum -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_the_quorum(wire: Wire, controller_wire: Wire, version: int) -> None:
    partitions = [DescribeQuorumRequestPartitionData(partition_index=0)]
    metadata = DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=partitions)
    for connection in (wire, controller_wire):
        response = connection.ask(DescribeQuorumRequest(topics=[metadata]), version)
        assert response.error_code == 0
        ((partition,),) = [each.partitions for each in response.topics]
        assert (partition.error_code, partition.leader_id) == (0, 1)
        assert partition.leader_epoch > 0
        assert partition.high_watermark > 0
        (voter,) = partition.current_voters
        assert (voter.replica_id, list(partition.observers)) == (1, [])
        assert voter.log_end_offset >= partition.high_watermark
        if version >= 2:
            (node,) = response.nodes
            assert [(each.name, each.host) for each in node.listeners] == [("CONTROLLER", "127.0.0.1")]


def test_only_the_metadata_has_a_quorum(wire: Wire) -> None:
    partitions = [DescribeQuorumRequestPartitionData(partition_index=0)]
    other = DescribeQuorumRequestTopicData(topic_name="other", partitions=partitions)
    ((partition,),) = [each.partitions for each in wire.ask(DescribeQuorumRequest(topics=[other]), 2).topics]
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- producers --------------------------------------------------------------------------------------------------------


def new_producer_id(wire: Wire, version: int = 4) -> int:
    for _ in eventually():
        response = wire.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), version)
        if response.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert (response.error_code, response.producer_epoch) == (0, 0)
    producer_id: int = response.producer_id
    return producer_id


def test_producer_ids_are_never_given_twice(wire: Wire, address: str) -> None:
    with Wire(address) as other:
        ids = [new_producer_id(each, version) for version in range(6) for each in (wire, other)]
        ids += [new_producer_id(wire) for _ in range(1_500)]
    assert len(set(ids)) == len(ids), "more than one block of a thousand"


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_half_a_producer(wire: Wire, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=1_000, producer_id=producer_id, producer_epoch=epoch
    )
    response = wire.ask(request, 4)
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


def producers(wire: Wire, topic: str, partition: int = 0) -> PartitionResponse:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
    ((answer,),) = [each.partitions for each in wire.ask(request, 0).topics]
    found: PartitionResponse = answer
    return found


def test_describe_producers(wire: Wire, address: str, topic: str) -> None:
    create_topic(address, topic)
    assert (producers(wire, topic).error_code, list(producers(wire, topic).active_producers)) == (0, [])
    producer_id = new_producer_id(wire)
    produce(wire, topic, 3, producer_id=producer_id, sequence=0)
    (state,) = producers(wire, topic).active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (producer_id, 0, 2)
    assert (state.last_timestamp, state.coordinator_epoch, state.current_txn_start_offset) == (1_002, -1, -1)


@pytest.mark.parametrize(
    ("name", "error"),
    [("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION)],
)
def test_producers_of_nothing(wire: Wire, name: str, error: ErrorCode) -> None:
    assert producers(wire, name).error_code == error


# -- epochs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 5))
def test_offset_for_leader_epoch(wire: Wire, address: str, topic: str, version: int) -> None:
    create_topic(address, topic)
    produce(wire, topic, 3)

    def ask(epoch: int, current: int = -1, name: str = topic) -> tuple[int, int, int]:
        asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
        topics = [OffsetForLeaderTopic(topic=name, partitions=[asked])]
        response = wire.ask(OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), version)
        ((answer,),) = [each.partitions for each in response.topics]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert ask(0) == ask(0, 0) == (0, 0, 3)
    assert ask(1) == (0, -1, -1), "not written here yet"
    assert ask(0, 7) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert ask(0, name="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


# -- deletion ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_delete_records(wire: Wire, address: str, topic: str, version: int) -> None:
    create_topic(address, topic)
    create_topic(address, f"{topic}-compacted", configs=[("cleanup.policy", "compact")])
    produce(wire, topic, 10)

    def ask(offset: int, partition: int = 0, name: str = topic) -> tuple[int, int]:
        asked = DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsPartition(partition_index=partition, offset=offset)]
        )
        response = wire.ask(DeleteRecordsRequest(topics=[asked], timeout_ms=BOUND_MS), version)
        ((answer,),) = [each.partitions for each in response.topics]
        return answer.error_code, answer.low_watermark

    assert ask(4) == (0, 4)
    assert ask(2) == (0, 4), "back is no way"
    assert ask(11) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert ask(-2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert ask(-1) == (0, 10), "up to the high watermark"
    assert ask(0, partition=7) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert ask(0, name="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert ask(0, name=f"{topic}-compacted") == (ErrorCode.POLICY_VIOLATION, -1)


# -- features ---------------------------------------------------------------------------------------------------------


def update(wire: Wire, version: int, *updates: FeatureUpdateKey, validate_only: bool = False) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(timeout_ms=BOUND_MS, feature_updates=updates, validate_only=validate_only)
    found: UpdateFeaturesResponse = wire.ask(request, version)
    return found


@pytest.mark.parametrize("version", range(3))
def test_features_that_cannot_be_updated(wire: Wire, version: int) -> None:
    for feature, level in (("no.such.feature", 1), ("metadata.version", 99)):
        response = update(
            wire, version, FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=UPGRADE)
        )
        if version < 2:
            codes = {result.error_code for result in response.results} | {response.error_code}
            assert codes - {0} <= {ErrorCode.INVALID_UPDATE_VERSION}
            assert codes - {0}
        else:
            assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
            assert feature in (response.error_message or "")


def test_an_update_to_the_same_level(wire: Wire) -> None:
    same = FeatureUpdateKey(feature="metadata.version", max_version_level=30, upgrade_type=UPGRADE)
    assert update(wire, 2, same).error_code == 0
    assert update(wire, 2, same, validate_only=True).error_code == 0


# -- elections --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("election_type", [0, 1])
def test_elections(wire: Wire, address: str, topic: str, version: int, election_type: int) -> None:
    create_topic(address, topic)
    asked = [TopicPartitions(topic=topic, partitions=[0, 5])]
    request = ElectLeadersRequest(election_type=election_type, topic_partitions=asked, timeout_ms=BOUND_MS)
    if version == 0 and election_type == 1:
        request.election_type = 0
    response = wire.ask(request, version)
    assert response.error_code == 0
    ((first, second),) = [each.partition_result for each in response.replica_election_results]
    assert {first.partition_id: first.error_code, second.partition_id: second.error_code} == {
        0: ErrorCode.ELECTION_NOT_NEEDED,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_an_election_of_everything(wire: Wire) -> None:
    response = wire.ask(ElectLeadersRequest(topic_partitions=None, timeout_ms=BOUND_MS), 2)
    assert response.error_code == 0
    assert [each for topic in response.replica_election_results for each in topic.partition_result] == []


# -- what is not for clients ------------------------------------------------------------------------------------------


def test_an_envelope_is_refused(wire: Wire) -> None:
    wire.send(EnvelopeRequest(request_data=b"", request_principal=b"", client_host_address=b"\x7f\0\0\1"), 0)
    assert wire.is_hung_up()
