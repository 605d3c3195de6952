"""``ottla pipeline land``: a topic becomes a Parquet or Delta table, exactly once.

A batch's files count when the table's own log names them: Delta's, or the one of Spark's file sink. Both know the batch
by the checkpoint that it belongs to, so table, checkpoint and the landing's description stay together: by default all
are below the table's directory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.spark.jars import Say
from ottla.spark.pipeline.endpoints import Topic
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import failing_as
from ottla.spark.pipeline.formats import Avro, Format, Json, Raw, SchemaError, struct_of
from ottla.spark.pipeline.hadoop_files import HadoopFiles
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.landing import DIRECTORY, DOCUMENT, Landing, LandingError, partition_columns
from ottla.spark.pipeline.leftover_files import LeftoverFiles
from ottla.spark.pipeline.preflight import check_topics, cluster_id
from ottla.spark.pipeline.sampling import infer_schema
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

    if landing.value == "avro":
        Avro(landing.schema).check()
    tell_limits(say)
    writes = [dead_letters] if dead_letters is not None and landing.value != "raw" else []
    check_topics(job, reads=[landing.topic], writes=writes, say=say)
    options = {"startingOffsets": starting_offsets, "maxOffsetsPerTrigger": str(max_offsets)}
    with spark_of(job, packages=packages, say=say) as spark, StopRequest() as stop:
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
    """As ``land``, on a session that stays; the topics are there."""
    files = HadoopFiles(spark, path)
    landing = settled(spark, job, landing, files, say)
    leftovers = LeftoverFiles(spark, files, landing.checkpoint)
    if landing.table_format == "parquet":
        leftovers.look()
        leftovers.sweep()
    source = Topic(landing.topic, value_format(landing), options=options)
    with started_queries() as queries:
        with failing_as("the landing cannot start"):
            queries.extend(_start(spark, job, landing, source, files, dead_letters=dead_letters, every=every))
        say(f"landing topic {landing.topic} in {files.path}" + ("" if job.once else "; stop with Ctrl-C"))
        Supervisor(job, stop, on_batch=leftovers.sweep).watch(queries)
    if landing.table_format == "parquet":
        leftovers.look()
        leftovers.sweep()


def settled(spark: "SparkSession", job: Job, landing: Landing, files: HadoopFiles, say: Say) -> Landing:
    """The landing with its schema: as written down by the first run, else given or inferred, and written down now."""
    landing = replace(landing, cluster=cluster_id(job))
    document = HadoopFiles(spark, f"{files.path}/{DIRECTORY}")
    if landing.schema and landing.value == "json":
        landing = _with_schema(landing, struct_of(landing.schema))
    text = document.read(DOCUMENT)
    if text is not None:
        return landing.resumed_from(Landing.parse(text, files.path), files.path)
    others = [name for name in files.names() if name != DIRECTORY]
    if others:
        raise LandingError(f"{files.path} holds {others[0]} and was not made by this command: land in a new directory")
    if landing.value == "json" and not landing.schema:
        schema = infer_schema(spark, job, landing.topic)
        say(f"inferred the schema {schema.simpleString()}")
        landing = _with_schema(landing, schema)
    check_fields(landing)
    document.write(DOCUMENT, landing.document())
    return landing


def _with_schema(landing: Landing, schema: "StructType") -> Landing:
    return replace(landing, schema=schema.json())


def check_fields(landing: Landing) -> None:
    """SchemaError if the schema has names that are ours, or lacks the time field."""
    if landing.value != "json":
        return
    names = struct_of(landing.schema).fieldNames()
    taken = next((name for name in names if name.lower().startswith("kafka_")), None)
    if taken is not None:
        raise SchemaError(f"the field {taken} has a name that is for the record's own place and time (kafka_…)")
    if landing.time_field is not None and landing.time_field not in names:
        raise SchemaError(f"the time field {landing.time_field} is not among {', '.join(names)}")


def value_format(landing: Landing) -> Format:
    """How the topic's values are read."""
    if landing.value == "json":
        return Json(landing.schema)
    return Avro(landing.schema, confluent=landing.confluent) if landing.value == "avro" else Raw()


def _start(
    spark: "SparkSession",
    job: Job,
    landing: Landing,
    source: Topic,
    files: HadoopFiles,
    *,
    dead_letters: str | None,
    every: str,
) -> "Iterator[StreamingQuery]":
    from ottla.spark.pipeline.endpoints import Table

    frame = landed(records_of(spark, job, source, strict=dead_letters is None), landing)
    table = Table(files.path, landing.table_format, partition_columns(landing.partition_by))
    yield start_query(
        frame, table, job, name=job.name, checkpoint=landing.checkpoint, every=every, output_mode="append"
    )
    if dead_letters is not None and landing.value != "raw":
        yield start_query(
            letters_of(spark, job, source),
            Topic(dead_letters),
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
