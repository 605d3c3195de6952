"""Landing: exactly once into Delta and Parquet over several runs, and which directories are refused."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.spark.pipeline.formats import SchemaError
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.land import land_on
from ottla.spark.pipeline.landing import Landing, LandingError
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.stop_request import StopRequest
from tests.spark.pipeline.conftest import Fill, read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES: list[str] = []


def value(n: object) -> bytes:
    return json.dumps({"n": n, "at": "2026-11-16T13:30:00Z"}).encode()


def land(
    spark: "SparkSession", job: Job, landing: Landing, path: Path, options: Mapping[str, str] | None = None
) -> None:
    dead_letters = f"{landing.topic}.dead"
    check_topics(job, reads=[landing.topic], writes=[dead_letters], say=LINES.append)
    options = {"startingOffsets": "earliest", **(options or {})}
    arguments: dict[str, Any] = {"options": options, "dead_letters": dead_letters, "every": "1 second"}
    land_on(spark, job, landing, str(path), StopRequest(), say=LINES.append, **arguments)


def landing_of(path: Path, topic: str, table_format: str, **more: Any) -> Landing:
    arguments = {"value": "json", "partition_by": "day", "time_field": None, **more}
    return Landing(topic, table_format, checkpoint=f"{path}/_ottla/checkpoint", **arguments)


def test_json_lands_in_delta_once_over_two_runs_by_a_schema_that_was_inferred_once(
    spark: "SparkSession", delta_jars: list[str], job: Job, fill: Fill, tmp_path: Path
) -> None:
    if not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    path = tmp_path / "table"
    landing = landing_of(path, "to-delta", "delta", time_field="at")
    fill("to-delta", *(value(n) for n in range(20)), key=b"k")
    land(spark, job, landing, path, {"maxOffsetsPerTrigger": "7"})
    fill("to-delta", *(value(n) for n in range(20, 30)), value("text"), key=b"k")
    land(spark, job, landing, path)

    rows = spark.read.format("delta").load(str(path)).orderBy("n").collect()
    assert [row.n for row in rows] == list(range(30))
    assert {(row.kafka_topic, bytes(row.kafka_key), str(row.kafka_date)) for row in rows} == {
        ("to-delta", b"k", "2026-11-16")
    }
    assert len({(row.kafka_partition, row.kafka_offset) for row in rows}) == 30
    # The value that came later does not fit the schema that was kept.
    assert [letter.value for letter in read_topic(job.bootstrap_servers, "to-delta.dead")] == [value("text")]

    with pytest.raises(LandingError, match=r"the partitioning of the table .* was day and cannot become hour"):
        land(spark, job, replace(landing, partition_by="hour"), path)
    with pytest.raises(LandingError, match=r"the topic of the table .* was to-delta and cannot become to-delta.dead"):
        land(spark, job, replace(landing, topic="to-delta.dead"), path)


def test_raw_records_land_in_parquet_and_files_of_a_killed_run_are_swept(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    landing = landing_of(path, "to-parquet", "parquet", value="raw", partition_by="hour")
    fill("to-parquet", b"a", None, b"\xff", b"")
    land(spark, job, landing, path)
    found = next(path.rglob("part-*.parquet"))
    left = found.with_name("part-00099-left-behind.snappy.parquet")
    left.write_bytes(found.read_bytes())
    fill("to-parquet", b"c")
    land(spark, job, landing, path)

    assert not left.exists()
    rows = spark.read.parquet(str(path)).collect()
    assert sorted((bytes(row.value) if row.value is not None else b"-") for row in rows) == [
        *(b"", b"-", b"a", b"c", b"\xff")
    ]
    assert {next(header.key for header in row.kafka_headers) for row in rows} == {"trace"}
    # Readers that know nothing of Spark's log see the same.
    import pyarrow.dataset

    files = [str(each) for each in path.rglob("*.parquet")]
    assert pyarrow.dataset.dataset(files).count_rows() == 5


def test_json_lands_without_a_value_but_not_with_a_blank_one(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    fill("blank-values", value(1), None, b"", b"{}", b" ", key=b"k")
    land(spark, job, landing_of(path, "blank-values", "parquet"), path)
    rows = spark.read.parquet(str(path)).collect()
    assert sorted(((row.n, row.at is None, bytes(row.kafka_key)) for row in rows), key=str) == [
        *((1, False, b"k"), (None, True, b"k"), (None, True, b"k"))
    ]
    dead = read_topic(job.bootstrap_servers, "blank-values.dead")
    assert {letter.value: dict(letter.headers)["ottla.error"] for letter in dead} == {
        b"": b"the value is not JSON",
        b" ": b"the value is not JSON",
    }


def test_what_cannot_be_landed_is_refused_and_leaves_nothing(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    fill("odd", b"text", b"[1]")
    path = tmp_path / "table"
    with pytest.raises(SchemaError, match="none of 2 records of topic odd is a JSON object"):
        land(spark, job, landing_of(path, "odd", "parquet"), path)
    with pytest.raises(SchemaError, match="has a name that is for the record's own"):
        land(spark, job, landing_of(path, "odd", "parquet", schema="kafka_offset bigint"), path)
    with pytest.raises(SchemaError, match="the time field at is not among n"):
        land(spark, job, landing_of(path, "odd", "parquet", schema="n bigint", time_field="at"), path)
    with pytest.raises(SchemaError, match="the schema 'n bigit' cannot be read"):
        land(spark, job, landing_of(path, "odd", "parquet", schema="n bigit"), path)
    assert not path.exists()
    path.mkdir()
    (path / "mine.txt").write_text("x")
    with pytest.raises(LandingError, match=r"holds mine.txt and was not made by this command"):
        land(spark, job, landing_of(path, "odd", "parquet", value="raw"), path)
    assert [each.name for each in path.iterdir()] == ["mine.txt"]


def test_avro_lands_and_what_is_not_of_its_schema_does_not(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]
    schema = json.dumps({"type": "record", "name": "thing", "fields": fields})
    framed = [b"\0\0\0\0\7\2\2\4n1", b"\0\0\0\0\7\4\0", None]
    bad = [b"\1\0\0\0\7\2\0", b"\0\0\0\0\7\2\2\xff", b"", b"\0\0\0\0\7"]
    fill("framed", *framed, *bad)
    path = tmp_path / "table"
    land(spark, job, landing_of(path, "framed", "parquet", value="avro", schema=schema, confluent=True), path)
    landed = spark.read.parquet(str(path)).collect()
    # The record without a value is a row without fields.
    assert sorted(((row.id, row.name) for row in landed), key=str) == [(1, "n1"), (2, None), (None, None)]
    dead = read_topic(job.bootstrap_servers, "framed.dead")
    assert {letter.value: dict(letter.headers)["ottla.error"] for letter in dead} == {
        bad[0]: b"the value does not begin with a schema's id",
        bad[1]: b"the value ends too early for the Avro schema",
        bad[2]: b"the value does not begin with a schema's id",
        bad[3]: b"the value ends too early for the Avro schema",
    }
    other = tmp_path / "other"
    with pytest.raises(SchemaError, match="the Avro schema is not JSON"):
        land(spark, job, landing_of(other, "framed", "parquet", value="avro", schema="no"), other)
