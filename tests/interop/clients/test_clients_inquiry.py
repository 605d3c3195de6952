"""What kafka-python, whose admin client speaks more APIs than the others', is told about a cluster."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import InvalidUpdateVersionError

from tests.interop.clients.client import Sent
from tests.interop.clients.kafka_python_client import KafkaPython
from tests.node import Node

# Of the APIs that a broker has without groups, transactions and security; Apache's ranges.
API_VERSIONS = {
    0: (0, 13),  # Produce
    1: (4, 18),  # Fetch
    2: (1, 11),  # ListOffsets
    3: (0, 13),  # Metadata
    18: (0, 4),  # ApiVersions
    19: (2, 7),  # CreateTopics
    20: (1, 6),  # DeleteTopics
    21: (0, 2),  # DeleteRecords
    22: (0, 5),  # InitProducerId
    23: (2, 4),  # OffsetForLeaderEpoch
    32: (1, 4),  # DescribeConfigs
    33: (0, 2),  # AlterConfigs
    34: (1, 2),  # AlterReplicaLogDirs
    35: (1, 5),  # DescribeLogDirs
    37: (0, 3),  # CreatePartitions
    44: (0, 1),  # IncrementalAlterConfigs
    55: (0, 2),  # DescribeQuorum
    57: (0, 2),  # UpdateFeatures
    60: (0, 2),  # DescribeCluster
    61: (0, 0),  # DescribeProducers
    74: (0, 1),  # ListConfigResources
    75: (0, 0),  # DescribeTopicPartitions
}
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5


@pytest.fixture
def admin(kafka_cluster: Node) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=kafka_cluster.bootstrap)
    yield client
    client.close()


@pytest.fixture
def written(kafka_cluster: Node, topic: str) -> str:
    """A topic of two partitions with three records of an idempotent producer in the first."""
    client = KafkaPython(kafka_cluster.bootstrap)
    client.create_topic(topic, 2, {"retention.ms": "-1"})
    records = [Sent(b"x", timestamp_ms=1000 + each % 2) for each in range(3)]
    client.produce(topic, records, idempotent=True)
    return topic


def test_versions(admin: Any) -> None:
    offered = {int(key): versions for key, versions in admin.api_versions().items()}
    assert {key: offered.get(key) for key in API_VERSIONS} == API_VERSIONS


def test_features(admin: Any) -> None:
    features = admin.describe_features()
    assert features["metadata.version"]["supported"] == (7, 30)
    assert features["metadata.version"]["finalized"] == (30, 30)
    assert features["kraft.version"]["finalized"] == (1, 1)
    assert features["transaction.version"]["supported"] == (0, 2)
    with pytest.raises(InvalidUpdateVersionError, match=r"Invalid update version 99 for feature metadata\.version"):
        admin.update_features({"metadata.version": 99})


def test_the_quorum(admin: Any, kafka_cluster: Node) -> None:
    quorum = admin.describe_metadata_quorum()
    (topic,) = quorum["topics"]
    (partition,) = topic["partitions"]
    (voter,) = partition["current_voters"]
    assert topic["topic_name"] == "__cluster_metadata"
    assert (partition["leader_id"], voter["replica_id"], partition["observers"]) == (1, 1, [])
    assert UUID(voter["replica_directory_id"]).int > 2
    assert 0 < partition["high_watermark"] <= voter["log_end_offset"]
    (node,) = quorum["nodes"]
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": kafka_cluster.ports.controller}
    assert (node["node_id"], node["listeners"]) == (1, [listener])


def test_log_dirs(admin: Any, kafka_cluster: Node, written: str) -> None:
    (broker,) = admin.describe_log_dirs()
    (log_dir,) = broker["log_dirs"]
    assert (broker["broker"], log_dir["error_code"], log_dir["log_dir"]) == (1, 0, str(kafka_cluster.log_dir))
    assert 0 < log_dir["usable_bytes"] <= log_dir["total_bytes"]
    (partitions,) = (topic["partitions"] for topic in log_dir["topics"] if topic["name"] == written)
    sizes = {each["partition_index"]: each["partition_size"] for each in partitions}
    log = kafka_cluster.partition_dir(written) / f"{0:020}.log"
    assert sizes == {0: log.stat().st_size, 1: 0}
    assert all((each["offset_lag"], each["is_future_key"]) == (0, False) for each in partitions)


def test_topic_partitions(admin: Any, written: str) -> None:
    answer = admin.describe_topic_partitions([written], response_partition_limit=1)
    (topic,) = answer["topics"]
    assert [each["partition_index"] for each in topic["partitions"]] == [0]
    assert answer["next_cursor"] == {"topic_name": written, "partition_index": 1}
    answer = admin.describe_topic_partitions([written, "nowhere"])
    nowhere, topic = sorted(answer["topics"], key=lambda each: each["name"] == written)
    assert nowhere["error_code"] == 3
    assert answer["next_cursor"] is None
    for index, partition in enumerate(topic["partitions"]):
        expected: dict[str, Any] = {"error_code": 0, "partition_index": index, "leader_id": 1, "leader_epoch": 0}
        expected |= {"replica_nodes": [1], "isr_nodes": [1], "offline_replicas": []}
        assert {key: partition[key] for key in expected} == expected


def test_topics_with_authorized_operations(admin: Any, written: str) -> None:
    (topic,) = admin.describe_topics([written])
    assert UUID(str(topic["topic_id"])).int > 1
    assert topic["is_internal"] is False
    assert set(topic["authorized_operations"]) == {
        "READ",
        "WRITE",
        "CREATE",
        "DELETE",
        "ALTER",
        "DESCRIBE",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
    }


def test_producers(admin: Any, written: str) -> None:
    partition = TopicPartition(written, 0)
    (producer,) = admin.describe_producers([partition])[partition].active_producers
    assert producer.producer_id >= 0
    assert (producer.producer_epoch, producer.last_sequence) == (0, 2)
    assert (producer.coordinator_epoch, producer.current_transaction_start_offset) == (-1, -1)


def test_config_resources(admin: Any, written: str) -> None:
    resources = admin.list_config_resources()
    assert written in resources["topic"]
    assert resources["broker"] == ["1"]


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(LATEST, 3), (EARLIEST, 0), (MAX_TIMESTAMP, 1), (EARLIEST_LOCAL, 0), (LATEST_TIERED, -1), (1001, 1), (2000, -1)],
)
def test_offsets_by_special_timestamps(admin: Any, written: str, timestamp: int, offset: int) -> None:
    partition = TopicPartition(written, 0)
    assert admin.list_partition_offsets({partition: timestamp})[partition].offset == offset
