"""What each client library's admin client does with topics, partitions and configs, and what it is refused."""

import pytest

from tests.interop.clients.aiokafka_client import Aiokafka
from tests.interop.clients.client import Client, ErrorCode, RefusedError, Sent
from tests.node import CLUSTER_ID, Node


def refused(act: object, *arguments: object) -> int:
    """The error code of a call that is refused."""
    with pytest.raises(RefusedError) as caught:
        act(*arguments)  # type: ignore[operator]
    return caught.value.code


def test_a_topics_life(client: Client, topic: str) -> None:
    client.create_topic(topic, 3)
    assert topic in client.topics()
    assert client.partitions(topic) == [0, 1, 2]
    assert client.produce(topic, [Sent(b"x")], partition=2) == [0]
    client.create_partitions(topic, 5)
    assert client.partitions(topic) == [0, 1, 2, 3, 4]
    assert client.produce(topic, [Sent(b"x")], partition=4) == [0]
    client.delete_topic(topic)
    assert topic not in client.topics()
    client.create_topic(topic)
    assert client.partitions(topic) == [0]
    assert client.watermarks(topic) == (0, 0)


def test_configs(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"retention.ms": "86400000", "cleanup.policy": "compact,delete"})
    configs = client.topic_configs(topic)
    assert configs["retention.ms"] == "86400000"
    assert configs["cleanup.policy"] == "compact,delete"
    assert configs["min.insync.replicas"] == "1"
    assert configs["compression.type"] == "producer"
    client.set_topic_configs(topic, {"retention.ms": "1000", "max.message.bytes": "4096"})
    configs = client.topic_configs(topic)
    assert configs["retention.ms"] == "1000"
    assert configs["max.message.bytes"] == "4096"
    assert configs["cleanup.policy"] == ("delete" if isinstance(client, Aiokafka) else "compact,delete")
    assert refused(client.produce, topic, [Sent(b"x" * 10_000)]) == ErrorCode.MESSAGE_TOO_LARGE


def test_refusals(client: Client, topic: str) -> None:
    client.create_topic(topic, 2)
    assert refused(client.create_topic, topic) == ErrorCode.TOPIC_ALREADY_EXISTS
    assert refused(client.create_topic, "not a name") == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused(client.create_topic, f"{topic}-x", 1, {"retention.ms": "soon"}) == ErrorCode.INVALID_CONFIG
    assert refused(client.create_topic, f"{topic}-x", 1, {"no.such.config": "1"}) == ErrorCode.INVALID_CONFIG
    assert refused(client.create_topic, f"{topic}-x", 0) == ErrorCode.INVALID_PARTITIONS
    assert f"{topic}-x" not in client.topics()
    assert refused(client.create_partitions, topic, 1) == ErrorCode.INVALID_PARTITIONS
    assert refused(client.set_topic_configs, topic, {"cleanup.policy": "shred"}) == ErrorCode.INVALID_CONFIG
    assert client.topic_configs(topic)["cleanup.policy"] == "delete"


def test_a_topic_that_is_not_there(client: Client) -> None:
    assert refused(client.delete_topic, "nowhere") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(client.create_partitions, "nowhere", 3) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(client.topic_configs, "nowhere") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_deleting_records(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Sent(b"%d" % number) for number in range(10)])
    client.delete_records(topic, 4)
    assert client.watermarks(topic) == (4, 10)
    assert refused(client.delete_records, topic, 11) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert [record.offset for record in client.consume(topic)] == [4, 5, 6, 7, 8, 9]


def test_the_cluster(client: Client, kafka_cluster: Node) -> None:
    assert client.cluster() == (CLUSTER_ID, [(1, "127.0.0.1", kafka_cluster.ports.broker)])
