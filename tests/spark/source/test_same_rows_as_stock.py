"""The same program with ``kafka`` and with ``ottla`` as its format: the same rows, batches and offsets."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from tests.node import Node
from tests.spark.source.every_record import FIRST_TIME_MS, Topics, every_record, fill_codecs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
WITH_HEADERS = {"includeHeaders": "true"}
COMMITTED = {"kafka.isolation.level": "read_committed"}


@pytest.fixture(scope="module")
def topics(kafka: Node) -> Iterator[Topics]:
    with every_record(kafka.bootstrap, "every") as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def _jars(stock_jars: list[str]) -> None:
    if not stock_jars:
        pytest.skip("the stock connector's jars cannot be had")


class Programs:
    """A program that is run with either format."""

    def __init__(self, spark: "SparkSession", bootstrap: str, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._where = {"kafka.bootstrap.servers": bootstrap}

    def batch(self, kind: str, options: Mapping[str, str]) -> list[Row]:
        return _rows(self._spark.read.format(kind).options(**self._where, **options).load())

    def schema(self, kind: str, options: Mapping[str, str]) -> str:
        return str(self._spark.read.format(kind).options(**self._where, **options).load().schema.json())

    def stream(
        self, kind: str, options: Mapping[str, str], checkpoint: str = ""
    ) -> tuple[list[list[Row]], list[dict[str, Any]]]:
        """The rows of each batch of a run with Trigger.AvailableNow, and the offsets in the query's progress."""
        batches: list[list[Row]] = []
        frame = self._spark.readStream.format(kind).options(**self._where, **options).load()
        location = self._directory / (checkpoint or f"{kind}-checkpoint")
        query = (
            frame.writeStream.foreachBatch(lambda batch, _: batches.append(_rows(batch)))
            .option("checkpointLocation", str(location))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        progress = [json.loads(each.json)["sources"][0] for each in query.recentProgress]
        return batches, [
            {name: each[name] for name in ("startOffset", "endOffset", "latestOffset")} for each in progress
        ]


@pytest.fixture
def programs(spark: "SparkSession", kafka: Node, tmp_path: Path) -> Programs:
    return Programs(spark, kafka.bootstrap, tmp_path)


def _rows(frame: "DataFrame") -> list[Row]:
    at = [frame.columns.index(name) for name in ("topic", "partition", "offset")]
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: tuple(row[index] for index in at))


def _same_batch(programs: Programs, options: Mapping[str, str], *, expected: int | None = None) -> list[Row]:
    stock, ours = programs.batch("kafka", options), programs.batch("ottla", options)
    assert ours == stock
    assert ours if expected is None else len(ours) == expected
    return ours


def test_a_batch_of_everything(programs: Programs, topics: Topics) -> None:
    everything = {"subscribe": ",".join(topics.all), **WITH_HEADERS}
    rows = _same_batch(programs, everything)
    committed = _same_batch(programs, {**everything, **COMMITTED})
    assert {row[2] for row in rows} == set(topics.all)
    assert {row[6] for row in rows} == {0, 1}, "both kinds of time"
    assert any(row[0] is None for row in rows)
    assert any(row[1] is None for row in rows)
    assert any(row[1] == b"" for row in rows)
    assert {None, 1, 4} == {None if row[7] is None else len(row[7]) for row in rows}
    compacted = [row[4] for row in rows if row[2] == topics.compacted]
    assert len(compacted) < compacted[-1] + 1 - compacted[0], "there are holes"
    values = {row[1].rsplit(b" ", 1)[0] for row in committed if row[2] == topics.transactions}
    assert values == {b"plain", b"committed", b"between", b"after"}
    assert programs.schema("ottla", everything) == programs.schema("kafka", everything)


