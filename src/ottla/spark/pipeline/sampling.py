"""A few thousand values of a topic, from the beginning and from the end of each partition, to guess a schema from."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.spark.pipeline.formats import SchemaError
from ottla.spark.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from ottla.clients.sync import Consumer
    from ottla.common.topic_partition import TopicPartition

SAMPLE_RECORDS: Final = 10_000
_SAMPLE_BYTES: Final = 32 << 20
_TIME_S: Final = 30
_POLL_MS: Final = 500


class Stretch(NamedTuple):
    """Offsets of one partition, the end excluded."""

    start: int
    end: int


def stretches(beginning: int, end: int, records: int) -> list[Stretch]:
    """Where to look in a partition: all of it if it is short, else its beginning and its end. Pure."""
    if end - beginning <= records:
        return [Stretch(beginning, end)] if end > beginning else []
    half = max(1, records // 2)
    return [Stretch(beginning, beginning + half), Stretch(end - half, end)]


def sample_values(job: Job, topic: str, records: int = SAMPLE_RECORDS) -> list[bytes]:
    """Values that are not null; fewer than asked for if there are no more, or if they are large or come slowly."""
    from ottla.clients.sync import Consumer
    from ottla.common.topic_partition import TopicPartition

    properties = {"isolation.level": "read_committed", **job.consumer_properties(), "enable.auto.commit": "false"}
    properties.pop("group.id", None)
    values: list[bytes] = []
    with Consumer(properties) as consumer:
        partitions = [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]
        beginnings, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        share = max(2, records // max(1, len(partitions)))
        looks = {each: stretches(beginnings[each], ends[each], share) for each in partitions}
        for turn in range(2):
            wanted = {each: found[turn] for each, found in looks.items() if len(found) > turn}
            if wanted:
                values += _values(consumer, wanted)
    return values


def _values(consumer: "Consumer[bytes, bytes]", wanted: "Mapping[TopicPartition, Stretch]") -> list[bytes]:
    consumer.assign(list(wanted))
    for partition, stretch in wanted.items():
        consumer.seek(partition, stretch.start)
    ends = {partition.partition: stretch.end for partition, stretch in wanted.items()}
    values: list[bytes] = []
    size = 0
    deadline = time.monotonic() + _TIME_S
    while size < _SAMPLE_BYTES and time.monotonic() < deadline:
        for record in consumer.poll(_POLL_MS):
            if record.value is not None and record.offset < ends[record.partition]:
                values.append(record.value)
                size += len(record.value)
        if all(consumer.position(partition) >= stretch.end for partition, stretch in wanted.items()):
            break
    return values


def nothing_to_infer(topic: str) -> str:
    """What to say of a topic without records."""
    return f"topic {topic} has no records to infer a schema from: give one with --schema"


def infer_schema(spark: "SparkSession", job: Job, topic: str) -> "StructType":
    """The schema that Spark sees in a sample of JSON values; SchemaError if there are none."""
    values = sample_values(job, topic)
    if not values:
        raise SchemaError(nothing_to_infer(topic))
    texts = spark.sparkContext.parallelize([value.decode(errors="replace") for value in values], 2)
    schema = spark.read.json(texts, mode="DROPMALFORMED").schema
    if not schema.fields:
        raise SchemaError(
            f"none of {len(values)} records of topic {topic} is a JSON object: give a schema, or land them as they are"
        )
    return schema
