"""Backfills: every row is a record once, whatever the table, over several runs; mistakes are told before."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.spark.pipeline.backfill import Backfill, backfill_on
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.job_document import ChangedJobError, difference
from ottla.spark.pipeline.record_mapping import MappingError, RecordMapping
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableError, TableSource, guess_format
from tests.spark.pipeline.conftest import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAID: list[str] = []


def run(spark: "SparkSession", job: Job, work: Backfill) -> None:
    backfill_on(spark, job, work, StopRequest(), say=SAID.append)


def test_a_parquet_table_becomes_records_over_two_runs(spark: "SparkSession", job: Job, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    columns = "id", "concat('user-', id) as user", "id % 3 as bucket", "timestamp_millis(1790000000000 + id) as at"
    rows = spark.range(40).selectExpr(*columns)
    rows.repartition(4).write.partitionBy("bucket").parquet(path)
    mapping = RecordMapping(
        key="user",
        header={"bucket": "bucket", "double": "id * 2"},
        partition="id % 2",
        timestamp="at",
        where="id <> 7",
    )
    work = Backfill(TableSource(path), "from-parquet", mapping, new_partitions=2, batch_bytes=2000)
    run(spark, job, work)
    spark.range(40, 50).selectExpr(*columns).coalesce(1).write.partitionBy("bucket").mode("append").parquet(path)
    run(spark, job, work)

    records = read_topic(job.bootstrap_servers, "from-parquet")
    by_id = {json.loads(record.value)["id"]: record for record in records}
    assert len(records) == 49
    assert set(by_id) == set(range(50)) - {7}
    record = by_id[5]
    assert (record.key, record.partition, record.timestamp_ms) == (b"user-5", 1, 1_790_000_000_005)
    assert [tuple(header) for header in record.headers] == [("bucket", b"2"), ("double", b"10")]
    assert json.loads(record.value) == {
        "id": 5,
        "user": "user-5",
        "at": "2026-09-21T14:13:20.005Z",
        "bucket": 2,
    }
    with pytest.raises(ChangedJobError, match="mapping of key was user and is now id"):
        run(spark, job, replace(work, mapping=replace(mapping, key="id")))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_text_files_become_records_by_a_schema_that_is_inferred(
    spark: "SparkSession", job: Job, tmp_path: Path, kind: str
) -> None:
    table = tmp_path / f"rows.{kind}"
    text = "name,n\nann,1\nbob,2\n" if kind == "csv" else '{"name":"ann","n":1}\n{"name":"bob","n":2}\n'
    table.write_text(text)
    topic = f"from-{kind}"
    run(spark, job, Backfill(TableSource(str(table)), topic, RecordMapping(key="name", value="n + 1")))
    assert sorted((record.key, record.value) for record in read_topic(job.bootstrap_servers, topic)) == [
        (b"ann", b"2"),
        (b"bob", b"3"),
    ]


def test_a_file_becomes_records_whatever_lies_beside_and_below_it(
    spark: "SparkSession", job: Job, tmp_path: Path
) -> None:
    directory = tmp_path / "a {b} [c] *"
    table = directory / "rows,[1].csv"
    spark.range(4).selectExpr("id", "id % 2 as bucket").write.partitionBy("bucket").csv(str(directory / "x" / "table"))
    (directory / "deeper").mkdir()
    for path in (table, directory / "deeper" / table.name, directory / "rows,1.csv"):
        path.write_text("n\n1\n2\n" if path == table else "n\n7\n")
    work = Backfill(TableSource(str(table)), "from-a-file", RecordMapping(value="n"))
    run(spark, job, work)
    run(spark, job, work)
    assert sorted(record.value for record in read_topic(job.bootstrap_servers, "from-a-file")) == [b"1", b"2"]


def test_a_delta_table_becomes_records(spark: "SparkSession", delta_jars: list[str], job: Job, tmp_path: Path) -> None:
    if not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    path = str(tmp_path / "table")
    spark.range(5).selectExpr("cast(cast(id as string) as binary) as value").write.format("delta").save(path)
    run(spark, job, Backfill(TableSource(path), "from-delta", RecordMapping(value="value")))
    assert len(read_topic(job.bootstrap_servers, "from-delta")) == 5


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (RecordMapping(key="nme"), "the key 'nme' is nothing that this table has: .*name"),
        (RecordMapping(value="name +"), "the value 'name \\+' is nothing that this table has"),
        (RecordMapping(partition="name"), "the partition name is of type string, not a whole number"),
        (RecordMapping(timestamp="name"), "the timestamp name is of type string: a time, or"),
        (RecordMapping(headers="name"), "the headers name are of type string, not array"),
        (RecordMapping(where="n >"), "the where 'n >' is nothing"),
    ],
)
def test_an_expression_that_does_not_fit_is_told_before_anything_is_written(
    spark: "SparkSession", job: Job, tmp_path: Path, mapping: RecordMapping, message: str
) -> None:
    (tmp_path / "rows.json").write_text('{"name":"ann","n":1}\n')
    work = Backfill(TableSource(str(tmp_path / "rows.json")), "nothing", mapping)
    with pytest.raises(MappingError, match=message):
        run(spark, job, work)
    assert not Path(job.checkpoint or "").exists()


def test_a_table_that_cannot_be_read_is_told(spark: "SparkSession", job: Job, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no table at"):
        run(spark, job, Backfill(TableSource(str(tmp_path / "none")), "nothing", RecordMapping()))
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "file").write_text("?")
    with pytest.raises(TableError, match="says which format it has: give --format"):
        run(spark, job, Backfill(TableSource(str(tmp_path / "odd")), "nothing", RecordMapping()))
    with pytest.raises(TableError, match="cannot be read"):
        run(spark, job, Backfill(TableSource(str(tmp_path / "odd"), "parquet"), "nothing", RecordMapping()))


@pytest.mark.parametrize(
    ("names", "path", "kind"),
    [
        (["_delta_log", "part-0.snappy.parquet"], "/t", "delta"),
        (["part-0.snappy.parquet"], "/t", "parquet"),
        (["_SUCCESS", "part-0.json.gz"], "/t", "json"),
        ([], "/t/rows.csv", "csv"),
        (["x=1"], "/t", None),
    ],
)
def test_formats_are_found_out_by_names(names: list[str], path: str, kind: str | None) -> None:
    assert guess_format(names, path) == kind


def test_jobs_that_differ_are_told_apart_in_words() -> None:
    assert difference({"topic": "a"}, {"topic": "a"}) is None
    assert difference({"topic": "a"}, {"topic": "b"}) == "topic was a and is now b"
    assert difference({"topic": "a"}, {}) == "topic was a and is now null"