def test_a_batch_between_bounds(programs: Programs, topics: Topics) -> None:
    start = {topics.codecs: {"0": 20, "1": -2, "2": 0}}
    end = {topics.codecs: {"0": 80, "1": 33, "2": -1}}
    bounds = {"startingOffsets": json.dumps(start), "endingOffsets": json.dumps(end)}
    _same_batch(programs, {"subscribe": topics.codecs, **bounds, "minPartitions": "7"}, expected=60 + 33)


def test_a_stream_in_limited_batches(programs: Programs, topics: Topics) -> None:
    options = {
        "subscribe": f"{topics.codecs},{topics.transactions}",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "130",
        **COMMITTED,
        **WITH_HEADERS,
    }
    stock, stock_progress = programs.stream("kafka", options)
    ours, our_progress = programs.stream("ottla", options)
    assert len(ours) > 2
    assert ours == stock
    assert our_progress == stock_progress


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (1_000_000, {}),
        (1_000_000, {"failOnDataLoss": "false"}),
        (40, {"endingOffsetsByTimestamp": '{"TOPIC": {"0": 1700000000010, "1": 0, "2": 0}}'}),
    ],
    ids=["beyond", "loss-allowed", "after-a-time"],
)
def test_a_batch_that_starts_after_its_end_is_refused_by_both(
    programs: Programs, topics: Topics, start: int, more: dict[str, str]
) -> None:
    offsets = {"startingOffsets": json.dumps({topics.codecs: {"0": start, "1": -2, "2": -2}})}
    options = {"subscribe": topics.codecs, **offsets}
    options |= {name: text.replace("TOPIC", topics.codecs) for name, text in more.items()}
    with pytest.raises(Exception, match=f"start offset {start} is greater than the resolved end offset"):
        programs.batch("kafka", options)
    with pytest.raises(AnalysisException, match=f"starting offset of {topics.codecs}-0 is after .*: {start} > "):
        programs.batch("ottla", options)


def test_a_stream_that_starts_after_the_end_loses_data_in_both(
    programs: Programs, topics: Topics, tmp_path: Path
) -> None:
    offsets = {"startingOffsets": json.dumps({topics.codecs: {"0": 1_000_000, "1": -2, "2": -2}})}
    options = {"subscribe": topics.codecs, **offsets}
    for kind, sentence in (("kafka", "changed from 1000000 to"), ("ottla", "was read up to 1000000")):
        with pytest.raises(StreamingQueryException, match=sentence):
            programs.stream(kind, options, f"lost-{kind}")
    options["failOnDataLoss"] = "false"
    assert programs.stream("ottla", options) == programs.stream("kafka", options)


def test_a_view_of_sql_has_the_same_rows(
    programs: Programs, kafka: Node, spark: "SparkSession", topics: Topics
) -> None:
    for kind in ("kafka", "ottla"):
        spark.sql(
            f"CREATE TEMPORARY VIEW every_{kind} USING {kind} OPTIONS "
            f"(kafka.bootstrap.servers '{kafka.bootstrap}', subscribe '{topics.codecs}', includeHeaders 'true')"
        )
    try:
        stock, ours = (_rows(spark.table(f"every_{kind}")) for kind in ("kafka", "ottla"))
        assert ours == stock == programs.batch("kafka", {"subscribe": topics.codecs, **WITH_HEADERS})
    finally:
        for kind in ("kafka", "ottla"):
            spark.sql(f"DROP VIEW every_{kind}")


def test_a_table_of_sql_is_refused_since_it_would_lose_its_options(spark: "SparkSession", kafka: Node) -> None:
    options = f"OPTIONS (kafka.bootstrap.servers '{kafka.bootstrap}', subscribe 't', topic 't')"
    with pytest.raises(AnalysisException, match="CREATE TEMPORARY VIEW has them"):
        spark.sql(f"CREATE TABLE no_such USING ottla {options}")


