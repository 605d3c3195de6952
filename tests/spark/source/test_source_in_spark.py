"""Batches and streams of the format ``ottla`` in Spark itself: what its user sees."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Producer
from ottla.common.topic_partition import TopicPartition
from ottla.spark.pyspark_versions import READERS_ARE_TOLD
from tests.node import Node

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@pytest.fixture(scope="module")
def admin(kafka: Node) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.bootstrap) as client:
        yield client


@pytest.fixture
def options(kafka: Node, admin: Admin, topic: str) -> dict[str, str]:
    """A topic of two partitions, and how to read it."""
    admin.create_topics([NewTopic(topic, 2, 1)])
    return {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic}


@pytest.fixture
def send(kafka: Node, topic: str) -> Callable[..., None]:
    def send(*values: str, partition: int = 0) -> None:
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:
            for value in values:
                producer.send(topic, value.encode(), partition=partition)

    return send


class Stream:
    """A streaming query that keeps its values; run again, it goes on where it was."""

    def __init__(self, spark: "SparkSession", options: dict[str, str], checkpoint: Path) -> None:
        self.values: list[str] = []
        self.tasks: list[int] = []
        self.before_reading: Callable[[], object] = lambda: None
        self._spark, self._options, self._checkpoint = spark, options, checkpoint

    def start(self, *, available_now: bool = True, **more: str) -> "StreamingQuery":
        def take(frame: "DataFrame", _batch_id: int) -> None:
            self.before_reading()
            self.tasks.append(frame.rdd.getNumPartitions())
            self.values += [row.value.decode() for row in frame.select("value").collect()]

        frame = self._spark.readStream.format("ottla").options(**{**self._options, **more}).load()
        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(self._checkpoint))
        return (writer.trigger(availableNow=True) if available_now else writer).start()

    def run(self, **more: str) -> "StreamingQuery":
        query = self.start(available_now=True, **more)
        query.awaitTermination(60)
        return query


@pytest.fixture
def stream(spark: "SparkSession", options: dict[str, str], tmp_path: Path) -> Stream:
    return Stream(spark, options, tmp_path / "checkpoint")


def _sentence(error: Exception) -> str:
    """What is left of an error of Spark's without its own lines and the traceback."""
    lines = [line for line in str(error).splitlines() if line.startswith("ottla.")]
    assert len(set(lines)) == 1, str(error)
    return lines[0].partition(": ")[2]


def test_a_batch_has_only_the_columns_that_are_asked_for(
    spark: "SparkSession", options: dict[str, str], send: Callable[..., None]
) -> None:
    send("a", "b")
    send("c", partition=1)
    frame = spark.read.format("ottla").options(**options, columns="offset,value").load()
    assert frame.columns == ["value", "offset"]
    assert sorted((bytes(row.value), row.offset) for row in frame.collect()) == [(b"a", 0), (b"b", 1), (b"c", 0)]
    assert frame.rdd.getNumPartitions() == 1
    assert spark.read.format("ottla").options(**options, minRecordsPerPartition="1").load().rdd.getNumPartitions() == 2


def test_a_topic_without_records_is_a_table_without_rows(spark: "SparkSession", options: dict[str, str]) -> None:
    assert spark.read.format("ottla").options(**options).load().collect() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"startingOffset": "earliest"}, "There is no option 'startingoffset'; is 'startingOffsets' meant?"),
        ({"kafka.auto.offset.reset": "latest"}, "Option 'kafka.auto.offset.reset' cannot be set: "),
        ({"subscribe": "no-such-topic"}, "Topic no-such-topic does not exist"),
        ({"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.request.timeout.ms": "500"}, "No bootstrap server has told"),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True], ids=["batch", "stream"])
def test_what_is_wrong_is_one_sentence(
    spark: "SparkSession",
    stream: Stream,
    is_stream: bool,
    given: dict[str, str],
    expected: str,
    options: dict[str, str],
) -> None:
    with pytest.raises((AnalysisException, StreamingQueryException)) as raised:
        if is_stream:
            stream.run(**given)
        else:
            spark.read.format("ottla").options(**{**options, **given}).load().collect()
    assert _sentence(raised.value).startswith(expected)
    assert stream.values == []


