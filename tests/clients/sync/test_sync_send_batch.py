"""``send_batch`` from plain code, against a broker."""

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from ottla.clients.errors import BufferExhaustedError, ClientClosedError, KafkaTimeoutError, RecordTooLargeError
from ottla.clients.sync import Producer
from tests.clients.admin.waiting import attempts
from tests.clients.producer.produced import make_topic, values
from tests.node import Node


def test_tables_lists_and_generators_in_order(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    readers: set[int] = set()

    def rows() -> Iterator[bytes]:
        for number in range(20_000):
            readers.add(threading.get_ident())
            yield b"%d" % number

    with Producer(bootstrap_servers=kafka.bootstrap) as client:
        client.send(topic, b"before")
        generated = client.send_batch(topic, rows())
        table = client.send_batch(topic, pa.table({"value": ["a", "b"]}))
        pairs = client.send_batch(topic, [(b"k", b"c")], partition=0)
        assert client.send_batch(topic, iter(())).result().count == 0
        client.send(topic, b"after")
        assert generated.count == 20_000
        assert generated.result().offsets().tolist() == list(range(1, 20_001))
        assert table.result().offsets().tolist() == [20_001, 20_002]
        assert pairs.failures() == []
        assert pairs.done()
        assert not pairs.is_cut_short
    assert readers == {threading.get_ident()}
    assert values(kafka, topic) == [b"before", *(b"%d" % n for n in range(20_000)), b"a", b"b", b"c", b"after"]
    with pytest.raises(ClientClosedError):
        client.send_batch(topic, [b"late"])


def test_rows_that_fail_are_named_across_what_was_read(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    with Producer(bootstrap_servers=kafka.bootstrap, max_request_size=1_000) as client:
        delivery = client.send_batch(topic, (bytes(2_000) if n == 9_000 else b"%d" % n for n in range(10_000)))
        with pytest.raises(RecordTooLargeError) as caught:
            delivery.result()
        assert caught.value.__notes__ == ["1 of 10000 rows were not delivered: 9000"]
        assert [list(failure.rows) for failure in delivery.failures()] == [[9_000]]
    assert values(kafka, topic) == [b"%d" % n for n in range(10_000) if n != 9_000]


def test_a_broker_that_stands_still(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic)
    read = 0

    def rows() -> Iterator[bytes]:
        nonlocal read
        for _ in range(100_000):
            read += 1
            yield bytes(100)

    with Producer(bootstrap_servers=kafka.bootstrap, buffer_memory=200_000, max_block_ms=200) as client:
        for _ in attempts("Getting the metadata"):
            try:
                client.partitions_for(topic)
            except KafkaTimeoutError:
                continue
            break
        client.send_and_wait(topic, b"")
        with kafka.paused():
            delivery = client.send_batch(topic, rows())
            with pytest.raises(KafkaTimeoutError, match="not known"):
                delivery.result(timeout_s=0.05)
        with pytest.raises(BufferExhaustedError):
            delivery.result()
        assert delivery.is_cut_short
        assert delivery.count == read < 100_000
        failed = [row for failure in delivery.failures() for row in failure.rows]
        assert failed == list(range(failed[0], read))
    assert len(values(kafka, topic)) == failed[0] + 1
