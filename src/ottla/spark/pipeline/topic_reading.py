"""A topic as a DataFrame: its good records by their format, and the bad ones as dead letters.

The good and the bad are two queries, each with its own checkpoint and each exactly once on its own; so a bad record
costs nothing of what the sink promises, whatever the sink is. The price is that values are read twice.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ottla.spark.pipeline.endpoints import STARTING_OFFSETS, Topic
from ottla.spark.pipeline.formats import Json, Raw
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.rescued_fields import observed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KAFKA_COLUMNS: Final = ("key", "topic", "partition", "offset", "timestamp")
"""They go with the fields of a value, as ``kafka_key`` and so on."""
LETTER_HEADERS: Final = ("topic", "partition", "offset", "timestamp")
"""Where a dead letter comes from, as ``ottla.topic`` and so on."""


def stream_of(spark: "SparkSession", job: Job, topic: Topic, *, columns: str) -> "DataFrame":
    """The topic as a stream with only these columns of the source's (``key,value,…``)."""
    options = {STARTING_OFFSETS: "earliest", **job.read_options(), "subscribe": topic.name, "columns": columns}
    if topic.bootstrap_servers is not None:
        options["kafka.bootstrap.servers"] = topic.bootstrap_servers
    return spark.readStream.format("ottla").options(**{**options, **topic.options}).load()


def records_of(spark: "SparkSession", job: Job, topic: Topic, *, strict: bool) -> "DataFrame":
    """The good records. ``strict``: a bad one fails its batch; else it is passed over, for ``letters_of`` has it."""
    from pyspark.sql import functions as f

    if isinstance(topic.value, Raw):
        return stream_of(spark, job, topic, columns="key,value,topic,partition,offset,timestamp,timestampType,headers")
    raw = stream_of(spark, job, topic, columns="key,value,topic,partition,offset,timestamp")
    parsed = topic.value.parsed(f.col("value"))
    read = raw.select(
        parsed.value.alias("record"), parsed.error.alias("error"), *(f.col(name) for name in KAFKA_COLUMNS)
    )
    good = f.col("error").isNull()
    if strict:
        good = f.when(good, f.lit(True)).otherwise(f.raise_error(_complaint()).cast("boolean"))
    records = read.where(good).select("record.*", *(f.col(name).alias(f"kafka_{name}") for name in KAFKA_COLUMNS))
    rescue = topic.value.rescue if isinstance(topic.value, Json) else None
    return observed(records, rescue, topic.name) if rescue else records


def letters_of(spark: "SparkSession", job: Job, topic: Topic) -> "DataFrame":
    """The bad records as dead letters: as they were, with headers that say why and where they come from."""
    from pyspark.sql import functions as f

    assert not isinstance(topic.value, Raw), "raw values are never bad"
    # The group, if there is one, shows how far the pipeline itself is.
    options = {name: value for name, value in topic.options.items() if name.lower() != "commitoffsetstogroup"}
    columns = "key,value,topic,partition,offset,timestamp,headers"
    raw = stream_of(spark, job, replace(topic, options=options), columns=columns)
    error = topic.value.parsed(f.col("value")).error
    added = [_header("error", f.col("error")), _header("pipeline", f.lit(job.name))]
    added += [_header(name, f.col(name).cast("string")) for name in LETTER_HEADERS]
    return (
        raw.select("*", error.alias("error"))
        .where(f.col("error").isNotNull())
        .select("key", "value", f.concat(f.coalesce(f.col("headers"), f.array()), f.array(*added)).alias("headers"))
    )


def _complaint() -> "Column":
    from pyspark.sql import functions as f

    place = f.concat(f.col("topic"), f.lit("-"), f.col("partition"), f.lit(" at offset "), f.col("offset"))
    return f.concat(f.lit("record "), place, f.lit(" cannot be read: "), f.col("error"))


def _header(name: str, value: "Column") -> "Column":
    from pyspark.sql import functions as f

    return f.struct(f.lit(f"ottla.{name}").alias("key"), value.cast("binary").alias("value"))