@pytest.mark.parametrize("kind", ["kafka", "ottla"])
def test_a_topic_cannot_be_overwritten(spark: "SparkSession", kafka: Node, topics: Topics, kind: str) -> None:
    writer = spark.range(1).selectExpr("'x' as value").write.format(kind).mode("overwrite")
    with pytest.raises(AnalysisException, match=r"Overwrite not allowed|cannot be overwritten: write with mode"):
        writer.options(**{"kafka.bootstrap.servers": kafka.bootstrap, "topic": topics.append_time}).save()


@pytest.mark.spark_full
@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("name", ["codecs", "transactions", "compacted", "append_time"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"maxRecordsPerPartition": "17"},
        {"minPartitions": "9", "includeHeaders": "true"},
        {"startingTimestamp": str(FIRST_TIME_MS + 40), "startingOffsetsByTimestampStrategy": "latest"},
        {"endingTimestamp": str(FIRST_TIME_MS + 40)},
        {"failOnDataLoss": "false", "kafka.max.partition.fetch.bytes": "1000"},
    ],
    ids=lambda more: "-".join(more) or "plain",
)
def test_each_topic_as_a_batch(
    programs: Programs, topics: Topics, name: str, isolation: str, more: dict[str, str]
) -> None:
    options = {"subscribe": getattr(topics, name), "kafka.isolation.level": isolation, **more}
    stock, ours = programs.batch("kafka", options), programs.batch("ottla", options)
    assert ours == stock


@pytest.mark.spark_full
def test_each_way_to_select(programs: Programs, topics: Topics) -> None:
    _same_batch(programs, {"subscribePattern": f"^{topics.prefix}-c.*"})
    _same_batch(programs, {"subscribePattern": "codec"})
    _same_batch(programs, {"assign": json.dumps({topics.codecs: [1], topics.append_time: [0]})})
    by_time = {topics.codecs: {"0": FIRST_TIME_MS + 10, "1": FIRST_TIME_MS + 50, "2": FIRST_TIME_MS}}
    until = {topics.codecs: {"0": FIRST_TIME_MS + 90, "1": FIRST_TIME_MS + 60, "2": FIRST_TIME_MS}}
    _same_batch(
        programs,
        {
            "subscribe": topics.codecs,
            "startingOffsetsByTimestamp": json.dumps(by_time),
            "endingOffsetsByTimestamp": json.dumps(until),
            "startingOffsetsByTimestampStrategy": "latest",
        },
    )


@pytest.mark.spark_full
@pytest.mark.parametrize(
    "more",
    [
        {"startingOffsets": "earliest"},
        {"startingOffsets": "latest"},
        {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "7"},
        {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "100", "minPartitions": "5", **WITH_HEADERS},
        {"startingTimestamp": str(FIRST_TIME_MS + 100), "startingOffsetsByTimestampStrategy": "latest", **COMMITTED},
        {"startingOffsets": "earliest", "maxRecordsPerPartition": "11", "failOnDataLoss": "false"},
    ],
    ids=lambda more: "-".join(more),
)
@pytest.mark.parametrize("name", ["codecs", "transactions", "compacted"])
def test_each_topic_as_a_stream(programs: Programs, topics: Topics, name: str, more: dict[str, str]) -> None:
    options = {"subscribe": getattr(topics, name), **more}
    assert programs.stream("ottla", options) == programs.stream("kafka", options)


def test_a_query_is_taken_over_from_the_stock_connector_and_given_back(
    programs: Programs, kafka: Node, topics: Topics
) -> None:
    options = {"subscribe": topics.codecs, "startingOffsets": "earliest"}
    whole = _offsets(programs.stream("kafka", options, "shared")[0])
    for kind in ("ottla", "kafka"):
        fill_codecs(kafka.bootstrap, topics.codecs, rounds=1)
        whole += _offsets(programs.stream(kind, options, "shared")[0])
    assert sorted(whole) == _offsets([programs.batch("ottla", {"subscribe": topics.codecs})])


def _offsets(batches: list[list[Row]]) -> list[tuple[int, int]]:
    return [(row[3], row[4]) for batch in batches for row in batch]
