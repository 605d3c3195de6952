"""Writing at least once, as a task does it, without Spark: topics, rows without one, producers that are kept."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from ottla.clients.errors import (
    InvalidTopicError,
    KafkaTimeoutError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync import Consumer, Producer
from ottla.common.errors import InvalidRecordError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.sink.plain_sink import write_plainly
from ottla.spark.sink.producer_cache import PRODUCERS, ProducerCache
from ottla.spark.sink.record_tables import in_larger_batches, tables_by_topic
from ottla.spark.sink.sink_options import SinkOptions, parse_sink_options
from ottla.spark.sink.sink_schema import SinkColumns
from ottla.spark.sink.topic_check import require_topic
from ottla.testing import Broker
from tests.node import Node


def options(kafka: Node, **more: str) -> SinkOptions:
    return parse_sink_options({"kafka.bootstrap.servers": kafka.bootstrap, **more})


def records(kafka: Node, topic: str) -> list[Any]:
    with Consumer({"bootstrap.servers": kafka.bootstrap, "enable.auto.commit": "false"}) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        found: list[Any] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            found += consumer.poll(200)
    return found


def test_rows_go_to_the_topics_that_they_name() -> None:
    batch = pa.table({"topic": ["a", "b", "a"], "value": [b"1", b"2", b"3"], "other": [1, 2, 3]})
    found = {name: table.to_pydict() for name, table in tables_by_topic(batch, ("value",), None)}
    assert found == {"a": {"value": [b"1", b"3"]}, "b": {"value": [b"2"]}}
    ((name, table),) = tables_by_topic(batch, ("value",), "c")
    assert (name, table.num_rows, table.schema.names) == ("c", 3, ["value"])


def test_small_batches_are_sent_together_and_none_is_held_back() -> None:
    batches = [pa.record_batch({"value": [b"%d" % number] * 10_000}) for number in range(9)]
    found = list(in_larger_batches([batches[0].slice(0, 0), *batches]))
    assert [table.num_rows for table in found] == [40_000, 40_000, 10_000]
    assert pa.concat_tables(found).equals(pa.Table.from_batches(batches))
    large = pa.record_batch({"value": [b"x" * 5_000_000]})
    assert [table.num_rows for table in in_larger_batches([large, large])] == [1, 1]
    assert list(in_larger_batches([])) == []


@pytest.mark.parametrize("topic", [None, ""])
def test_a_row_without_a_topic_is_refused(topic: str | None) -> None:
    batch = pa.table({"topic": pa.array(["a", topic]), "value": [b"1", b"2"]})
    with pytest.raises(InvalidRecordError, match="column 'topic' is null or empty"):
        list(tables_by_topic(batch, ("value",), None))


def test_all_columns_arrive(kafka: Node, topic: str) -> None:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    batch = pa.record_batch(
        {
            "key": pa.array(["k", None]),
            "value": pa.array([None, "v"]),
            "headers": pa.array([[{"key": "h", "value": b"x"}], None], header),
            "partition": pa.array([1, None], pa.int32()),
            "timestamp": pa.array([1_700_000_000_123_456, None], pa.timestamp("us", tz="UTC")),
        }
    )
    columns = SinkColumns(("key", "value", "headers", "partition", "timestamp"), topic)
    assert write_plainly([batch.slice(0, 0), batch], options(kafka), columns) == 2
    first, second = sorted(records(kafka, topic), key=lambda record: record.value is not None)
    assert (first.key, first.value, first.partition, first.timestamp_ms) == (b"k", None, 1, 1_700_000_000_123)
    assert [(each.key, each.value) for each in first.headers] == [("h", b"x")]
    assert (second.key, second.value, list(second.headers)) == (None, b"v", [])


def test_a_record_that_is_too_large_fails_the_task(kafka: Node, topic: str) -> None:
    batch = pa.record_batch({"value": [b"small", b"x" * 2_000_000]})
    with pytest.raises(RecordTooLargeError) as raised:
        write_plainly([batch], options(kafka), SinkColumns(("value",), topic))
    assert raised.value.__notes__ == ["1 of 2 rows were not delivered: 1"]


def test_a_partition_that_does_not_exist_fails_the_task(kafka: Node, topic: str) -> None:
    batch = pa.record_batch({"value": [b"a"], "partition": pa.array([99], pa.int32())})
    with pytest.raises(KafkaError):
        write_plainly(
            [batch], options(kafka, **{"kafka.max.block.ms": "500"}), SinkColumns(("value", "partition"), topic)
        )


def test_a_worker_keeps_its_producer_for_the_next_task(kafka: Node, topic: str) -> None:
    made = []

    def make(properties: Mapping[str, str]) -> Producer:
        made.append(properties)
        return Producer(properties)

    cache = ProducerCache(make)
    given = {"bootstrap.servers": kafka.bootstrap}
    for _ in range(2):
        with cache.borrow(given) as producer:
            producer.send_and_wait(topic, b"x")
    assert len(made) == 1
    with pytest.raises(ZeroDivisionError), cache.borrow(given):
        raise ZeroDivisionError  # a task that fails: nobody knows what is in its producer
    with cache.borrow(given), cache.borrow(given):  # two at once have one each
        assert len(made) == 3
    for number in range(6):
        with cache.borrow({**given, "client.id": f"{number}"}):
            pass
    assert len(cache._idle) == 4
    cache.close()


def test_the_task_before_does_not_show_in_the_next_ones_count(kafka: Node, topic: str) -> None:
    batch = pa.record_batch({"value": [b"a", b"b"]})
    for _ in range(2):
        assert write_plainly([batch], options(kafka), SinkColumns(("value",), topic)) == 2
    assert Counter(each.value for each in records(kafka, topic)) == Counter({b"a": 2, b"b": 2})
    PRODUCERS.close()


def test_a_topic_that_cannot_be_is_told_before_the_job(kafka: Node, topic: str) -> None:
    require_topic({"bootstrap.servers": kafka.bootstrap}, topic)  # which this broker makes
    with pytest.raises(InvalidTopicError, match="no/topic"):
        require_topic({"bootstrap.servers": kafka.bootstrap}, "no/topic")


def test_a_topic_that_nobody_makes_is_told_before_the_job() -> None:
    with Broker(auto_create_topics_enable=False) as broker:
        properties = {"bootstrap.servers": broker.bootstrap_servers, "max.block.ms": "500"}
        with pytest.raises(UnknownTopicOrPartitionError, match="Topic 'absent' is not there") as raised:
            require_topic(properties, "absent")
    assert "\n" not in str(raised.value)
    with pytest.raises(KafkaTimeoutError) as unreachable:
        require_topic({**properties, "request.timeout.ms": "500"}, "absent")
    assert "\n" not in str(unreachable.value)
