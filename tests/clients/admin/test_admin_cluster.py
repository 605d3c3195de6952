"""The cluster, its nodes' directories, its features and its quorum through the admin client, on Ottla and Apache."""

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from ottla.clients.admin import (
    AclOperation,
    ElectionType,
    FeatureUpdate,
    FeatureUpgradeType,
    NewTopic,
    RaftVoterEndpoint,
    TopicPartition,
    TopicPartitionReplica,
)
from ottla.clients.errors import (
    BrokerIdNotRegisteredError,
    BrokerNotAvailableError,
    ElectionNotNeededError,
    FeatureUpdateFailedError,
    InvalidUpdateVersionError,
    LogDirNotFoundError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import VersionRange
from tests.clients.admin.waiting import create
from tests.node import CLUSTER_ID, Node


def test_the_cluster_agrees_with_confluents(admin: Admin, kafka: Node, confluent: AdminClient) -> None:
    ours = admin.describe_cluster(include_authorized_operations=True)
    theirs = confluent.describe_cluster(include_authorized_operations=True).result(10)
    assert ours.cluster_id == theirs.cluster_id == CLUSTER_ID
    assert [(node.id, node.host, node.port) for node in ours.nodes] == [
        (node.id, node.host, node.port) for node in theirs.nodes
    ]
    assert ours.controller_id == theirs.controller.id
    assert ours.controller == ours.nodes[0]
    assert ours.nodes[0].port == kafka.ports.broker
    assert not ours.nodes[0].is_fenced
    assert ours.authorized_operations is not None
    assert {each.name for each in ours.authorized_operations} == {each.name for each in theirs.authorized_operations}
    assert AclOperation.ALTER in ours.authorized_operations
    assert admin.describe_cluster().authorized_operations is None
    assert admin.describe_cluster(include_fenced_brokers=True).nodes == ours.nodes


def test_what_a_node_speaks(admin: Admin) -> None:
    node_id = admin.describe_cluster().nodes[0].id
    described = admin.describe_api_versions(node_id)
    assert described.node_id == node_id
    assert described.versions[ApiKey.CREATE_TOPICS] == VersionRange(2, 7)
    with pytest.raises(BrokerNotAvailableError, match="99"):
        admin.describe_api_versions(99)


def test_a_broker_that_never_was_cannot_be_unregistered(admin: Admin) -> None:
    with pytest.raises(BrokerIdNotRegisteredError):
        admin.unregister_broker(99)


def test_directories_and_what_is_in_them(admin: Admin, kafka: Node, topic: str) -> None:
    create(admin, [NewTopic(topic, 2)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(topic, b"x" * 1000, partition=0)
    assert producer.flush(10) == 0
    node_id = admin.describe_cluster().nodes[0].id
    directories = admin.describe_log_dirs()[node_id]
    assert set(directories) == {str(kafka.log_dir)}
    directory = directories[str(kafka.log_dir)]
    assert directory.error is None
    assert not directory.is_cordoned
    assert directory.total_bytes is not None
    assert directory.usable_bytes is not None
    assert directory.total_bytes >= directory.usable_bytes > 0
    replica = directory.replicas[TopicPartition(topic, 0)]
    segment = kafka.partition_dir(topic) / "00000000000000000000.log"
    assert (replica.size_bytes, replica.offset_lag, replica.is_future) == (segment.stat().st_size, 0, False)
    assert directory.replicas[TopicPartition(topic, 1)].size_bytes == 0


def test_directories_of_some_partitions(admin: Admin, kafka: Node, topic: str) -> None:
    create(admin, [NewTopic(topic, 2)])
    node_id = admin.describe_cluster().nodes[0].id
    only = admin.describe_log_dirs([node_id], partitions=[TopicPartition(topic, 1)])[node_id][str(kafka.log_dir)]
    assert set(only.replicas) == {TopicPartition(topic, 1)}
    mixed = admin.describe_log_dirs([node_id, 99], raise_errors=False)
    assert isinstance(mixed[99], BrokerNotAvailableError)
    assert not isinstance(mixed[node_id], KafkaError)


def test_replicas_move_only_to_directories_that_exist(admin: Admin, kafka: Node, topic: str) -> None:
    create(admin, [NewTopic(topic, 1)])
    node_id = admin.describe_cluster().nodes[0].id
    here, nowhere = TopicPartitionReplica(topic, 0, node_id), TopicPartitionReplica("no-such-topic", 0, node_id)
    elsewhere = TopicPartitionReplica(topic, 0, 99)
    assert admin.alter_replica_log_dirs({here: str(kafka.log_dir)}) == {here: None}
    with pytest.raises(LogDirNotFoundError):
        admin.alter_replica_log_dirs({here: "/no/such/directory"})
    results = admin.alter_replica_log_dirs(
        {here: str(kafka.log_dir), nowhere: str(kafka.log_dir), elsewhere: str(kafka.log_dir)}, raise_errors=False
    )
    assert results[here] is None
    assert isinstance(results[elsewhere], BrokerNotAvailableError)


def test_features(admin: Admin) -> None:
    node_id = admin.describe_cluster().nodes[0].id
    features = admin.describe_features()
    assert features.finalized["metadata.version"].highest == 30
    assert features.supported["metadata.version"].highest >= 30
    assert features.finalized_epoch is not None
    assert admin.describe_features(node_id).finalized == features.finalized


def test_feature_updates(admin: Admin) -> None:
    current = admin.describe_features().finalized["group.version"].highest
    assert admin.update_features({"group.version": FeatureUpdate(current)}) == {"group.version": None}
    down = FeatureUpdate(0, FeatureUpgradeType.SAFE_DOWNGRADE)
    assert admin.update_features({"group.version": down}, validate_only=True) == {"group.version": None}
    assert admin.describe_features().finalized["group.version"].highest == current
    for name, wrong in (
        ("group.version", FeatureUpdate(99)),
        ("group.version", FeatureUpdate(0)),
        ("no.such.feature", FeatureUpdate(1)),
    ):
        with pytest.raises((InvalidUpdateVersionError, FeatureUpdateFailedError)):
            admin.update_features({name: wrong})
    both = admin.update_features(
        {"group.version": FeatureUpdate(current), "no.such.feature": FeatureUpdate(1)}, raise_errors=False
    )
    assert isinstance(both["no.such.feature"], KafkaError)


def test_the_quorum(admin: Admin, kafka: Node) -> None:
    node_id = admin.describe_cluster().nodes[0].id
    quorum = admin.describe_metadata_quorum()
    assert quorum.leader_id == node_id
    assert quorum.leader_epoch >= 1
    assert quorum.high_watermark > 0
    assert [voter.replica_id for voter in quorum.voters] == [node_id]
    assert quorum.voters[0].log_end_offset >= quorum.high_watermark
    assert quorum.observers == ()
    assert [endpoint.port for endpoint in quorum.nodes[node_id]] == [kafka.ports.controller]


def test_an_election_that_is_not_needed(admin: Admin, topic: str) -> None:
    create(admin, [NewTopic(topic, 2)])
    assert admin.elect_leaders(ElectionType.PREFERRED) == {}
    zero, missing = TopicPartition(topic, 0), TopicPartition("no-such-topic", 0)
    results = admin.elect_leaders(ElectionType.PREFERRED, [zero, missing], raise_errors=False)
    assert isinstance(results[zero], ElectionNotNeededError)
    assert isinstance(results[missing], UnknownTopicOrPartitionError)
    with pytest.raises(ElectionNotNeededError):
        admin.elect_leaders(ElectionType.UNCLEAN, [zero])


def test_voters_are_checked(admin: Admin) -> None:
    with pytest.raises(KafkaError):
        admin.add_raft_voter(
            7, Uuid(b"d" * 16), [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 1)], cluster_id="another", timeout_ms=5000
        )
    with pytest.raises(KafkaError):
        admin.remove_raft_voter(7, Uuid(b"d" * 16), timeout_ms=5000)
