"""``ottla pipeline profile``: keys, skew and hot partitions, sizes and rates over time of a topic.

The topic is read in slices; each gives a table of partitions by times by sizes, the keys with most records in it, and a
sketch of all keys. These are small and add up, so that memory does not depend on how large the topic is, and a killed
run resumes.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.clients.errors import UnsupportedVersionError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.jars import Say
from ottla.spark.pipeline.cluster_topics import Span, admin_of, spans_of
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import cluster_id
from ottla.spark.pipeline.profile_result import Profile, TimeScale, merge, records_of_slice, time_scale
from ottla.spark.pipeline.sliced_run import RunStore, Unit, run_units
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.topic_slices import DEFAULT_SLICE_RECORDS, TopicSlice, parse_spans, slices_of, spans_document
from ottla.spark.pipeline.verify_sides import read_slice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_KEYS: Final = 20
_KEYS_A_SLICE: Final = 1000
_FIRST_RECORD_MS: Final = 5000


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What is profiled; ``keys``: so many of those with most records are told."""

    topic: str
    keys: int = DEFAULT_KEYS
    slice_records: int = DEFAULT_SLICE_RECORDS

    def wanted(self, cluster: str) -> dict[str, Any]:
        """What makes two runs the same; ``cluster`` is the id of the topic's."""
        return {"cluster": cluster, "profile": self.topic, "slice_records": self.slice_records}


def profile_on(
    spark: "SparkSession", job: Job, request: ProfileRequest, store: RunStore, stop: StopRequest, *, say: Say
) -> Profile | None:
    """The topic's profile; None if a stop was asked for before all was read."""

    def plan() -> dict[str, Any]:
        spans = spans_of(job, [request.topic])
        scale = time_scale(*time_range(job, spans))
        return {"spans": spans_document(spans), "scale": [scale.start_ms, scale.width_ms, scale.count]}

    plan_document, resumes = store.settle(request.wanted(cluster_id(job)), plan)
    say(f"resuming the profile that began at {plan_document['began']}" if resumes else f"reading topic {request.topic}")
    spans, scale = parse_spans(plan_document["spans"]), TimeScale(*plan_document["scale"])
    units = [
        Unit(f"slice-{number:05d}", part.offsets, partial(measure, spark, job, part, scale), records_of_slice)
        for number, part in enumerate(slices_of(spans, request.slice_records))
    ]
    results = run_units(job, store, units, stop)
    if results is None:
        return None
    distinct = distinct_keys(spark, [each["sketch"] for each in results if each["sketch"]])
    found = merge(request.topic, len(spans), scale, results, distinct_keys=distinct, top=request.keys)
    store.clear()
    return found


def measure(spark: "SparkSession", job: Job, part: TopicSlice, scale: TimeScale) -> dict[str, Any]:
    """What one slice gives; see profile_result.py."""
    from pyspark.sql import functions as f

    records = read_slice(spark, job, part, "key,value,partition,timestamp")
    key_size, value_size = (f.coalesce(f.octet_length(name), f.lit(0)) for name in ("key", "value"))
    late = f.floor((f.unix_millis("timestamp") - f.lit(scale.start_ms)) / f.lit(scale.width_ms))
    cells = (
        records.select(
            "partition",
            f.greatest(f.lit(0), f.least(f.lit(scale.count - 1), late)).cast("int").alias("time"),
            key_size.alias("key_size"),
            value_size.alias("value_size"),
            f.ceil(f.log2(key_size + value_size + f.lit(1))).cast("int").alias("size"),
            f.col("key").isNull().cast("int").alias("null_key"),
            f.col("value").isNull().cast("int").alias("tombstone"),
        )
        .groupBy("partition", "time", "size")
        .agg(f.count(f.lit(1)), *(f.sum(name) for name in ("key_size", "value_size", "null_key", "tombstone")))
        .collect()
    )
    keys = (
        read_slice(spark, job, part, "key,partition")
        .where("key is not null")
        .groupBy("key")
        .agg(f.count(f.lit(1)).alias("records"), f.max("partition").alias("partition"))
        .persist()
    )
    try:
        top = keys.orderBy(f.col("records").desc()).limit(_KEYS_A_SLICE).collect()
        sketch = keys.agg(f.hll_sketch_agg("key")).collect()[0][0]
    finally:
        keys.unpersist()
    return {
        "cells": [list(row) for row in cells],
        "keys": [[base64.b64encode(row["key"]).decode(), row["partition"], row["records"]] for row in top],
        "keys_floor": top[-1]["records"] if len(top) == _KEYS_A_SLICE else 0,
        "sketch": base64.b64encode(sketch).decode() if sketch is not None else "",
    }


def distinct_keys(spark: "SparkSession", sketches: Sequence[str]) -> int:
    """About how many keys there are, by the sketches of all slices."""
    from pyspark.sql import functions as f

    if not sketches:
        return 0
    frame = spark.createDataFrame([(bytearray(base64.b64decode(each)),) for each in sketches], "sketch binary")
    return int(frame.agg(f.hll_sketch_estimate(f.hll_union_agg("sketch"))).collect()[0][0])


def time_range(job: Job, spans: Sequence[Span]) -> tuple[int, int]:
    """From the first record of a partition to the latest time that there is, in milliseconds; (0, 0) if empty."""
    from ottla.clients.admin.offsets import OffsetSpec

    partitions = [TopicPartition(span.topic, span.partition) for span in spans if span.end > span.start]
    if not partitions:
        return 0, 0
    firsts = first_timestamps(job, spans)
    try:
        with admin_of(job) as admin:
            latest = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.max_timestamp()))
        lasts = [each.timestamp_ms for each in latest.values() if each.offset >= 0]
    except UnsupportedVersionError:
        lasts = []
    if not lasts:
        import time

        lasts = [int(time.time() * 1000)]
    first = min((each for each in firsts if each >= 0), default=0)
    return first, max(*lasts, first)


def first_timestamps(job: Job, spans: Sequence[Span]) -> list[int]:
    """The time of the first record of each partition that has one."""
    from ottla.clients.sync import Consumer

    wanted = {TopicPartition(span.topic, span.partition): span.start for span in spans if span.end > span.start}
    found: dict[TopicPartition, int] = {}
    properties = {**job.consumer_properties(), "max.partition.fetch.bytes": "65536", "enable.auto.commit": "false"}
    with Consumer(properties) as consumer:
        consumer.assign(list(wanted))
        for partition, offset in wanted.items():
            consumer.seek(partition, offset)
        while len(found) < len(wanted):
            records = consumer.poll(_FIRST_RECORD_MS)
            if not records:
                break  # nothing but markers of transactions, say
            for record in records:
                place = TopicPartition(record.topic, record.partition)
                found.setdefault(place, record.timestamp_ms)
            consumer.pause(*found)
    return list(found.values())
