"""Comparisons: the same is the same whatever the order, and each difference is found and shown."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.clients.sync import Producer
from ottla.spark.pipeline.job import PROGRESS_TOPIC, Job
from ottla.spark.pipeline.land import land_on
from ottla.spark.pipeline.landing import Landing
from ottla.spark.pipeline.record_mapping import MappingError, RecordMapping
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableSource
from ottla.spark.pipeline.verify import verify_on
from ottla.spark.pipeline.verify_command import VerifyRequest, letters_advice, may_be_letters, settled_verification
from ottla.spark.pipeline.verify_result import Comparison, Side
from ottla.testing import Broker
from tests.spark.pipeline.conftest import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAID: list[str] = []
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]
ROWS: list[Row] = [(b"k%d" % (n % 7), b"v%d" % n, [("h", b"1")] if n % 3 else None) for n in range(60)]


def send(servers: str, topic: str, rows: list[Row], turn: int = 0) -> None:
    with Producer(bootstrap_servers=servers, linger_ms=5) as producer:
        for number, (key, value, headers) in enumerate(rows):
            producer.send(topic, value, key=key, headers=headers, partition=(number + turn) % 2, timestamp_ms=number)


def compare(spark: "SparkSession", job: Job, request: VerifyRequest) -> Comparison:
    work = settled_verification(spark, job, request)
    store = RunStore(spark, str(job.checkpoint))
    found = verify_on(spark, job, work, store, StopRequest(), say=SAID.append)
    assert found is not None
    return found


def test_the_same_records_in_another_order_and_other_partitions(
    spark: "SparkSession", job: Job, broker: Broker
) -> None:
    send(broker.bootstrap_servers, "a", ROWS)
    send(broker.bootstrap_servers, "b", ROWS[::-1], turn=1)
    request = VerifyRequest("a", "b", slice_records=25)
    found = compare(spark, job, request)
    assert found.is_same
    assert (found.left.records, found.right.records) == (60, 60)
    assert found.lines()[-1] == "the same records, by key, value, headers"
    assert not list(Path(str(job.checkpoint)).glob("*.json"))
    by_time = compare(spark, job, replace(request, parts=("value", "timestamp")))
    assert not by_time.is_same


@pytest.mark.parametrize(
    ("name", "change", "only_a", "only_b"),
    [
        ("value", lambda rows: [*rows[:-1], (rows[-1][0], b"other", rows[-1][2])], 1, 1),
        ("missing", lambda rows: rows[:-2], 2, 0),
        ("twice", lambda rows: [*rows, rows[0], rows[0]], 0, 2),
        ("nulls", lambda rows: [(rows[0][1], rows[0][0], None), *rows[1:]], 1, 1),
        ("key-null", lambda rows: [(None, rows[0][1], rows[0][2]), *rows[1:]], 1, 1),
        ("header-null", lambda rows: [rows[0], (rows[1][0], rows[1][1], [("h", None)]), *rows[2:]], 1, 1),
        ("header-empty", lambda rows: [rows[0], (rows[1][0], rows[1][1], [("h", b"")]), *rows[2:]], 1, 1),
    ],
)
def test_each_difference_is_counted_and_shown(
    spark: "SparkSession",
    job: Job,
    broker: Broker,
    name: str,
    change: Callable[[list[Row]], list[Row]],
    only_a: int,
    only_b: int,
) -> None:
    send(broker.bootstrap_servers, f"a-{name}", ROWS)
    send(broker.bootstrap_servers, f"b-{name}", change(list(ROWS)))
    found = compare(spark, job, VerifyRequest(f"a-{name}", f"b-{name}"))
    assert (found.only_left, found.only_right) == (only_a, only_b)
    assert {sample.only_in for sample in found.samples} == {
        side for side, count in ((f"topic a-{name}", only_a), (f"topic b-{name}", only_b)) if count
    }
    assert all(sample.place.startswith("partition ") for sample in found.samples)
    assert found.document()["same"] is False
    if name == "twice":
        (sample,) = found.samples
        assert (sample.times, sample.key, sample.value) == (2, "k0", "v0")


def test_a_topic_and_a_table_by_a_mapping(spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path) -> None:
    send(broker.bootstrap_servers, "mapped", ROWS)
    path = str(tmp_path / "table")
    rows = [(key, value, n) for n, (key, value, _) in enumerate(ROWS)]
    table = spark.createDataFrame(rows, "k binary, v binary, n long").withColumn("odd", _odd())
    table.repartition(3).write.partitionBy("odd").parquet(path)
    request = VerifyRequest("mapped", table=TableSource(path), mapping=RecordMapping(key="k", value="v"))
    found = compare(spark, job, request)
    assert found.is_same
    assert found.parts == ("key", "value")
    fewer = replace(request, mapping=RecordMapping(key="k", value="v", where="n < 50"))
    found = compare(spark, job, fewer)
    assert (found.only_left, found.only_right) == (10, 0)
    with pytest.raises(MappingError, match="is not told its headers: give --headers"):
        compare(spark, job, replace(request, parts=("headers",)))
    with pytest.raises(MappingError, match="was not made by `ottla pipeline land`"):
        compare(spark, job, replace(request, mapping=None))


@pytest.mark.parametrize("value", ["raw", "json"])
def test_a_landed_table_is_compared_as_it_was_landed(
    spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path, value: str
) -> None:
    topic, path = f"landed-{value}", tmp_path / "table"
    send(broker.bootstrap_servers, topic, [(b"k", json.dumps({"n": n}).encode(), None) for n in range(30)])
    landing = Landing(topic, "parquet", value, "none", None, f"{path}/_ottla/checkpoint")
    arguments: dict[str, Any] = {"options": {}, "dead_letters": None, "every": "1 second"}
    land_on(spark, job, landing, str(path), StopRequest(), say=SAID.append, **arguments)
    again = replace(job, checkpoint=str(tmp_path / "verify"))
    request = VerifyRequest(topic, table=TableSource(str(path)), parts=("key", "value", "partition", "timestamp"))
    assert compare(spark, again, request).is_same
    send(broker.bootstrap_servers, topic, [(b"k", b'{"n":7}', None)])
    found = compare(spark, again, request)
    assert (found.only_left, found.only_right) == (1, 0)
    assert found.samples[0].value == '{"n":7}'


@pytest.mark.parametrize(("value", "landed"), [("raw", [None, b"", b"{}"]), ("json", [None, b"{}", b'{"n": null}'])])
def test_records_without_a_value_that_landed_are_the_same(
    spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path, value: str, landed: list[bytes | None]
) -> None:
    topic, path = f"without-{value}", tmp_path / "table"
    send(broker.bootstrap_servers, topic, [(b"k", each, None) for each in [b'{"n":1}', *landed]])
    landing = Landing(topic, "parquet", value, "none", None, f"{path}/_ottla/checkpoint")
    arguments: dict[str, Any] = {"options": {}, "dead_letters": None, "every": "1 second"}
    land_on(spark, job, landing, str(path), StopRequest(), say=SAID.append, **arguments)
    again = replace(job, checkpoint=str(tmp_path / "verify"))
    request = VerifyRequest(topic, table=TableSource(str(path)))
    found = compare(spark, again, request)
    assert found.is_same, found.lines()
    assert found.left.records == 4
    send(broker.bootstrap_servers, topic, [(b"k", None, None)])
    found = compare(spark, again, request)
    assert (found.only_left, found.only_right) == (1, 0)


def test_bad_values_are_only_in_the_topic_as_they_are(
    spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path
) -> None:
    path, bad = tmp_path / "table", [b"", b"text", b'{"n":"one"}']
    send(broker.bootstrap_servers, "with-bad", [(b"k", each, None) for each in [b'{"n":1}', None, *bad]])
    landing = Landing("with-bad", "parquet", "json", "none", None, f"{path}/_ottla/checkpoint", schema="n bigint")
    arguments: dict[str, Any] = {"options": {}, "dead_letters": "with-bad.dead", "every": "1 second"}
    land_on(spark, job, landing, str(path), StopRequest(), say=SAID.append, **arguments)
    again = replace(job, checkpoint=str(tmp_path / "verify"))
    found = compare(spark, again, VerifyRequest("with-bad", table=TableSource(str(path))))
    assert (found.only_left, found.only_right) == (3, 0)
    assert {sample.value for sample in found.samples} == {each.decode() for each in bad}

    # They are the other half of the topic: with them nothing is lacking, but for what is no letter of this topic.
    both = VerifyRequest("with-bad", table=TableSource(str(path)), dead_letters="with-bad.dead")
    both = replace(both, parts=("key", "value", "partition", "timestamp"), slice_records=2)
    elsewhere: list[tuple[str, bytes | None]] = [
        ("ottla.topic", b"another"),
        ("ottla.partition", b"0"),
        ("ottla.offset", b"1"),
    ]
    send(broker.bootstrap_servers, "with-bad.dead", [(b"k", b"of another topic", elsewhere), (b"k", b"no letter", [])])
    found = compare(spark, again, both)
    assert found.is_same, found.lines()
    assert (found.left.records, found.right.records) == (5, 5)
    assert found.right.what == f"table {path} and dead letters with-bad.dead"
    send(broker.bootstrap_servers, "with-bad", [(b"k", b"too late", None)])
    again_there: list[tuple[str, bytes | None]] = [
        ("ottla.topic", b"with-bad"),
        ("ottla.partition", b"1"),
        ("ottla.offset", b"1"),
    ]
    send(broker.bootstrap_servers, "with-bad.dead", [(b"k", b"text", [*again_there, ("ottla.timestamp", b"1970")])])
    found = compare(spark, again, replace(both, parts=("key", "value")))
    assert (found.only_left, found.only_right) == (1, 1)
    assert {(each.value, each.place) for each in found.samples} == {
        ("too late", "partition 0 offset 3"),
        ("text", "dead letter of partition 1 offset 1"),
    }


def test_a_comparison_that_fails_for_a_table_tells_of_dead_letters(broker: Broker, job: Job) -> None:
    table = TableSource("/t")
    differs = Comparison(Side("a", 2), Side("b", 1), ("key",), only_left=1)
    assert may_be_letters(VerifyRequest("a", table=table), differs)
    assert not may_be_letters(VerifyRequest("a", table=table), replace(differs, only_left=0, only_right=1))
    assert not may_be_letters(VerifyRequest("a", table=table, dead_letters="d"), differs)
    assert not may_be_letters(VerifyRequest("a", "b"), differs)
    assert "--dead-letters TOPIC counts" in letters_advice(job, "unlettered")
    send(broker.bootstrap_servers, "lettered.dead-letters", [(None, b"x", None)])
    advised = replace(differs, advice=letters_advice(job, "lettered"))
    assert "--dead-letters lettered.dead-letters counts" in advised.lines()[-1]


def test_progress_counts_the_records_that_were_read(
    spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "table")
    send(broker.bootstrap_servers, "counted", [(None, b"%d" % n, None) for n in range(30)])
    spark.range(30).selectExpr("cast(id as string) as value").coalesce(1).write.parquet(path)
    request = VerifyRequest("counted", table=TableSource(path), mapping=RecordMapping(value="value"), slice_records=20)
    capfd.readouterr()
    assert compare(spark, job, request).is_same
    progress = [json.loads(record.value) for record in read_topic(broker.bootstrap_servers, PROGRESS_TOPIC)]
    mine = [each for each in progress if each["pipeline"] == job.name and each["state"] == "running"]
    assert [(each["rows"], each["lag"]) for each in mine] == [(20, None), (10, None), (30, 0)]
    assert f"{job.name}: batch 2, 30 rows in " in capfd.readouterr().err


def test_an_empty_topic_lacks_everything(spark: "SparkSession", job: Job, broker: Broker) -> None:
    from ottla.clients.admin.topics import NewTopic
    from ottla.clients.sync import Admin

    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("empty"), NewTopic("empty-too")])
    send(broker.bootstrap_servers, "full", ROWS[:3])
    found = compare(spark, job, VerifyRequest("full", "empty"))
    assert (found.only_left, found.only_right, len(found.samples)) == (3, 0, 3)
    assert compare(spark, job, VerifyRequest("empty", "empty-too")).is_same


def test_a_run_that_ended_halfway_goes_on(spark: "SparkSession", job: Job, broker: Broker) -> None:
    send(broker.bootstrap_servers, "long-a", ROWS)
    send(broker.bootstrap_servers, "long-b", ROWS)
    work = settled_verification(spark, job, VerifyRequest("long-a", "long-b", slice_records=25))
    store = RunStore(spark, str(job.checkpoint))

    class AfterTwo(StopRequest):
        asked = 0

        @property
        def is_set(self) -> bool:
            self.asked += 1
            return self.asked > 2

    assert verify_on(spark, job, work, store, AfterTwo(), say=SAID.append) is None
    done = {path.name: path.stat().st_mtime_ns for path in Path(str(job.checkpoint)).glob("left-*.json")}
    assert len(done) == 2
    send(broker.bootstrap_servers, "long-a", ROWS)  # what came since is not compared
    kept: list[str] = []
    keep = store.keep
    store.keep = lambda unit, result: (kept.append(unit), keep(unit, result))  # type: ignore[method-assign, assignment, func-returns-value]
    found = verify_on(spark, job, work, store, StopRequest(), say=SAID.append)
    assert found is not None
    assert found.is_same
    assert "left-00000" not in kept
    assert len(kept) == 4
    assert "resuming the comparison" in SAID[-1]


def _odd() -> Any:
    from pyspark.sql import functions as f

    return f.col("n") % 2
