"""Mirrors: what arrives is what was there, in its order, once; and what cannot work is told before."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ottla.clients.admin.topics import NewTopic
from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.clients.sync import Admin, Producer
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.mirror import Mirror, MirrorError, mirror_on, missing_topics
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.testing import Broker
from tests.spark.pipeline.conftest import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAID: list[str] = []


@pytest.fixture(scope="module")
def other() -> Iterator[Broker]:
    with Broker(log_retention_ms=-1) as running:
        yield running


def write(servers: str, topic: str, numbers: range, **producer: Any) -> None:
    with Producer(bootstrap_servers=servers, linger_ms=5, **producer) as sender:
        for number in numbers:
            sender.send(
                topic,
                None if number % 11 == 0 else f"value {number}".encode(),
                key=None if number % 5 == 0 else b"k%d" % (number % 3),
                headers=[("n", b"%d" % number), ("none", None)] if number % 2 else None,
                partition=number % 3,
                timestamp_ms=1_790_000_000_000 + number,
            )


def contents(servers: str, topic: str) -> dict[int, list[tuple[Any, ...]]]:
    """By partition, in order, all but the offsets."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for record in sorted(read_topic(servers, topic), key=lambda each: each.offset):
        row = (record.key, record.value, tuple(record.headers), record.timestamp_ms)
        found.setdefault(record.partition, []).append(row)
    return found


def run(spark: "SparkSession", job: Job, work: Mirror) -> None:
    missing_topics(job, work)
    mirror_on(spark, job, work, StopRequest(), say=SAID.append)


def make(servers: str, topic: str, partitions: int, **configs: str) -> None:
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=partitions, configs=configs)])


def test_a_mirror_on_another_cluster_is_the_same_over_two_runs(
    spark: "SparkSession", job: Job, broker: Broker, other: Broker
) -> None:
    make(broker.bootstrap_servers, "orders", 3, **{"retention.ms": "-1", "max.message.bytes": "2000000"})
    target = replace(job, client={"bootstrap.servers": other.bootstrap_servers})
    work = Mirror({"orders": "orders"}, target, max_offsets=40)
    write(broker.bootstrap_servers, "orders", range(100))
    run(spark, job, work)
    write(broker.bootstrap_servers, "orders", range(100, 130), compression_type="zstd")
    run(spark, job, work)

    there = contents(other.bootstrap_servers, "orders")
    assert there == contents(broker.bootstrap_servers, "orders")
    assert sum(map(len, there.values())) == 130
    assert "created the topic orders with 3 partitions" in SAID
    with Admin(bootstrap_servers=other.bootstrap_servers) as admin:
        from ottla.clients.admin.configs import ConfigResource, ConfigResourceType

        (configs,) = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "orders")]).values()
        assert (configs["max.message.bytes"].value, configs["retention.ms"].value) == ("2000000", "-1")


def test_topics_are_mirrored_under_other_names_and_aborted_records_are_not(
    spark: "SparkSession", job: Job, broker: Broker
) -> None:
    for topic in ("left", "right"):
        make(broker.bootstrap_servers, topic, 3)
        write(broker.bootstrap_servers, topic, range(6))
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id="t") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("left", b"aborted", partition=0)
        producer.flush()
        producer.abort_transaction()
    run(spark, job, Mirror({"left": "copy.left", "right": "copy.right"}))
    for topic in ("left", "right"):
        assert contents(broker.bootstrap_servers, f"copy.{topic}") == contents(broker.bootstrap_servers, topic)
    assert sum(map(len, contents(broker.bootstrap_servers, "copy.left").values())) == 6


def test_what_cannot_be_mirrored_is_told_before_spark_starts(job: Job, broker: Broker) -> None:
    servers = broker.bootstrap_servers
    make(servers, "wide", 4)
    make(servers, "narrow", 2)
    make(servers, "timed", 4, **{"message.timestamp.type": "LogAppendTime"})

    def prepare(work: Mirror) -> None:
        missing_topics(job, work)

    with pytest.raises(MirrorError, match="narrow has 2 partitions and wide has 4: add partitions, or"):
        prepare(Mirror({"wide": "narrow"}))
    prepare(Mirror({"wide": "narrow"}, keeps_partitions=False))
    with pytest.raises(MirrorError, match=r"timed has message\.timestamp\.type=LogAppendTime"):
        prepare(Mirror({"wide": "timed"}))
    prepare(Mirror({"wide": "timed"}, keeps_timestamps=False))
    with pytest.raises(UnknownTopicOrPartitionError, match=r"topic wied does not exist .* did you mean wide"):
        prepare(Mirror({"wied": "x"}))
    with pytest.raises(MirrorError, match="choose another name"):
        Mirror({"wide": "wide"})
    with pytest.raises(MirrorError, match="two topics would become one"):
        Mirror({"wide": "x", "narrow": "x"})
