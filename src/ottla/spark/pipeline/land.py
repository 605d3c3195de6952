"""``ottla pipeline land``: a topic becomes a Parquet or Delta table, exactly once.

A batch's files count when the table's own log names them: Delta's, or the one of Spark's file sink. Both know the batch
by the checkpoint that it belongs to, so table, checkpoint and the landing's description stay together: by default all
are below the table's directory.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.spark.jars import Say
from ottla.spark.pipeline.cluster_topics import spans_of
from ottla.spark.pipeline.endpoints import Topic
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import failing_as
from ottla.spark.pipeline.formats import Avro, Format, Json, Raw, SchemaError, struct_of
from ottla.spark.pipeline.hadoop_files import HadoopFiles, local_path
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.landing import DIRECTORY, DOCUMENT, Landing, LandingError, partition_columns
from ottla.spark.pipeline.leftover_files import LeftoverFiles
from ottla.spark.pipeline.preflight import check_topics, cluster_id, create_topics
from ottla.spark.pipeline.rescued_fields import DEFAULT_COLUMN
from ottla.spark.pipeline.sampling import infer_schema, nothing_to_infer
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import Supervisor, started_queries
from ottla.spark.pipeline.topic_reading import letters_of, records_of
from ottla.spark.pipeline.writing import start_query
from ottla.spark.session import check_packages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

DEFAULT_MAX_OFFSETS: Final = 2_000_000
"""Records in a batch, at most: what is done again after a crash."""


def land(
    job: Job,
    landing: Landing,
    path: str,
    *,
    dead_letters: str | None,
    every: str,
    max_offsets: int = DEFAULT_MAX_OFFSETS,
    starting_offsets: str = "earliest",
    say: Say,
) -> int:
    """Land the topic in the table at ``path`` until a stop is asked for, or until all is there; the exit code."""
    packages = ["delta"] if landing.table_format == "delta" else []
    check_packages(packages)
    from ottla.spark.pyspark_versions import tell_limits

    check_topics(job, reads=[landing.topic])
    check_before_spark(job, landing, path)
    tell_limits(say)
    options = {"startingOffsets": starting_offsets, "maxOffsetsPerTrigger": str(max_offsets)}
    with spark_of(job, packages=packages, writes=[path, landing.checkpoint], say=say) as spark, StopRequest() as stop:
        land_on(spark, job, landing, path, stop, options=options, dead_letters=dead_letters, every=every, say=say)
    return stop.exit_code if job.once else 0


def land_on(
    spark: "SparkSession",
    job: Job,
    landing: Landing,
    path: str,
    stop: StopRequest,
    *,
    options: Mapping[str, str],
    dead_letters: str | None,
    every: str,
    say: Say,
) -> None:
    """As ``land``, on a session that stays; the topic is there."""
    files = HadoopFiles(spark, path)
    landing = settled(spark, job, landing, files, say)
    leftovers = LeftoverFiles(spark, files, landing.checkpoint)
    if landing.table_format == "parquet":
        leftovers.look()
        leftovers.sweep()
    source = Topic(landing.topic, value_format(landing), options=options)
    with started_queries() as queries:
        with failing_as("the landing cannot start"):
            queries.extend(_start(spark, job, landing, source, files, dead_letters=dead_letters, every=every, say=say))
        say(f"landing topic {landing.topic} in {files.path}" + ("" if job.once else "; stop with Ctrl-C"))
        Supervisor(job, stop, on_batch=leftovers.sweep).watch(queries)
    if landing.table_format == "parquet":
        leftovers.look()
        leftovers.sweep()


def check_before_spark(job: Job, landing: Landing, path: str) -> None:
    """What is wrong with Avro's schema or the directory, if it is one of this machine's own file system.

    What the directory's description says of the schema is compared later, for it may have been said in other words.
    """
    if landing.value == "avro":
        check_fields(landing)
    local = local_path(path)
    if local is None:
        return
    if os.path.isfile(local):
        raise LandingError(f"{path} is a file: land in a directory")
    names = sorted(os.listdir(local)) if os.path.isdir(local) else []
    document = os.path.join(local, DIRECTORY, DOCUMENT)
    if os.path.isfile(document):
        with open(document, encoding="utf-8") as stream:
            earlier = Landing.parse(stream.read(), path)
        replace(landing, schema=earlier.schema, cluster=cluster_id(job)).resumed_from(earlier, path)
        return
    check_new(names, path)
    is_inferred = landing.value == "json" and not landing.schema
    if is_inferred and all(span.end == span.start for span in spans_of(job, [landing.topic])):
        raise SchemaError(nothing_to_infer(landing.topic))


def check_new(names: Sequence[str], path: str) -> None:
    """LandingError if the names in a directory without a description say that it is somebody else's."""
    others = [name for name in names if name != DIRECTORY]
    if others:
        raise LandingError(f"{path} holds {others[0]} and was not made by this command: land in a new directory")


