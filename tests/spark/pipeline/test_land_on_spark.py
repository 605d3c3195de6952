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
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableSource
from ottla.spark.pipeline.verify import verify_on
from ottla.spark.pipeline.verify_command import VerifyRequest, settled_verification
from ottla.spark.pipeline.verify_result import Comparison
from ottla.spark.pyspark_versions import STREAMS_WRITE_ARROW
from tests.spark.conftest import needs_arrow_functions
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


@needs_arrow_functions
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


def rescued_rows(spark: "SparkSession", path: Path, table_format: str) -> dict[int, str | None]:
    frame = spark.read.option("mergeSchema", "true").format(table_format).load(str(path))
    return {row.n: row["_rescued_data"] for row in frame.collect()}


def compared(spark: "SparkSession", job: Job, topic: str, path: Path, **more: Any) -> Comparison:
    again = replace(job, checkpoint=f"{job.checkpoint}-verify")
    work = settled_verification(spark, again, VerifyRequest(topic, table=TableSource(str(path)), **more))
    found = verify_on(spark, again, work, RunStore(spark, again.checkpoint_path), StopRequest(), say=LINES.append)
    assert found is not None
    return found


@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_fields_that_an_inferred_schema_lacks_are_rescued_and_told(
    spark: "SparkSession",
    delta_jars: list[str],
    job: Job,
    fill: Fill,
    tmp_path: Path,
    table_format: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if table_format == "delta" and not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    topic, path = f"rescued-{table_format}", tmp_path / "table"
    landing = landing_of(path, topic, table_format)
    fill(topic, b'{"n": 1, "home": {"city": "Ulm"}, "seen": [{"at": 1}]}')
    land(spark, job, landing, path)
    assert "fields that it lacks go to the column _rescued_data" in LINES
    capfd.readouterr()
    fill(
        topic,
        b'{"n": 2, "N": 3, "home": {"zip": "1", "city": "Ulm"}, "seen": [{"at": 1}, {"x": 2}], "nick": null}',
        b'{"n": 3}',
        b'{"n": 4, "nick": {"a": [1.5, "b"]}}',
        None,
        b'{"n": 5, "nick": 1, "nick": 2}',
        b'{"n": "six", "nick": 1}',
    )
    land(spark, job, landing, path)
    said = capfd.readouterr().err
    assert f"{job.name}: 3 records had fields that the schema lacks: " in said
    told = {name for name in ("N", "home", "seen", "nick") if name in said.rsplit(": ", 1)[-1]}
    assert told == (
        {"N", "home", "seen", "nick"} if STREAMS_WRITE_ARROW else {"nick"}
    )  # Spark 4.0 knows one of the names
    found = rescued_rows(spark, path, table_format)
    assert {n: text if text is None else json.loads(text) for n, text in found.items()} == {
        1: None,
        2: {"N": 3, "home": {"zip": "1"}, "seen": [None, {"x": 2}], "nick": None},
        3: None,
        4: {"nick": {"a": [1.5, "b"]}},
        None: None,
        5: {"n": 5, "nick": 2},
    }
    assert found[5] == '{"n": 5, "nick": 1, "nick": 2}'
    # What does not fit is a dead letter, whole.
    assert [letter.value for letter in read_topic(job.bootstrap_servers, f"{topic}.dead")] == [
        b'{"n": "six", "nick": 1}'
    ]
    result = compared(spark, job, topic, path)
    assert (result.only_left, result.only_right) == (1, 0)
    with pytest.raises(LandingError, match=r"the column for fields that the schema lacks of .* was _rescued_data and"):
        land(spark, job, replace(landing, rescue="other"), path)


@pytest.mark.parametrize("table_format", ["delta", "parquet"])
def test_a_table_gets_the_column_for_rescued_fields_later(
    spark: "SparkSession", delta_jars: list[str], job: Job, fill: Fill, tmp_path: Path, table_format: str
) -> None:
    if table_format == "delta" and not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    topic, path = f"later-{table_format}", tmp_path / "table"
    landing = landing_of(path, topic, table_format, schema="n bigint", rescue="")
    fill(topic, b'{"n": 1, "nick": 1}')
    land(spark, job, landing, path)
    document = path / "_ottla" / "landing.json"
    told = json.loads(document.read_text())
    del told["rescue"], told["rescued_later"]  # as an Ottla wrote it that knew nothing of them
    document.write_text(json.dumps(told))
    document.with_name(".landing.json.crc").unlink()
    fill(topic, b'{"n": 2, "nick": 2}')
    land(spark, job, replace(landing, rescue=None), path)
    assert "_rescued_data" not in spark.read.format(table_format).load(str(path)).columns
    for n in (3, 4):
        fill(topic, b'{"n": %d, "nick": %d}' % (n, n))
        land(spark, job, replace(landing, rescue="_rescued_data" if n == 3 else None), path)
    assert rescued_rows(spark, path, table_format) == {1: None, 2: None, 3: '{"nick":3}', 4: '{"nick":4}'}
    assert compared(spark, job, topic, path).is_same


def test_the_column_for_rescued_fields_cannot_have_the_name_of_a_field(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    fill("taken", b'{"n": 1}')
    for rescue, words in (("N", "has a field N: name another column"), ("kafka_x", "the field kafka_x has a name")):
        with pytest.raises(SchemaError, match=words):
            landing = landing_of(tmp_path / "table", "taken", "parquet", schema="n bigint", rescue=rescue)
            land(spark, job, landing, tmp_path / "table")
