"""``ottla pipeline run``: the pipelines of a file, checked, started on one session, watched until they end."""

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.spark.failures import sentence_of
from ottla.spark.jars import Say
from ottla.spark.pipeline.declaration import DeclarationError, Pipeline
from ottla.spark.pipeline.endpoints import Table, Topic
from ottla.spark.pipeline.engine import log_path, spark_of
from ottla.spark.pipeline.formats import Format, Raw, check_with
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import PipelineFailedError, Supervisor, stop_all
from ottla.spark.pipeline.topic_reading import letters_of, records_of
from ottla.spark.pipeline.writing import start_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

CHECKPOINTS: Final = "ottla-checkpoints"
DEAD_LETTERS: Final = "dead-letters"


def run_file(path: str, job: Job, *, only: Sequence[str], say: Say) -> int:
    """Run the pipelines that the file declares; the exit code is 0 when they ended or were stopped as asked."""
    return run_pipelines(chosen(load_pipelines(path), only, path), job, say=say)


def run_pipelines(
    pipelines: Sequence[Pipeline], job: Job, *, say: Say, on_start: Callable[[], None] = lambda: None
) -> int:
    """Run these pipelines on a session of their own until they end or a stop is asked for."""
    check_declared(pipelines, job, say=say)
    with spark_of(job, packages=packages_of(pipelines), say=say) as spark, StopRequest() as stop:
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
    queries: list[StreamingQuery] = []
    try:
        check_schemas(pipelines)
        queries.extend(start_pipeline(spark, each, job) for each in pipelines)
        queries.extend(start_letters(spark, each, job) for each in letter_boxes(pipelines))
        say(f"running {', '.join(each.name for each in pipelines)}" + ("" if job.once else "; stop with Ctrl-C"))
        on_start()
        Supervisor(job, stop).watch(queries)
    except PipelineFailedError as error:
        raise PipelineFailedError(f"{error}; Spark's log is {log_path(job)}") from error
    finally:
        stop_all(queries)


def start_pipeline(spark: "SparkSession", declared: Pipeline, job: Job) -> "StreamingQuery":
    """Start the query of a pipeline; PipelineFailedError if Spark finds that it cannot work."""
    from pyspark.errors import PySparkException

    try:
        frames = [frame_of(spark, job, declared, source) for source in declared.sources]
        return start_query(
            declared(*frames),
            declared.sink,
            job,
            name=declared.name,
            checkpoint=checkpoint_of(job, declared.name),
            every=declared.every,
            output_mode=declared.output_mode,
        )
    except PySparkException as error:
        raise PipelineFailedError(f"pipeline {declared.name} cannot start: {sentence_of(error)}") from error


class LetterBox(NamedTuple):
    """Where the bad records of a topic go; ``name`` is that of the query that brings them there."""

    name: str
    source: Topic
    dead_letters: str
    every: str


def letter_boxes(pipelines: Sequence[Pipeline]) -> list[LetterBox]:
    """One for each topic that has dead letters: pipelines that read it by the same format share one. Pure."""
    found: dict[tuple[str, str | None, Format, str], LetterBox] = {}
    for each in pipelines:
        for source in each.sources:
            if each.dead_letters is not None and isinstance(source, Topic) and not isinstance(source.value, Raw):
                same = (source.name, source.bootstrap_servers, source.value, each.dead_letters)
                name = f"{each.name}.{DEAD_LETTERS}.{source.name}"
                found.setdefault(same, LetterBox(name, source, each.dead_letters, each.every))
    return list(found.values())


def start_letters(spark: "SparkSession", box: LetterBox, job: Job) -> "StreamingQuery":
    """Start to bring dead letters to their topic."""
    return start_query(
        letters_of(spark, job, box.source),
        Topic(box.dead_letters, bootstrap_servers=box.source.bootstrap_servers),
        job,
        name=box.name,
        checkpoint=checkpoint_of(job, box.name),
        every=box.every,
        output_mode="append",
    )


def checkpoint_of(job: Job, query: str) -> str:
    """Where a query keeps how far it is."""
    return f"{job.checkpoint or os.path.abspath(f'{CHECKPOINTS}/{job.name}')}/{query}"


