"""The sink as Spark runs it: the stock connector's rows, sentences before the job, all or nothing, exactly once."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.clients.sync import Consumer
from ottla.common.topic_partition import TopicPartition
from tests.node import Node
from tests.spark.sink.crashing_sink import CrashingDataSource
from tests.spark.sink.sink_world import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BOUND_S = 120


@pytest.fixture(autouse=True, scope="module")
def formats(spark: "SparkSession") -> None:
    spark.dataSource.register(CrashingDataSource)


def rows(kafka: Node, topic: str) -> list[Any]:
    with Consumer({"bootstrap.servers": kafka.bootstrap, "enable.auto.commit": "false"}) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        found: list[Any] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            found += [
                (each.partition, each.key, each.value, tuple((h.key, h.value) for h in each.headers))
                for each in consumer.poll(200)
            ]
    return sorted(found, key=repr)


def save(frame: "DataFrame", form: str, kafka: Node, **options: str) -> None:
    frame.write.format(form).mode("append").options(**{"kafka.bootstrap.servers": kafka.bootstrap, **options}).save()


def test_the_same_program_writes_what_the_stock_connector_writes(
    spark: "SparkSession", stock_jars: list[str], kafka: Node, topic: str
) -> None:
    if not stock_jars:
        pytest.skip("the stock connector's jars cannot be had here")
    frame = spark.sql(
        """select case when id % 3 = 0 then null else concat('key-', id % 7) end as key,
                  case when id % 5 = 0 then null else concat('value-', id) end as value,
                  case when id % 2 = 0 then array(named_struct('key', 'h', 'value', cast(cast(id as string) as binary)),
                                                  named_struct('key', 'n', 'value', cast(null as binary)))
                  end as headers,
                  case when id % 3 = 0 then cast(id % 2 as int) end as partition,
                  id as ignored
           from range(100)"""
    )
    for form in ("kafka", "ottla"):
        save(frame, form, kafka, topic=f"{topic}-{form}")
    found = rows(kafka, f"{topic}-ottla")
    assert len(found) == 100
    assert found == rows(kafka, f"{topic}-kafka")


def test_the_topic_comes_from_the_column_if_no_option_names_one(spark: "SparkSession", kafka: Node, topic: str) -> None:
    frame = spark.sql(
        f"select concat('{topic}-', id % 2) as topic, cast(cast(id as string) as binary) as value from range(10)"
    )
    save(frame, "ottla", kafka)
    assert [len(rows(kafka, f"{topic}-{number}")) for number in range(2)] == [5, 5]


@pytest.mark.parametrize(
    ("select", "options", "sentence"),
    [
        ("id as key", {"topic": "t"}, "The sink needs a column 'value', and the query has only key"),
        ("id as value", {"topic": "t"}, "Column 'value' is of type bigint, and must be string or binary"),
        ("'a' as value", {}, "The sink needs option 'topic', or a column 'topic'"),
        ("'a' as value", {"topic": "no/topic"}, "no/topic"),
        ("'a' as value", {"topic": "t", "topics": "t"}, "There is no option 'topics'; is 'topic' meant?"),
        ("'a' as value", {"topic": "t", "kafka.acks": "some"}, "acks"),
        (
            "'a' as value",
            {"topic": "t", "kafka.bootstrap.servers": "127.0.0.1:1", "kafka.request.timeout.ms": "500"},
            "127.0.0.1:1",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_job(
    spark: "SparkSession", kafka: Node, select: str, options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as raised:
        save(spark.sql(f"select {select} from range(3)"), "ottla", kafka, **options)
    assert sentence in str(raised.value)


def test_a_null_topic_fails_the_job(spark: "SparkSession", kafka: Node) -> None:
    with pytest.raises(Exception, match="column 'topic' is null or empty"):
        save(spark.sql("select cast(null as string) as topic, 'a' as value"), "ottla", kafka)


def test_a_batch_write_is_all_or_nothing(spark: "SparkSession", kafka: Node, topic: str) -> None:
    sink = Sink(kafka.bootstrap, topic)
    options = {"topic": topic, "exactlyOnce": "true", "kafka.transactional.id": sink.options.sink_id}
    good = spark.range(0, 100, 1, 4).selectExpr("cast(id as string) as value")
    bad = spark.range(0, 100, 1, 4).selectExpr("if(id = 99, raise_error('no'), cast(id as string)) as value")
    with pytest.raises(Exception, match="no"):
        save(bad, "ottla", kafka, **options)
    # A task that Spark stops late may leave its transaction open after the others were aborted: the next write's first
    # step is to abort it.
    assert sink.committed() == Counter()
    save(good, "ottla", kafka, **options)
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(str(number).encode() for number in range(100))


@pytest.fixture
def stream(spark: "SparkSession", tmp_path: Path) -> Iterator["DataFrame"]:
    """Three batches of 40 rows."""
    files = str(tmp_path / "rows")
    spark.range(0, 120, 1, 3).selectExpr("cast(id as string) as value").write.parquet(files)
    yield spark.readStream.schema("value string").option("maxFilesPerTrigger", 1).parquet(files)


def start(stream: "DataFrame", kafka: Node, tmp_path: Path, **options: str) -> "StreamingQuery":
    return (
        stream.writeStream.format("ottla-crashing")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("crashFile", str(tmp_path / "crash"))
        .options(**options)
        .trigger(availableNow=True)
        .start()
    )


def run_twice(stream: "DataFrame", kafka: Node, tmp_path: Path, crash: str, **options: str) -> None:
    """A run that crashes where it is told, and one that goes on from its checkpoint to the end."""
    (tmp_path / "crash").write_text(crash)
    with pytest.raises(Exception, match="crashed as it was told"):
        start(stream, kafka, tmp_path, **options).awaitTermination(BOUND_S)
    start(stream, kafka, tmp_path, **options).awaitTermination(BOUND_S)


@pytest.mark.parametrize("crash", ["Describe", "Record", "End"])
def test_a_stream_whose_driver_crashes_in_a_commit_is_seen_once(
    stream: "DataFrame", kafka: Node, topic: str, tmp_path: Path, crash: str
) -> None:
    sink = Sink(kafka.bootstrap, topic)
    name = {"kafka.transactional.id": sink.options.sink_id}
    run_twice(stream, kafka, tmp_path, crash, topic=topic, exactlyOnce="true", **name)
    assert sink.open_transactions() == []
    assert sink.committed() == Counter(str(number).encode() for number in range(120))


def test_what_was_decided_is_seen_before_the_first_task_of_the_next_run(
    stream: "DataFrame", kafka: Node, topic: str, tmp_path: Path
) -> None:
    sink = Sink(kafka.bootstrap, topic)
    options = {"topic": topic, "exactlyOnce": "true", "kafka.transactional.id": sink.options.sink_id}
    (tmp_path / "crash").write_text("Record")
    with pytest.raises(Exception, match="crashed as it was told"):
        start(stream, kafka, tmp_path, **options).awaitTermination(BOUND_S)
    assert sink.committed() == Counter()
    failing = stream.selectExpr("if(value is null, value, raise_error('a task fails')) as value")
    with pytest.raises(Exception, match="a task fails"):
        start(failing, kafka, tmp_path, **options).awaitTermination(BOUND_S)
    assert sink.committed().total() == 40


def test_at_least_once_a_crash_doubles_a_batch(stream: "DataFrame", kafka: Node, topic: str, tmp_path: Path) -> None:
    """So the tests above can fail."""
    run_twice(stream, kafka, tmp_path, "anywhere", topic=topic)
    found = Sink(kafka.bootstrap, topic).committed()
    assert set(found) == {str(number).encode() for number in range(120)}
    assert found.total() == 160