def settled(spark: "SparkSession", job: Job, landing: Landing, files: HadoopFiles, say: Say) -> Landing:
    """The landing with its schema: as written down by the first run, else given or inferred, and written down now."""
    landing = replace(landing, cluster=cluster_id(job))
    document = HadoopFiles(spark, f"{files.path}/{DIRECTORY}")
    if landing.schema and landing.value == "json":
        landing = _with_schema(landing, struct_of(landing.schema))
    text = document.read(DOCUMENT)
    if text is not None:
        earlier = Landing.parse(text, files.path)
        landing = landing.resumed_from(earlier, files.path)
        check_fields(landing)
        if landing.rescue != earlier.rescue:
            document.replace(DOCUMENT, landing.document())
        return landing
    check_new(files.names(), files.path)
    if landing.value == "json" and not landing.schema:
        schema = infer_schema(spark, job, landing.topic)
        say(f"inferred the schema {schema.simpleString()}")
        landing = _with_schema(landing, schema)
        if landing.rescue is None:
            landing = replace(landing, rescue=DEFAULT_COLUMN)
            say(f"fields that it lacks go to the column {DEFAULT_COLUMN}")
    check_fields(landing)
    document.write(DOCUMENT, landing.document())
    return landing


def _with_schema(landing: Landing, schema: "StructType") -> Landing:
    return replace(landing, schema=schema.json())


def check_fields(landing: Landing) -> None:
    """SchemaError if the schema has names that are ours, or the rescue column's, or lacks the time field."""
    if landing.value == "avro":
        Avro(landing.schema, reader_schema=landing.reader_schema or None).check()
    if landing.value != "json":
        return
    names = struct_of(landing.schema).fieldNames()
    if landing.rescue and landing.rescue.lower() in [name.lower() for name in names]:
        raise SchemaError(f"the schema has a field {landing.rescue}: name another column for what it lacks (--rescue)")
    names += [landing.rescue] if landing.rescue else []
    taken = next((name for name in names if name.lower().startswith("kafka_")), None)
    if taken is not None:
        raise SchemaError(f"the field {taken} has a name that is for the record's own place and time (kafka_…)")
    if landing.time_field is not None and landing.time_field not in names:
        raise SchemaError(f"the time field {landing.time_field} is not among {', '.join(names)}")


def value_format(landing: Landing) -> Format:
    """How the topic's values are read."""
    if landing.value == "json":
        return Json(landing.schema, landing.rescue or None)
    if landing.value == "raw":
        return Raw()
    return Avro(landing.schema, landing.confluent, landing.reader_schema or None)


def _start(
    spark: "SparkSession",
    job: Job,
    landing: Landing,
    source: Topic,
    files: HadoopFiles,
    *,
    dead_letters: str | None,
    every: str,
    say: Say,
) -> "Iterator[StreamingQuery]":
    from ottla.spark.pipeline.endpoints import Table

    frame = landed(records_of(spark, job, source, strict=dead_letters is None), landing)
    options = {"mergeSchema": "true"} if landing.rescue else {}  # the table may be older than the column
    table = Table(files.path, landing.table_format, partition_columns(landing.partition_by), options)
    has_letters = dead_letters is not None and landing.value != "raw"
    if has_letters:
        create_topics(job, [str(dead_letters)], like=[landing.topic], say=say)
    yield start_query(
        frame, table, job, name=job.name, checkpoint=landing.checkpoint, every=every, output_mode="append"
    )
    if has_letters:
        yield start_query(
            letters_of(spark, job, source),
            Topic(str(dead_letters)),
            job,
            name=f"{job.name}.dead-letters",
            checkpoint=f"{landing.checkpoint}.dead-letters",
            every=every,
            output_mode="append",
        )


def landed(frame: "DataFrame", landing: Landing) -> "DataFrame":
    """The rows of the table: the value's fields, the record's place and time, and the columns of its partitions."""
    from pyspark.sql import functions as f

    if landing.value == "raw":
        others = ("key", "topic", "partition", "offset", "timestamp", "headers")
        frame = frame.select("value", *(f.col(name).alias(f"kafka_{name}") for name in others))
    time = f.col("kafka_timestamp")
    if landing.time_field is not None:
        time = f.col(f"`{landing.time_field}`")
        if frame.schema[landing.time_field].dataType.typeName() == "string":
            time = f.try_to_timestamp(time)
    if landing.partition_by == "month":
        return frame.withColumn("kafka_month", f.date_format(time, "yyyy-MM"))
    if landing.partition_by in ("day", "hour"):
        frame = frame.withColumn("kafka_date", f.to_date(time))
    return frame.withColumn("kafka_hour", f.hour(time)) if landing.partition_by == "hour" else frame
