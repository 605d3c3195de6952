"""``ottla pipeline verify`` from its options to its answer: which sides, by what, on a session of its own."""

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ottla.spark.jars import Say
from ottla.spark.pipeline.cluster_topics import admin_of
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.hadoop_files import local_path
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.landing import DIRECTORY, DOCUMENT, dead_letters_of
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.record_hash import DEFAULT_PARTS
from ottla.spark.pipeline.record_mapping import MappingError, RecordMapping
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableSource, check_there, is_delta, settled_table
from ottla.spark.pipeline.topic_slices import DEFAULT_SLICE_RECORDS
from ottla.spark.pipeline.verify import DEFAULT_SAMPLES, Verification, verify_on
from ottla.spark.pipeline.verify_letters import with_letters
from ottla.spark.pipeline.verify_result import Comparison
from ottla.spark.pipeline.verify_sides import ComparedSide, TableSide, TopicSide, landed_sides
from ottla.spark.session import check_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What the user asks for: a topic, and another (on ``target`` if it is another cluster) or a table.

    ``mapping`` None: the table is one that ``land`` made. ``parts`` empty: what both have of key, value and headers.
    """

    topic: str
    other_topic: str | None = None
    target: Job | None = None
    table: TableSource | None = None
    mapping: RecordMapping | None = None
    dead_letters: str | None = None
    """A topic with those records of the topic that are no rows of the table."""
    parts: tuple[str, ...] = ()
    samples: int = DEFAULT_SAMPLES
    slice_records: int = DEFAULT_SLICE_RECORDS


def verify(job: Job, request: VerifyRequest, *, say: Say) -> tuple[Comparison | None, int]:
    """The comparison, None if it was stopped; and the exit code of a stop, else 0."""
    packages = ["delta"] if request.table is not None and is_delta(request.table) else []
    check_packages(packages)
    letters = [] if request.dead_letters is None else [request.dead_letters]
    check_topics(job, reads=[request.topic, *letters])
    if request.other_topic is not None:
        check_topics(request.target or job, reads=[request.other_topic])
    if request.table is not None:
        check_there(request.table)
        if request.mapping is None and is_foreign(request.table.path):
            raise MappingError(foreign_table(request.table.path))
    with spark_of(job, packages=packages, say=say) as spark, StopRequest() as stop:
        store = RunStore(spark, job.checkpoint_path)
        work = settled_verification(spark, job, request)
        comparison = verify_on(spark, job, work, store, stop, say=say)
    if comparison is not None and may_be_letters(request, comparison):
        comparison = replace(comparison, advice=letters_advice(job, request.topic))
    return comparison, stop.exit_code if comparison is None else 0


def may_be_letters(request: VerifyRequest, comparison: Comparison) -> bool:
    """Whether what the table lacks may be dead letters, which nobody counted."""
    return request.table is not None and request.dead_letters is None and comparison.only_left > 0


def letters_advice(job: Job, topic: str) -> str:
    """How to count them; with the name that ``land`` gives to their topic, if there is such a topic."""
    usual = dead_letters_of(topic)
    with admin_of(job) as admin:
        name = usual if usual in admin.list_topics() else "TOPIC"
    return f"records that did not fit are no rows: --dead-letters {name} counts those that became dead letters"


def settled_verification(spark: "SparkSession", job: Job, request: VerifyRequest) -> Verification:
    """Both sides and what they are compared by; MappingError or TableError if that cannot be."""
    left = TopicSide(job, request.topic, request.slice_records)
    right: ComparedSide
    if request.table is None:
        assert request.other_topic is not None, "there is a topic or a table"
        right = TopicSide(request.target or job, request.other_topic, request.slice_records)
    else:
        topic = left
        left, right = _with_table(spark, topic, request.table, request.mapping)
        if request.dead_letters is not None:
            right = with_letters(right, topic, request.dead_letters)
    for part in request.parts:
        if part not in right.parts:
            raise MappingError(f"{right.what} is not told its {part}: give --{part}, or do not compare it")
    parts = request.parts or tuple(part for part in DEFAULT_PARTS if part in right.parts)
    return Verification(left, right, parts, request.samples)


def _with_table(
    spark: "SparkSession", topic: TopicSide, table: TableSource, mapping: RecordMapping | None
) -> tuple[TopicSide, TableSide]:
    settled = settled_table(spark, table)
    if mapping is not None:
        return topic, TableSide(settled, mapping)
    sides = landed_sides(spark, topic, settled)
    if sides is None:
        raise MappingError(foreign_table(table.path))
    return sides


def is_foreign(path: str) -> bool:
    """Whether ``land`` did not make the table, as far as this machine's own file system says so."""
    local = local_path(path)
    return local is not None and not os.path.isfile(os.path.join(local, DIRECTORY, DOCUMENT))


def foreign_table(path: str) -> str:
    """What to say of a table of which it is not known what its records are."""
    return f"{path} was not made by `ottla pipeline land`: give --value, and --key, to say what its records are"
