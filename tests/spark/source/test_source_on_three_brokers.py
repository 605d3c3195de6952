"""A stream's reader while leaders change, and die; on Apache's brokers (`make interop`), Ottla has no cluster yet."""

import time
from collections.abc import Iterator

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Producer
from ottla.common.topic_partition import TopicPartition
from ottla.spark.columns import DEFAULT_COLUMNS, schema_of
from ottla.spark.source.stream_reader import make_stream_reader
from tests.interop.cluster import running_cluster
from tests.node_cluster import NodeCluster
from tests.spark.source.conftest import PROPERTIES

PARTITIONS = 6
ALL = ReadAllAvailable()


@pytest.fixture(scope="module", params=["apache"])
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeCluster]:
    properties = {**PROPERTIES, "broker.session.timeout.ms": "6000"}
    with running_cluster(request, tmp_path_factory, properties, 3) as cluster:
        yield cluster


def test_offsets_are_found_while_leaders_die(brokers: NodeCluster) -> None:
    with (
        Admin(bootstrap_servers=brokers.bootstrap) as admin,
        Producer(bootstrap_servers=brokers.bootstrap, acks="all") as producer,
    ):
        admin.create_topics([NewTopic("t", PARTITIONS, 3)])
        options = {
            "kafka.bootstrap.servers": brokers.bootstrap,
            "subscribe": "t",
            "startingOffsets": "earliest",
            "commitOffsetsToGroup": "seen",
        }
        reader = make_stream_reader(options, schema_of(DEFAULT_COLUMNS))
        position = reader.initialOffset()
        for number, node in enumerate(brokers.nodes.values(), 1):
            node.kill()
            for partition in range(PARTITIONS):
                producer.send("t", b"value", partition=partition)
            producer.flush()
            position = reader.latestOffset(position, ALL)
            assert position == {"t": {str(partition): number for partition in range(PARTITIONS)}}
            node.start()
        reader.latestOffset(position, ALL)
        deadline = time.monotonic() + 60
        while len(set(_committed(admin))) != 1 or _committed(admin)[0] != len(brokers.nodes):
            assert time.monotonic() < deadline, _committed(admin)
            reader.latestOffset(position, ALL)
            time.sleep(0.2)
        reader.stop()


def _committed(admin: Admin) -> list[int]:
    found = admin.list_group_offsets("seen", [TopicPartition("t", index) for index in range(PARTITIONS)])
    return [-1 if place is None else place.offset for place in found.values()]