def test_a_schema_of_the_users_own_is_refused(spark: "SparkSession", options: dict[str, str]) -> None:
    with pytest.raises(AnalysisException) as raised:
        spark.read.format("ottla").schema("value string").options(**options).load().collect()
    assert _sentence(raised.value).startswith("The schema is fixed: struct<key:binary,")


def test_a_stream_goes_on_from_its_checkpoint(stream: Stream, send: Callable[..., None]) -> None:
    send("a", "b")
    stream.run(startingOffsets="earliest", maxOffsetsPerTrigger="1")
    assert stream.values == ["a", "b"]
    send("c")
    stream.run(startingOffsets="earliest")
    assert stream.values == ["a", "b", "c"]


def test_a_first_batch_that_failed_loses_nothing_of_a_stream_from_the_end(
    stream: Stream, send: Callable[..., None]
) -> None:
    def fail() -> None:
        raise RuntimeError("the sink fails")

    send("before")
    stream.before_reading = fail
    with pytest.raises(StreamingQueryException, match="the sink fails"):
        stream.run()
    send("while nothing ran")
    stream.before_reading = lambda: None
    stream.run()
    if not READERS_ARE_TOLD:  # before 4.2 a run is one batch: that was the one that had failed
        assert stream.values == []
        stream.run()
    assert stream.values == ["while nothing ran"]


def test_lost_offsets_end_a_stream_before_its_batch(
    stream: Stream, admin: Admin, topic: str, send: Callable[..., None]
) -> None:
    send("a", "b")
    stream.run(startingOffsets="earliest")
    send("c", "d", "e")
    admin.delete_records({TopicPartition(topic, 0): 4})
    with pytest.raises(StreamingQueryException) as raised:
        stream.run()
    sentence = _sentence(raised.value)
    assert sentence.startswith(
        f"{topic}-0 begins with offset 4 now, and was read up to 2: records may have been missed"
    )
    assert stream.values == ["a", "b"]
    stream.run(failOnDataLoss="false")
    assert stream.values == ["a", "b", "e"]


def test_offsets_that_are_lost_in_the_middle_of_a_batch_fail_it_as_a_whole(
    stream: Stream, admin: Admin, topic: str, send: Callable[..., None]
) -> None:
    send("a", "b")
    send("c", partition=1)
    stream.before_reading = lambda: admin.delete_records({TopicPartition(topic, 0): 1})
    with pytest.raises(StreamingQueryException) as raised:
        stream.run(startingOffsets="earliest")
    sentence = _sentence(raised.value)
    assert sentence.startswith(f"Records of {topic}-0 from offset 0 on are gone, its log begins at 1 now")
    assert stream.values == []
    stream.run(failOnDataLoss="false", startingOffsets="earliest")
    assert sorted(stream.values) == ["b", "c"]


@pytest.mark.skipif(not READERS_ARE_TOLD, reason="before 4.2 Spark asks no source for its lag, and tells it no limit")
def test_lag_is_in_the_progress_and_in_a_consumer_group(
    stream: Stream, admin: Admin, topic: str, send: Callable[..., None]
) -> None:
    send("a", "b", "c", "d")
    query = stream.start(
        available_now=False, startingOffsets="earliest", maxOffsetsPerTrigger="3", commitOffsetsToGroup=f"see-{topic}"
    )
    try:
        _until(lambda: stream.values == ["a", "b", "c", "d"], query)
        sources = [json.loads(each.json)["sources"][0] for each in query.recentProgress]
        assert _lag(sources[0]) == 1
        _until(lambda: _committed(admin, topic) == {TopicPartition(topic, 0): 4, TopicPartition(topic, 1): 0}, query)
    finally:
        query.stop()
    assert set(stream.tasks) <= {0, 1}, "a small batch is one task"


def _committed(admin: Admin, topic: str) -> dict[TopicPartition, int]:
    offsets = admin.list_group_offsets(f"see-{topic}")
    return {each: place.offset for each, place in offsets.items() if place is not None}


def _lag(source: dict[str, Any]) -> int:
    return sum(
        latest - source["endOffset"][topic][index]
        for topic, of in source["latestOffset"].items()
        for index, latest in of.items()
    )


def _until(condition: Callable[[], bool], query: "StreamingQuery") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline, query.lastProgress
        time.sleep(0.1)
