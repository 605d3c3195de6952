"""Producers and consumers that live through a restart of the broker."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from kafka import KafkaProducer

from tests.interop.clients.client import BOUND_S, Sent
from tests.interop.clients.confluent_client import Confluent
from tests.interop.clients.conftest import PROPERTIES
from tests.interop.cluster import CLUSTERS, new_node
from tests.node import Node

BACKOFF_MS = 100


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka_cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node of these tests' own, which they stop and start."""
    with new_node(request.param, request, tmp_path_factory.mktemp("restarted"), PROPERTIES) as node:
        yield node


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_clients_go_on_after_a_restart(kafka_cluster: Node, topic: str, end: str) -> None:
    """One producer of each library, opened before, and one consumer; records before, while it is down, and after."""
    admin = Confluent(kafka_cluster.bootstrap)
    admin.create_topic(topic, 3)
    common = {
        "bootstrap.servers": kafka_cluster.bootstrap,
        "log_level": 2,
        "reconnect.backoff.max.ms": BACKOFF_MS,
        "metadata.recovery.strategy": "none",  # else it may forget the only broker while that is away
    }
    confluent = Producer(common | {"enable.idempotence": True, "linger.ms": 0})
    python = KafkaProducer(bootstrap_servers=kafka_cluster.bootstrap, reconnect_backoff_max_ms=BACKOFF_MS)
    consumer = Consumer(common | {"group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    async_producer = AsyncProducer(kafka_cluster.bootstrap)
    delivered: list[int | None] = []

    def keep(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        delivered.append(message.offset())

    def send(value: bytes) -> "list[object]":
        confluent.produce(topic, value, partition=0, on_delivery=keep)
        return [python.send(topic, value, partition=1), async_producer.send(topic, value, 2)]

    pending = send(b"before")
    assert confluent.flush(BOUND_S) == 0
    await_all(pending)
    getattr(kafka_cluster, end)()
    pending = send(b"while it is down")
    kafka_cluster.start()
    pending += send(b"after")
    assert confluent.flush(BOUND_S) == 0
    await_all(pending)

    assert delivered == [0, 1, 2]
    values = [b"before", b"while it is down", b"after"]
    for partition in range(3):
        assert [record.value for record in admin.consume(topic, partition=partition)] == values
    assert [message.value() for message in consumer.consume(3, BOUND_S)] == values
    consumer.close()
    python.close()
    async_producer.close()
    assert admin.produce(topic, [Sent(b"new")]) == [3]


def await_all(pending: "list[object]") -> None:
    for future in pending:
        get = getattr(future, "get", None) or future.result  # type: ignore[attr-defined]
        get(timeout=BOUND_S)


class AsyncProducer:
    """aiokafka's producer on an event loop in a thread."""

    def __init__(self, bootstrap: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

        async def start() -> AIOKafkaProducer:
            producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=0)
            await producer.start()
            return producer

        self._producer = asyncio.run_coroutine_threadsafe(start(), self._loop).result(BOUND_S)

    def send(self, topic: str, value: bytes, partition: int) -> object:
        work = self._producer.send_and_wait(topic, value, partition=partition)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._producer.stop(), self._loop).result(BOUND_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(BOUND_S)
        self._loop.close()