def frame_of(spark: "SparkSession", job: Job, declared: Pipeline, source: Topic | Table) -> "DataFrame":
    """The stream that the pipeline's function gets for a source."""
    if isinstance(source, Topic):
        return records_of(spark, job, source, strict=declared.dead_letters is None)
    reader = spark.readStream.format(source.format).options(**source.options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    return reader.load(source.path)


def check_declared(pipelines: Sequence[Pipeline], job: Job, *, say: Say) -> None:
    """Find what is wrong before Spark starts: names, brokers, topics."""
    names = [each.name for each in pipelines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DeclarationError(f"two pipelines are called {twice}")
    topics = [it for each in pipelines for it in (*each.sources, each.sink) if isinstance(it, Topic)]
    for servers in dict.fromkeys([None, *(it.bootstrap_servers for it in topics)]):
        here = job if servers is None else replace(job, client={**job.client, "bootstrap.servers": servers})
        writes = _written(pipelines, servers)
        reads = [
            it.name
            for each in pipelines
            for it in each.sources
            if isinstance(it, Topic) and it.bootstrap_servers == servers and it.name not in writes
        ]
        if reads or writes:
            check_topics(here, reads=list(dict.fromkeys(reads)), writes=writes, say=say)


def _written(pipelines: Sequence[Pipeline], servers: str | None) -> list[str]:
    """The topics that pipelines write on a cluster."""
    sinks = [each.sink for each in pipelines if isinstance(each.sink, Topic) and each.sink.bootstrap_servers == servers]
    letters = [box.dead_letters for box in letter_boxes(pipelines) if box.source.bootstrap_servers == servers]
    return list(dict.fromkeys([*(sink.name for sink in sinks), *letters]))


def check_schemas(pipelines: Sequence[Pipeline]) -> None:
    """Find a schema that cannot be read; a session is needed for that, but no query runs yet."""
    for each in pipelines:
        for source in each.sources:
            if isinstance(source, Topic):
                check_with(source.value, f"pipeline {each.name}, topic {source.name}")


def packages_of(pipelines: Sequence[Pipeline]) -> list[str]:
    """The jars that the pipelines need."""
    ends = [end for each in pipelines for end in (*each.sources, each.sink)]
    return ["delta"] if any(isinstance(end, Table) and end.format == "delta" for end in ends) else []


def load_pipelines(path: str) -> list[Pipeline]:
    """The pipelines of a Python file, in their order; what it cannot be read for is told with its line."""
    module = _load(path)
    found = [each for each in vars(module).values() if isinstance(each, Pipeline)]
    if not found:
        raise DeclarationError(
            f"{path} declares no pipeline; `from ottla.spark.pipeline import pipeline` has @pipeline"
        )
    return found


def chosen(pipelines: Sequence[Pipeline], only: Sequence[str], path: str) -> list[Pipeline]:
    """Those that the line names, or all."""
    names = [each.name for each in pipelines]
    for name in only:
        if name not in names:
            raise DeclarationError(f"{path} declares no pipeline {name}; it has {', '.join(names)}")
    return [each for each in pipelines if not only or each.name in only]


def _load(path: str) -> ModuleType:
    from pyspark import cloudpickle

    if not Path(path).is_file():
        raise DeclarationError(f"there is no file {path}")
    name = f"ottla_pipeline_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    directory = str(Path(path).resolve().parent)
    before = set(sys.modules)
    sys.path.insert(0, directory)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KafkaError:
        raise
    except Exception as error:
        raise DeclarationError(f"{path}{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(directory)
    # Executors cannot import the file, nor what it imports from beside it: their functions travel by value.
    for other in [name, *(each for each in sys.modules if each not in before)]:
        origin = getattr(sys.modules[other], "__file__", None)
        if origin is not None and str(Path(origin).resolve()).startswith(directory + os.sep):
            cloudpickle.register_pickle_by_value(sys.modules[other])  # type: ignore[no-untyped-call]
    return module


def _line_of(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f" line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" line {line}" if line is not None else ""
