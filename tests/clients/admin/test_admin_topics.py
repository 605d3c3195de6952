"""Topics through the admin client, against Ottla and Apache, beside confluent-kafka."""

import pytest
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient

from ottla.clients.admin import (
    AclOperation,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    TopicPartition,
)
from ottla.clients.errors import (
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    OffsetOutOfRangeError,
    TopicExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from tests.clients.admin.waiting import create, eventually
from tests.node import Node


def test_a_created_topic_is_what_was_asked_for(admin: Admin, topic: str) -> None:
    created = create(admin, [NewTopic(topic, 3, 1, configs={"retention.ms": "1234"})])[topic]
    assert (created.name, created.num_partitions, created.replication_factor) == (topic, 3, 1)
    assert created.configs is not None
    assert created.configs["retention.ms"].value == "1234"
    assert created.configs["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert created.configs["cleanup.policy"].is_default
    described = admin.describe_topics([topic])[topic]
    assert described.topic_id == created.topic_id != ZERO_UUID
    assert [each.partition for each in described.partitions] == [0, 1, 2]


def test_a_topic_without_numbers_gets_the_brokers(admin: Admin, topic: str) -> None:
    created = create(admin, [NewTopic(topic)])[topic]
    assert (created.num_partitions, created.replication_factor) == (2, 1)


def test_replicas_can_be_assigned(admin: Admin, topic: str) -> None:
    node_id = admin.describe_cluster().nodes[0].id
    created = admin.create_topics([NewTopic(topic, replica_assignments={0: [node_id], 1: [node_id]})])[topic]
    assert created.num_partitions == 2


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (NewTopic("no spaces please", 1), InvalidTopicError),
        (NewTopic("..", 1), InvalidTopicError),
        (NewTopic("x", 0), InvalidPartitionsError),
        (NewTopic("x", 1, 3), InvalidReplicationFactorError),
        (NewTopic("x", 1, configs={"retention.ms": "long"}), InvalidConfigError),
        (NewTopic("x", 1, configs={"no.such.key": "1"}), InvalidConfigError),
        (NewTopic("x", replica_assignments={0: [99]}), InvalidReplicaAssignmentError),
        (NewTopic("x", replica_assignments={1: [1]}), InvalidReplicaAssignmentError),
    ],
)
def test_what_makes_no_sense_is_refused(admin: Admin, wrong: NewTopic, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        admin.create_topics([wrong])
    assert wrong.name not in admin.list_topics()


def test_each_topic_succeeds_or_fails_alone(admin: Admin, topic: str) -> None:
    create(admin, [NewTopic(topic)])
    results = admin.create_topics([NewTopic(topic), NewTopic(topic + "-b"), NewTopic("a b")], raise_errors=False)
    assert list(results) == [topic, topic + "-b", "a b"]
    assert isinstance(results[topic], TopicExistsError)
    assert isinstance(results["a b"], InvalidTopicError)
    eventually(lambda: topic + "-b" in admin.list_topics())
    with pytest.raises(TopicExistsError, match=topic):
        admin.create_topics([NewTopic(topic)])


def test_validate_only_creates_nothing(admin: Admin, topic: str) -> None:
    would = admin.create_topics([NewTopic(topic, 5)], validate_only=True)[topic]
    assert would.num_partitions == 5
    assert topic not in admin.list_topics()
    admin.create_topics([NewTopic(topic, 1)])
    with pytest.raises(TopicExistsError):
        admin.create_topics([NewTopic(topic, 1)], validate_only=True)


def test_deleted_topics_are_gone(admin: Admin, topic: str) -> None:
    created = create(admin, [NewTopic(topic), NewTopic(topic + "-b")])
    assert admin.delete_topics([topic]) == {topic: None}
    by_id = created[topic + "-b"].topic_id
    assert admin.delete_topics_by_id([by_id]) == {by_id: None}
    eventually(lambda: not {topic, topic + "-b"} & set(admin.list_topics()))
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])
    results = admin.delete_topics_by_id([by_id, Uuid(b"x" * 16)], raise_errors=False)
    assert all(isinstance(each, UnknownTopicIdError) for each in results.values())


def test_internal_topics_are_listed_if_asked_for(admin: Admin, kafka: Node, topic: str) -> None:
    create(admin, [NewTopic(topic)])
    admin.fence_producers([topic])  # makes the broker create __transaction_state
    assert "__transaction_state" not in admin.list_topics()
    eventually(lambda: "__transaction_state" in admin.list_topics(include_internal=True))
    assert admin.list_topics(include_internal=True)["__transaction_state"].is_internal
    assert set(admin.list_topics(include_internal=True)) == set(
        AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=10).topics
    )


