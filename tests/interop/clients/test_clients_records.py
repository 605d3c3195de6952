"""What each client library produces and consumes, by assignment."""

import time
from collections.abc import Sequence

import pytest

from tests.interop.clients.client import Client, ErrorCode, RefusedError, Sent
from tests.interop.clients.conftest import PYTHON_CLIENTS
from tests.node import Node

HOUR_MS = 3_600_000
NOW_MS = int(time.time() * 1000)
RECORDS = [
    Sent(b"plain"),
    Sent(b"with a key", b"key"),
    Sent(None, b"tombstone"),
    Sent(b"", b""),
    Sent(b"with headers", b"key", (("one", b"1"), ("two", b""), ("one", b"again"))),
    Sent(b"with its own time", None, (), NOW_MS - HOUR_MS),
    Sent(bytes(range(256)) * 40, b"key"),
]


def seen(records: Sequence[object]) -> list[tuple[object, ...]]:
    """What a record is to a reader, but for its offset and time."""
    return [(record.key, record.value, tuple(record.headers)) for record in records]  # type: ignore[attr-defined]


def test_a_batch_of_each_codec_comes_back(client: Client, topic: str) -> None:
    for codec in client.codecs:
        compressed = f"{topic}-{codec}"
        client.create_topic(compressed)
        assert client.produce(compressed, RECORDS, codec=codec) == list(range(len(RECORDS)))
        consumed = client.consume(compressed)
        assert [record.offset for record in consumed] == list(range(len(RECORDS)))
        assert seen(consumed) == seen(RECORDS)
        assert consumed[5].timestamp == NOW_MS - HOUR_MS
        assert {record.timestamp_type for record in consumed} == {"CreateTime"}


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_kind_of_acknowledgement(client: Client, topic: str, acks: str) -> None:
    client.create_topic(topic)
    offsets = client.produce(topic, RECORDS, acks=acks)
    assert len(offsets) == len(RECORDS)
    if acks == "0":
        await_end(client, topic, len(RECORDS))
    else:
        assert offsets == list(range(len(RECORDS)))
    assert seen(client.consume(topic)) == seen(RECORDS)


def await_end(client: Client, topic: str, end: int) -> None:
    """Wait until the partition has so many records."""
    deadline = time.monotonic() + 30
    while client.watermarks(topic)[1] < end:
        assert time.monotonic() < deadline


def test_an_idempotent_producer(client: Client, topic: str) -> None:
    client.create_topic(topic, 2)
    for partition in (0, 1):
        many = [Sent(b"%d" % number, b"%d" % partition) for number in range(500)]
        settings = {"batch.size": 1000, "linger.ms": 1} if client.name in ("java", "confluent-kafka") else None
        assert client.produce(topic, many, partition=partition, idempotent=True, settings=settings) == list(range(500))
        assert seen(client.consume(topic, partition=partition)) == seen(many)


def test_large_records(client: Client, topic: str) -> None:
    client.create_topic(topic)
    large = [Sent(bytes([number]) * 900_000) for number in range(4)]
    assert client.produce(topic, large) == [0, 1, 2, 3]
    assert seen(client.consume(topic)) == seen(large)


def test_a_record_beyond_the_topics_limit_is_refused_and_the_next_is_not(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"max.message.bytes": "2000"})
    with pytest.raises(RefusedError) as refused:
        client.produce(topic, [Sent(b"x" * 5000)])
    assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert client.produce(topic, [Sent(b"x" * 500)]) == [0]


def test_the_brokers_time_where_the_topic_wants_it(client: Client, topic: str) -> None:
    client.create_topic(topic, configs={"message.timestamp.type": "LogAppendTime"})
    client.produce(topic, [Sent(b"x", timestamp_ms=1000)])
    (record,) = client.consume(topic)
    assert record.timestamp_type == "LogAppendTime"
    assert record.timestamp >= NOW_MS - HOUR_MS


def test_reading_from_an_offset(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Sent(b"%d" % number) for number in range(10)], codec="gzip")
    assert [record.offset for record in client.consume(topic, start=7)] == [7, 8, 9]
    assert client.consume(topic, start=10) == []


def test_committed_reads_of_plain_data(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, RECORDS)
    assert seen(client.consume(topic, isolation="read_committed")) == seen(RECORDS)


def test_watermarks_and_times(client: Client, topic: str) -> None:
    client.create_topic(topic)
    assert client.watermarks(topic) == (0, 0)
    assert client.offset_for_time(topic, 0) is None
    for number in range(5):
        client.produce(topic, [Sent(b"x", timestamp_ms=NOW_MS - HOUR_MS + number * 1000)])
    assert client.watermarks(topic) == (0, 5)
    assert client.offset_for_time(topic, 0) == 0
    assert client.offset_for_time(topic, NOW_MS - HOUR_MS + 1001) == 2
    assert client.offset_for_time(topic, NOW_MS) is None
    client.delete_records(topic, 3)
    assert client.watermarks(topic) == (3, 5)
    assert client.offset_for_time(topic, 0) == 3
    assert [record.offset for record in client.consume(topic)] == [3, 4]


@pytest.mark.parametrize("name", PYTHON_CLIENTS)
def test_waiting_at_the_end(kafka_cluster: Node, topic: str, name: str) -> None:
    client = PYTHON_CLIENTS[name](kafka_cluster.bootstrap)
    client.create_topic(topic)
    client.produce(topic, [Sent(b"before")])
    (record,) = client.tail(topic, lambda: client.produce(topic, [Sent(b"after")]), 1)
    assert (record.offset, record.value) == (1, b"after")


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_every_client_reads_every_other(kafka_cluster: Node, topic: str, codec: str) -> None:
    clients = [make(kafka_cluster.bootstrap) for make in PYTHON_CLIENTS.values()]
    clients[0].create_topic(topic)
    for number, each in enumerate(clients):
        assert each.produce(topic, RECORDS, codec=codec)[0] == number * len(RECORDS)
    for each in clients:
        assert seen(each.consume(topic)) == seen(RECORDS) * len(clients)


def test_an_offset_that_is_not_there(client: Client, topic: str) -> None:
    client.create_topic(topic)
    client.produce(topic, [Sent(b"x")] * 3)
    client.delete_records(topic, 2)
    with pytest.raises(RefusedError):
        client.consume(topic, start=0)


def test_a_topic_comes_into_being_when_somebody_writes_to_it(client: Client, topic: str) -> None:
    assert client.produce(topic, [Sent(b"x")]) == [0]
    assert client.partitions(topic) == [0, 1]
    assert [record.value for record in client.consume(topic)] == [b"x"]
