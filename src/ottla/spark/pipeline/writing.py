"""A DataFrame to a sink: started as a query with its checkpoint, exactly once."""

from typing import TYPE_CHECKING, Final

from ottla.spark.pipeline.declaration import DeclarationError, OutputMode
from ottla.spark.pipeline.endpoints import Endpoint, Table, Topic
from ottla.spark.pipeline.formats import Avro, SchemaError
from ottla.spark.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

RECORD_COLUMNS: Final = frozenset({"key", "value", "headers", "topic", "partition", "timestamp"})


def start_query(
    frame: "DataFrame", sink: Endpoint, job: Job, *, name: str, checkpoint: str, every: str, output_mode: OutputMode
) -> "StreamingQuery":
    """Start to write the stream, of ``as_records`` if it goes to a topic; AnalysisException if it cannot be written."""
    if isinstance(sink, Topic):
        writer = frame.writeStream.format("ottla").options(**topic_options(job, sink))
    else:
        writer = frame.writeStream.format(sink.format).options(**sink.options)
        if sink.partition_by:
            writer = writer.partitionBy(*sink.partition_by)
    writer = writer.queryName(name).outputMode(output_mode).option("checkpointLocation", checkpoint)
    writer = writer.trigger(availableNow=True) if job.once else writer.trigger(processingTime=every)
    return writer.start(sink.path) if isinstance(sink, Table) else writer.start()


def topic_options(job: Job, sink: Topic) -> dict[str, str]:
    """What ``writeStream.format("ottla")`` is told."""
    options = {**job.write_options(), "topic": sink.name, "exactlyOnce": "true"}
    if sink.bootstrap_servers is not None:
        options["kafka.bootstrap.servers"] = sink.bootstrap_servers
    return {**options, **sink.options}


def as_records(frame: "DataFrame", sink: Topic, name: str) -> "DataFrame":
    """Rows as records: by the sink's Avro schema, as they are if they have the columns of records, else as JSON."""
    from pyspark.sql import functions as f

    columns = frame.columns
    if sink.key is not None and sink.key not in columns:
        raise DeclarationError(f"pipeline {name}: the key of its sink, {sink.key}, is not among {', '.join(columns)}")
    is_avro = isinstance(sink.value, Avro)
    if "value" in columns and set(columns) <= RECORD_COLUMNS and sink.key is None and not is_avro:
        return frame
    value = _value(columns, sink, name).alias("value")
    if sink.key is None:
        return frame.select(value)
    return frame.select(f.col(f"`{sink.key}`").cast("string").alias("key"), value)


def _value(columns: list[str], sink: Topic, name: str) -> "Column":
    from pyspark.sql import functions as f

    if not isinstance(sink.value, Avro):
        return f.to_json(f.struct(*(f.col(f"`{each}`") for each in columns)))
    try:
        return sink.value.written(columns)
    except SchemaError as error:
        raise DeclarationError(f"pipeline {name}, topic {sink.name}: {error}") from None
