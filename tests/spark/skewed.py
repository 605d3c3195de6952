"""Many records quickly, most of them of one key and in one partition."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Consumer, Producer
from ottla.common.topic_partition import TopicPartition

PARTITIONS = 4
BLOCK = 50_000
HOT = "user-0"
HOT_SHARE = 0.6
USERS = 1_000


def user_of(number: int) -> str:
    """Six of ten records are of one user, the others of a thousand."""
    return HOT if number % 10 < HOT_SHARE * 10 else f"user-{number % USERS}"


def fill_skewed(servers: str, topic: str, records: int) -> None:
    """Make the topic and send so many JSON records ``{"user", "n"}``; n counts within blocks of BLOCK records."""
    keys = [user_of(number).encode() for number in range(BLOCK)]
    values = [json.dumps({"user": user_of(number), "n": number}).encode() for number in range(BLOCK)]
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=PARTITIONS)])
    with Producer(bootstrap_servers=servers, linger_ms=20, batch_size=1 << 20, compression_type="lz4") as producer:
        left = records
        deliveries = []
        while left:
            count = min(left, BLOCK)
            table = pa.table(
                {"key": pa.array(keys[:count], pa.binary()), "value": pa.array(values[:count], pa.binary())}
            )
            deliveries.append(producer.send_batch(topic, table))
            left -= count
        producer.flush()


def sum_of_n(records: int) -> int:
    """The sum of all n that ``fill_skewed`` sent."""
    blocks, rest = divmod(records, BLOCK)
    return blocks * (BLOCK * (BLOCK - 1) // 2) + rest * (rest - 1) // 2


def committed_batches(servers: str, topic: str) -> Iterator[Any]:
    """All committed records of a topic as Arrow batches."""
    settings = {"isolation_level": "read_committed", "max_partition_fetch_bytes": 8 << 20}
    with Consumer(bootstrap_servers=servers, **settings) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        batches = consumer.arrow()
        while any(consumer.position(each) < ends[each] for each in partitions):
            yield next(batches)
