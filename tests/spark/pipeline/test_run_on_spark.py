"""Pipelines between topics: what comes out, what becomes of bad records, what a second run does."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.clients.errors import KafkaTimeoutError, UnknownTopicOrPartitionError
from ottla.clients.sync import Admin
from ottla.spark.pipeline import Avro, Json, Pipeline, Topic, pipeline, progress_publisher
from ottla.spark.pipeline.declaration import DeclarationError
from ottla.spark.pipeline.declared_checks import check_declared
from ottla.spark.pipeline.failure import PipelineFailedError
from ottla.spark.pipeline.formats import SchemaError
from ottla.spark.pipeline.job import PROGRESS_TOPIC, Job
from ottla.spark.pipeline.running import run_on
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pyspark_versions import READERS_ARE_TOLD
from tests.spark.conftest import needs_arrow_functions
from tests.spark.pipeline.conftest import Fill, read_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "user string not null, n bigint"
LINES: list[str] = []


@pytest.fixture(autouse=True)
def all_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """No progress is dropped because a broker on a busy machine needs more than two seconds."""
    for limit in ("max.block.ms", "delivery.timeout.ms"):
        monkeypatch.setitem(progress_publisher._LIMITS, limit, "60000")
    monkeypatch.setattr(progress_publisher, "_CLOSE_MS", 60_000)


def value(user: str | None, n: object) -> bytes:
    return json.dumps({"user": user, "n": n}).encode()


def doubled(source: str, sink: str, dead_letters: str | None) -> Pipeline:
    @pipeline(source=Topic(source, Json(SCHEMA)), sink=Topic(sink, key="user"), dead_letters=dead_letters)
    def twice(frame: "DataFrame") -> "DataFrame":
        return frame.selectExpr("user", "n * 2 AS n", "kafka_offset")

    return twice


def run(spark: "SparkSession", job: Job, *declared: Pipeline) -> None:
    check_declared(declared, job)
    run_on(spark, declared, job, StopRequest(), say=LINES.append)


def test_good_records_go_on_and_bad_ones_become_dead_letters_each_once(
    spark: "SparkSession", job: Job, fill: Fill
) -> None:
    declared = doubled("numbers", "doubled", "numbers.dead")
    bad = [b"no json", value("ann", "seven"), value(None, 1), b"\xff\xfe"]
    fill("numbers", value("ann", 1), value("bob", 2), *bad, key=b"k")
    run(spark, job, declared)
    fill("numbers", value("cyd", 3), b"{", key=b"k")
    run(spark, job, declared)
    servers = job.bootstrap_servers

    out = read_topic(servers, "doubled")
    assert sorted((record.key, json.loads(record.value)["n"]) for record in out) == [
        *((b"ann", 2), (b"bob", 4), (b"cyd", 6))
    ]
    letters = read_topic(servers, "numbers.dead")
    assert sorted(letter.value for letter in letters) == sorted([*bad, b"{"])
    told = {letter.value: dict(letter.headers) for letter in letters}
    assert told[b"no json"]["ottla.error"] == b"the value is not JSON"
    assert told[bad[1]]["ottla.error"].startswith(b"the value does not fit the schema struct<user:string")
    assert told[bad[2]]["ottla.error"] == b"the field user is missing"
    assert told[b"{"]["ottla.topic"] == b"numbers"
    assert (told[b"{"]["ottla.partition"], told[b"{"]["ottla.offset"]) == (b"1", b"3")
    assert told[b"{"]["trace"] == b"1"
    assert told[b"{"]["ottla.pipeline"] == job.name.encode()
    assert {letter.key for letter in letters} == {b"k"}

    progress = [json.loads(record.value) for record in read_topic(servers, PROGRESS_TOPIC)]
    mine = [each for each in progress if each["pipeline"] == job.name]
    assert sum(each["rows"] for each in mine if each["state"] == "running" and each["query"] == "twice") == 8
    assert [each["state"] for each in mine if each["query"] == "twice"][-1] == "stopped"
    assert mine[-1]["lag"] == (0 if READERS_ARE_TOLD else None)


def test_dead_letters_go_on_whichever_pipelines_of_a_file_are_run(spark: "SparkSession", job: Job, fill: Fill) -> None:
    first = doubled("shared", "shared.first", "shared.dead")
    second = replace(first, name="second", sink=Topic("shared.second", key="user"))
    fill("shared", value("ann", 1), b"one")
    run(spark, job, first, second)
    fill("shared", value("bob", 2), b"two")
    run(spark, job, second)
    fill("shared", value("cyd", 3), b"three")
    run(spark, job, replace(second, name="third"), first)
    letters = read_topic(job.bootstrap_servers, "shared.dead")
    assert sorted(letter.value for letter in letters) == [b"one", b"three", b"two"]

    progress = [json.loads(record.value) for record in read_topic(job.bootstrap_servers, PROGRESS_TOPIC)]
    queries = {each["query"] for each in progress if each["pipeline"] == job.name}
    (box,) = queries - {"twice", "second", "third"}
    assert box.startswith("shared.dead-letters.")
    assert (Path(job.checkpoint_path) / box).is_dir()


def test_records_without_a_value_are_rows_without_fields_and_blank_values_are_bad(
    spark: "SparkSession", job: Job, fill: Fill
) -> None:
    optional = Topic("blank", Json("user string, n bigint"))
    declared = replace(doubled("blank", "blank.out", "blank.dead"), sources=(optional,))
    fill("blank", None, b"", b"{}", b" \n", b"null", b"[]")
    run(spark, job, declared)
    out = read_topic(job.bootstrap_servers, "blank.out")
    assert sorted(record.value for record in out) == [b'{"kafka_offset":0}', b'{"kafka_offset":1}']
    letters = read_topic(job.bootstrap_servers, "blank.dead")
    no_json, no_object = b"the value is not JSON", b"the value does not fit the schema struct<user:string,n:bigint>"
    assert {letter.value: dict(letter.headers)["ottla.error"] for letter in letters} == {
        **{b"": no_json, b" \n": no_json},
        **{b"null": no_object, b"[]": no_object},
    }
    # Where a field has to be there, a record needs a value.
    run(spark, job, replace(doubled("blank", "blank.out", "blank.strict"), name="strict"))
    strict = {letter.value: dict(letter.headers) for letter in read_topic(job.bootstrap_servers, "blank.strict")}
    assert set(strict) == {None, b"", b"{}", b" \n", b"null", b"[]"}
    assert strict[None]["ottla.error"] == b"the field user is missing"
    assert strict[b""]["ottla.error"] == no_json


def test_without_dead_letters_a_bad_record_stops_the_pipeline_before_anything_is_written(
    spark: "SparkSession", job: Job, fill: Fill
) -> None:
    fill("strict", value("ann", 1), b"oops")
    with pytest.raises(PipelineFailedError, match="twice failed: record strict-1 at offset 0 cannot be read: "):
        run(spark, job, doubled("strict", "strict.out", None))
    assert read_topic(job.bootstrap_servers, "strict.out") == []


def test_what_spark_cannot_do_is_told_before_a_query_runs(spark: "SparkSession", job: Job, fill: Fill) -> None:
    fill("there", value("ann", 1))
    spoilt = replace(doubled("there", "there.out", None), function=lambda frame: frame.select("usr"))
    with pytest.raises(PipelineFailedError, match=r"pipeline twice cannot start: .*`usr`.* Did you mean"):
        run(spark, job, spoilt)
    with pytest.raises(SchemaError, match="pipeline twice, topic there: the schema 'user strng' cannot be read"):
        run(spark, job, replace(doubled("there", "x", None), sources=(Topic("there", Json("user strng")),)))
    with pytest.raises(DeclarationError, match="the key of its sink, nobody, is not among user, n, kafka_offset"):
        run(spark, job, replace(doubled("there", "x", None), sink=Topic("x", key="nobody")))
    assert not spark.streams.active
    with Admin(bootstrap_servers=job.bootstrap_servers) as admin:
        assert not {"there.out", "x"} & admin.list_topics().keys()


def test_a_missing_topic_and_brokers_that_do_not_answer_are_told_before_spark_starts(job: Job, fill: Fill) -> None:
    fill("orders", value("ann", 1))
    with pytest.raises(UnknownTopicOrPartitionError, match=r"topic oders does not exist on .*; did you mean orders\?"):
        check_declared([doubled("oders", "x", None)], job)
    away = replace(
        job, client={"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "300", "request.timeout.ms": "300"}
    )
    with pytest.raises(KafkaTimeoutError):
        check_declared([doubled("orders", "x", None)], away)


@needs_arrow_functions
def test_rows_are_written_as_avro_and_read_by_a_newer_schema(spark: "SparkSession", job: Job, fill: Fill) -> None:
    fields: list[dict[str, object]] = [{"name": "user", "type": "string"}, {"name": "n", "type": ["null", "int"]}]
    old = json.dumps({"type": "record", "name": "Click", "fields": fields})
    fields = [{"name": "who", "type": "string", "aliases": ["user"]}, {"name": "at", "type": "int", "default": 7}]
    new = json.dumps({"type": "record", "name": "Click", "fields": fields})
    sink = Topic("framed.avro", Avro(old, confluent=True, schema_id=9), key="user")
    written = replace(
        doubled("to-avro", "x", "to-avro.dead"),
        name="written",
        sink=sink,
        function=lambda frame: frame.select("user", "n"),
    )
    fill("to-avro", value("ann", 1), json.dumps({"user": "bob"}).encode())
    run(spark, job, written)
    records = read_topic(job.bootstrap_servers, "framed.avro")
    assert sorted((record.key, record.value) for record in records) == [
        (b"ann", b"\0\0\0\0\x09\x06ann\x02\x02"),
        (b"bob", b"\0\0\0\0\x09\x06bob\x00"),
    ]
    source = Topic("framed.avro", Avro(old, confluent=True, reader_schema=new))
    read = replace(written, name="read", sources=(source,), sink=Topic("read.json"), dead_letters=None)
    run(spark, job, replace(read, function=lambda frame: frame.select("who", "at")))
    assert sorted(record.value for record in read_topic(job.bootstrap_servers, "read.json")) == [
        b'{"who":"ann","at":7}',
        b'{"who":"bob","at":7}',
    ]
    for columns, words in (
        (["user", "kafka_offset"], "topic framed.avro: the Avro schema has no field for the column kafka_offset"),
        (["n"], "the Avro schema has a field without a column: user"),
    ):
        spoilt = replace(written, sink=replace(sink, key=None), function=lambda frame, of=columns: frame.select(*of))
        with pytest.raises(DeclarationError, match=words):
            run(spark, job, spoilt)
