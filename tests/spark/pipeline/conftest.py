"""A broker for the pipelines of a module, and what they are told."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.clients.sync import Consumer, Producer
from ottla.common.topic_partition import TopicPartition
from ottla.spark.pipeline.job import Job
from ottla.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Ottla's, in this process, with topics of two partitions, which keep records however old they say they are."""
    with Broker(num_partitions=2, log_retention_ms=-1) as running:
        yield running


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Job:
    """A run that ends when all is done that is there."""
    return Job(
        name=tmp_path.name,
        client={"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "5"},
        checkpoint=str(tmp_path / "checkpoint"),
        once=True,
    )


Fill = Callable[..., None]


@pytest.fixture
def fill(broker: Broker) -> Fill:
    """Send values to a topic, by turns to its partitions, so that offsets can be foretold."""

    def send(topic: str, *values: bytes | None, key: bytes | None = None) -> None:
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for number, value in enumerate(values):
                producer.send(topic, value, key=key, partition=number % 2, headers=[("trace", b"1")])
            producer.flush()

    return send


def read_topic(servers: str, topic: str) -> list[Any]:
    """Every record that is committed."""
    with Consumer(bootstrap_servers=servers, isolation_level="read_committed") as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        records: list[Any] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            records += consumer.poll(1000)
        return records
