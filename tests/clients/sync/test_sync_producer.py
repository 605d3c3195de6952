"""The producer for plain code, against a broker."""

import threading
from typing import Any

import pytest

from ottla.clients.errors import ClientClosedError, InvalidConfigError, KafkaTimeoutError, RecordTooLargeError
from ottla.clients.sync import Producer
from tests.clients.producer.produced import make_topic, values
from tests.node import Node


def producer(kafka: Node, **config: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap, **config)


def test_what_is_sent_arrives_in_order(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    with producer(kafka) as client:
        deliveries = [client.send(topic, b"%d" % number) for number in range(5_000)]
        client.flush()
        assert all(delivery.done() for delivery in deliveries)
        assert [delivery.result().offset for delivery in deliveries] == list(range(5_000))
        assert client.send_and_wait(topic, b"last", key=b"k", headers={"h": b"1"}, partition=0).offset == 5_000
        assert client.metrics()["record-send-total"] == 5_001
        assert [partition.partition for partition in client.partitions_for(topic)] == [0]
    assert values(kafka, topic) == [*(b"%d" % number for number in range(5_000)), b"last"]


def test_threads_share_it_and_keep_their_own_order(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    with producer(kafka, batch_size=1_000, buffer_memory=50_000) as client:

        def some(sender: int) -> None:
            for number in range(500):
                client.send(topic, b"%d:%d" % (sender, number))

        threads = [threading.Thread(target=some, args=(sender,)) for sender in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seen: dict[bytes, list[int]] = {}
    for value in values(kafka, topic):
        sender, _, number = (value or b"").partition(b":")
        seen.setdefault(sender, []).append(int(number))
    assert seen == {b"%d" % sender: list(range(500)) for sender in range(4)}


def test_errors_are_the_deliverys(kafka: Node, topic: str) -> None:
    with producer(kafka, max_request_size=1_000) as client:
        refused = client.send(topic, bytes(2_000))
        with pytest.raises(RecordTooLargeError):
            refused.result()
        assert isinstance(refused.exception(), RecordTooLargeError)
        with pytest.raises(ValueError, match="timestamp"):
            client.send(topic, b"v", timestamp_ms=-1).result()
        assert client.send(topic, b"v").exception() is None


def test_callbacks_and_a_wait_that_is_too_short(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    with producer(kafka, linger_ms=300) as client:
        called: list[int] = []
        ended = threading.Event()
        delivery = client.send(topic, b"v")
        delivery.add_done_callback(lambda done: called.append(done.result().offset))
        with pytest.raises(KafkaTimeoutError):
            delivery.result(0.001)
        assert delivery.result().offset == 0
        delivery.add_done_callback(lambda _: ended.set())
        assert ended.wait(10)
        assert called == [0]


def test_closing_delivers_and_ends(kafka: Node, topic: str) -> None:
    client = producer(kafka, linger_ms=60_000, delivery_timeout_ms=100_000)
    with pytest.raises(ClientClosedError):
        client.send(topic, b"v")
    client.start()
    delivery = client.send(topic, b"v")
    client.close()
    assert delivery.result().offset == 0
    client.close()
    with pytest.raises(ClientClosedError):
        client.send(topic, b"v")


def test_a_transaction_commits_and_an_exception_aborts_it(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    with producer(kafka, transactional_id=topic) as client:
        client.init_transactions()
        with client.transaction():
            kept = client.send(topic, b"kept")
        assert kept.result().offset == 0
        with pytest.raises(ZeroDivisionError), client.transaction():
            client.send(topic, b"aborted")
            raise ZeroDivisionError


def test_a_bad_configuration_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"linger\.ms"):
        Producer(bootstrap_servers="localhost:1", lingr_ms=1)
