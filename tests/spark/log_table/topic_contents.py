"""A topic with everything in it: codecs, headers, nulls, committed, aborted and open transactions, a compacted gap."""

from contextlib import ExitStack
from typing import Any, NamedTuple

import pyarrow as pa

from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.topic_partition import TopicPartition

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
PARTITIONS = 2
BOUND_MS = 20_000


class Contents(NamedTuple):
    """What a consumer sees, at either isolation level, as sorted rows of COLUMNS."""

    everything: list[tuple[Any, ...]]
    committed: list[tuple[Any, ...]]


def fill(bootstrap: str, topic: str, *, per_codec: int = 300, open_transactions: ExitStack) -> None:
    """Write it; one transaction stays open until the stack is closed."""
    make_topic(bootstrap, topic)
    for codec in CODECS:
        with Producer(bootstrap_servers=bootstrap, compression_type=codec, linger_ms=5, batch_size=4000) as producer:
            for number in range(per_codec):
                send(producer, topic, codec, number)
    with Producer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-1", linger_ms=0) as producer:
        producer.init_transactions()
        for turn in range(6):
            producer.begin_transaction()
            for number in range(20):
                send(producer, topic, f"transaction {turn}", number)
            producer.flush()
            if turn % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    waiting = open_transactions.enter_context(
        Producer(bootstrap_servers=bootstrap, transactional_id=f"{topic}-2", linger_ms=0)
    )
    waiting.init_transactions()
    waiting.begin_transaction()
    for number in range(5):
        send(waiting, topic, "open", number)
    waiting.flush()
    open_transactions.callback(waiting.abort_transaction)


def make_topic(bootstrap: str, topic: str) -> None:
    """The timestamps are old: nothing is to be deleted for its age."""
    configs = {"retention.ms": "-1", "index.interval.bytes": "1024"}
    with Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS, configs=configs)])


def send(producer: Producer, topic: str, what: str, number: int) -> None:
    producer.send(
        topic,
        None if number % 17 == 3 else f"{what} {number} {'x' * (number % 60)}".encode(),
        key=None if number % 13 == 5 else str(number % 29).encode(),
        headers=[("what", what.encode()), ("ü", None)] if number % 7 == 0 else None,
        partition=number % PARTITIONS,
        timestamp_ms=1_700_000_000_000 + number,
    )


def consumed(bootstrap: str, topic: str) -> Contents:
    """All of it, as our own consumer gets it."""
    return Contents(
        *(rows_of(consume(bootstrap, topic, level)) for level in ("read_uncommitted", "read_committed")),
    )


def consume(bootstrap: str, topic: str, level: str) -> list[tuple[Any, ...]]:
    partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    rows: list[tuple[Any, ...]] = []
    with Consumer(bootstrap_servers=bootstrap, isolation_level=level, auto_offset_reset="earliest") as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(each) < ends[each] for each in partitions):
            for record in consumer.consume(5000, 200):
                headers = [(header.key, header.value) for header in record.headers]
                rows.append(
                    (
                        record.key,
                        record.value,
                        record.topic,
                        record.partition,
                        record.offset,
                        record.timestamp_ms,
                        int(record.timestamp_type),
                        headers or None,
                    )
                )
    return rows


def rows_of(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: (row[3], row[4]))


def table_rows(table: "pa.Table") -> list[tuple[Any, ...]]:
    """The same rows of an Arrow table of COLUMNS."""
    columns = [table.column(name).to_pylist() for name in COLUMNS]
    found = []
    for key, value, topic, partition, offset, timestamp, kind, headers in zip(*columns, strict=True):
        pairs = None if headers is None else [(header["key"], header["value"]) for header in headers]
        found.append((key, value, topic, partition, offset, round(timestamp.timestamp() * 1000), kind, pairs))
    return rows_of(found)