def test_descriptions_agree_with_confluents(admin: Admin, confluent: AdminClient, topic: str) -> None:
    create(admin, [NewTopic(topic, 3)])
    ours = admin.describe_topics([topic], include_authorized_operations=True)[topic]
    theirs = confluent.describe_topics(TopicCollection([topic]), include_authorized_operations=True)[topic].result(10)
    their_id = str(theirs.topic_id).replace("/", "_").replace("+", "-")  # another base64
    assert (ours.name, str(ours.topic_id), ours.is_internal) == (theirs.name, their_id, theirs.is_internal)
    assert ours.authorized_operations is not None
    assert {each.name for each in ours.authorized_operations} == {each.name for each in theirs.authorized_operations}
    assert AclOperation.READ in ours.authorized_operations
    for mine, other in zip(ours.partitions, theirs.partitions, strict=True):
        assert (mine.partition, mine.leader_id) == (other.id, other.leader.id)
        assert mine.replicas == tuple(node.id for node in other.replicas)
        assert mine.isr == tuple(node.id for node in other.isr)
    assert admin.describe_topics([topic])[topic].authorized_operations is None


def test_a_long_description_comes_in_pages(admin: Admin, topic: str) -> None:
    create(admin, [NewTopic(topic, 5), NewTopic(topic + "-b", 4)])
    whole = admin.describe_topics([topic, topic + "-b"])
    paged = admin.describe_topics([topic + "-b", topic, "no-such-topic"], partition_limit=2, raise_errors=False)
    assert {name: paged[name] for name in whole} == whole
    assert isinstance(paged["no-such-topic"], UnknownTopicOrPartitionError)


def test_topics_are_described_by_id(admin: Admin, topic: str) -> None:
    topic_id = create(admin, [NewTopic(topic, 2)])[topic].topic_id
    described = admin.describe_topics_by_id([topic_id, Uuid(b"y" * 16)], raise_errors=False)
    found = described[topic_id]
    assert not isinstance(found, KafkaError)
    assert (found.name, len(found.partitions)) == (topic, 2)
    assert isinstance(described[Uuid(b"y" * 16)], UnknownTopicIdError)


def test_an_unknown_topic_is_not_created_by_asking(admin: Admin) -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.describe_topics(["asked-for-only"])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.list_offsets({TopicPartition("asked-for-only", 0): OffsetSpec.latest()})
    assert "asked-for-only" not in admin.list_topics()


def test_partitions_are_added(admin: Admin, topic: str) -> None:
    create(admin, [NewTopic(topic, 1)])
    assert admin.create_partitions({topic: 3}, validate_only=True) == {topic: None}
    assert len(admin.describe_topics([topic])[topic].partitions) == 1
    assert admin.create_partitions({topic: 3}) == {topic: None}
    eventually(lambda: len(admin.describe_topics([topic])[topic].partitions) == 3)
    node_id = admin.describe_cluster().nodes[0].id
    admin.create_partitions({topic: NewPartitions(4, [[node_id]])})
    eventually(lambda: len(admin.describe_topics([topic])[topic].partitions) == 4)


def test_partitions_cannot_be_taken_away(admin: Admin, topic: str) -> None:
    create(admin, [NewTopic(topic, 3)])
    results = admin.create_partitions({topic: 2, "no-such-topic": 2}, raise_errors=False)
    assert isinstance(results[topic], InvalidPartitionsError)
    assert isinstance(results["no-such-topic"], UnknownTopicOrPartitionError)
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({topic: 3})
    with pytest.raises(InvalidReplicaAssignmentError):
        admin.create_partitions({topic: NewPartitions(4, [[99]])})


def test_records_are_deleted(admin: Admin, kafka: Node, topic: str) -> None:
    create(admin, [NewTopic(topic, 2)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(10):
        producer.produce(topic, str(number).encode(), partition=number % 2)
    assert producer.flush(10) == 0
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    deleted = admin.delete_records({zero: 3, one: -1})
    assert (deleted[zero].low_watermark, deleted[one].low_watermark) == (3, 5)
    earliest = admin.list_offsets({zero: OffsetSpec.earliest(), one: OffsetSpec.earliest()})
    assert (earliest[zero].offset, earliest[one].offset) == (3, 5)
    failed = admin.delete_records({zero: 6, TopicPartition(topic, 7): 0}, raise_errors=False)
    assert isinstance(failed[zero], OffsetOutOfRangeError)
    assert isinstance(failed[TopicPartition(topic, 7)], UnknownTopicOrPartitionError)
