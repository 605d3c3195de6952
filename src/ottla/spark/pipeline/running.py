"""``ottla pipeline run``: the pipelines of a file, checked, started on one session, watched until they end."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ottla.spark.jars import Say
from ottla.spark.pipeline.declaration import Pipeline
from ottla.spark.pipeline.declared_checks import (
    check_declared,
    check_schemas,
    cluster_ids,
    create_declared,
    packages_of,
)
from ottla.spark.pipeline.endpoints import Table, Topic
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import failing_as
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.job_document import settle_document
from ottla.spark.pipeline.letter_boxes import LetterBox, letter_boxes
from ottla.spark.pipeline.pipeline_file import chosen, load_pipelines
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import Supervisor, started_queries
from ottla.spark.pipeline.topic_reading import letters_of, records_of
from ottla.spark.pipeline.writing import as_records, start_query
from ottla.spark.session import check_packages
from ottla.spark.telling import telling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def run_file(path: str, job: Job, *, only: Sequence[str], say: Say) -> int:
    """Run the pipelines that the file declares; the exit code is 0 when they ended or were stopped as asked."""
    return run_pipelines(chosen(load_pipelines(path), only, path), job, say=say)


def run_pipelines(
    pipelines: Sequence[Pipeline], job: Job, *, say: Say, on_start: Callable[[], None] = lambda: None
) -> int:
    """Run these pipelines on a session of their own until they end or a stop is asked for."""
    packages = packages_of(pipelines)
    check_packages(packages)
    check_declared(pipelines, job)
    tables = [each.sink.path for each in pipelines if isinstance(each.sink, Table)]
    with spark_of(job, packages=packages, writes=tables, say=say) as spark, StopRequest() as stop:
        run_on(spark, pipelines, job, stop, say=say, on_start=on_start)
    return stop.exit_code if job.once else 0


def run_on(
    spark: "SparkSession",
    pipelines: Sequence[Pipeline],
    job: Job,
    stop: StopRequest,
    *,
    say: Say,
    on_start: Callable[[], None] = lambda: None,
) -> None:
    """Run these pipelines, which ``check_declared`` found good, on a session that stays."""
    with started_queries() as queries:
        names = ", ".join(each.name for each in pipelines)
        with telling(say, f"starting {names}"):
            check_schemas(pipelines)
            settle_checkpoints(spark, pipelines, job)
            frames = [frame_of_pipeline(spark, each, job) for each in pipelines]
            create_declared(pipelines, job, say=say)
            queries.extend(start_pipeline(each, frame, job) for each, frame in zip(pipelines, frames, strict=True))
            queries.extend(start_letters(spark, each, job) for each in letter_boxes(pipelines))
        say(f"running {names}" + ("" if job.once else "; stop with Ctrl-C"))
        on_start()
        Supervisor(job, stop).watch(queries)


def settle_checkpoints(spark: "SparkSession", pipelines: Sequence[Pipeline], job: Job) -> None:
    """ChangedJobError if one is of pipelines on another cluster, whose offsets are others."""
    clusters = cluster_ids(pipelines, job)
    ends: dict[str, list[Topic]] = {
        each.name: [end for end in (*each.sources, each.sink) if isinstance(end, Topic)] for each in pipelines
    }
    ends |= {box.name: [box.source] for box in letter_boxes(pipelines)}
    for name, topics in ends.items():
        on = sorted({clusters[topic.bootstrap_servers] for topic in topics})
        settle_document(spark, f"{job.checkpoint_path}/{name}", {"command": "run", "clusters": on})


def frame_of_pipeline(spark: "SparkSession", declared: Pipeline, job: Job) -> "DataFrame":
    """What the pipeline's function makes of its sources; PipelineFailedError if Spark finds that it cannot be."""
    with failing_as(f"pipeline {declared.name} cannot start"):
        frame = declared(*(frame_of(spark, job, declared, source) for source in declared.sources))
        return as_records(frame, declared.sink, declared.name) if isinstance(declared.sink, Topic) else frame


def start_pipeline(declared: Pipeline, frame: "DataFrame", job: Job) -> "StreamingQuery":
    """Start the query of a pipeline; PipelineFailedError if Spark finds that it cannot work."""
    with failing_as(f"pipeline {declared.name} cannot start"):
        return start_query(
            frame,
            declared.sink,
            job,
            name=declared.name,
            checkpoint=f"{job.checkpoint_path}/{declared.name}",
            every=declared.every,
            output_mode=declared.output_mode,
        )


def start_letters(spark: "SparkSession", box: LetterBox, job: Job) -> "StreamingQuery":
    """Start to bring dead letters to their topic."""
    return start_query(
        letters_of(spark, job, box.source),
        Topic(box.dead_letters, bootstrap_servers=box.source.bootstrap_servers),
        job,
        name=box.name,
        checkpoint=f"{job.checkpoint_path}/{box.name}",
        every=box.every,
        output_mode="append",
    )


def frame_of(spark: "SparkSession", job: Job, declared: Pipeline, source: Topic | Table) -> "DataFrame":
    """The stream that the pipeline's function gets for a source."""
    if isinstance(source, Topic):
        return records_of(spark, job, source, strict=declared.dead_letters is None)
    reader = spark.readStream.format(source.format).options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.load(source.path)
