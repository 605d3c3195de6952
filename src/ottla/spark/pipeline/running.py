"""``ottla pipeline run``: the pipelines of a file, checked, started on one session, watched until they end."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaError
from ottla.spark.failures import sentence_of
from ottla.spark.jars import Say
from ottla.spark.pipeline.declaration import DeclarationError, Pipeline
from ottla.spark.pipeline.endpoints import Table, Topic
from ottla.spark.pipeline.engine import log_path, spark_of
from ottla.spark.pipeline.formats import Avro, Raw, check_with
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import check_topics
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import PipelineFailedError, Supervisor
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


def run_pipelines(pipelines: Sequence[Pipeline], job: Job, *, say: Say) -> int:
    """Run these pipelines on one session until they end or a stop is asked for."""
    check_declared(pipelines, job, say=say)
    with StopRequest() as stop, spark_of(job, packages=packages_of(pipelines), say=say) as spark:
        queries: list[StreamingQuery] = []
        try:
            check_schemas(pipelines)
            for each in pipelines:
                queries += start_pipeline(spark, each, job)
            say(f"running {', '.join(each.name for each in pipelines)}; stop with Ctrl-C")
            Supervisor(job, stop).watch(queries)
        except PipelineFailedError as error:
            raise PipelineFailedError(f"{error}; Spark's log is {log_path(job)}") from error
        finally:
            for query in queries:
                query.stop()
    return stop.exit_code if job.once else 0


def start_pipeline(spark: "SparkSession", declared: Pipeline, job: Job) -> "list[StreamingQuery]":
    """Start the queries of a pipeline: its own, and one a source for dead letters."""
    from pyspark.errors import PySparkException

    base = f"{job.checkpoint or os.path.abspath(f'{CHECKPOINTS}/{job.name}')}/{declared.name}"
    try:
        frames = [frame_of(spark, job, declared, source) for source in declared.sources]
        result = declared(*frames)
        queries = [
            start_query(
                result,
                declared.sink,
                job,
                name=declared.name,
                checkpoint=base,
                every=declared.every,
                output_mode=declared.output_mode,
            )
        ]
        if declared.dead_letters is not None:
            for source in declared.sources:
                if isinstance(source, Topic) and not isinstance(source.value, Raw):
                    name = f"{declared.name}.{DEAD_LETTERS}" + (f".{source.name}" if len(declared.sources) > 1 else "")
                    queries.append(
                        start_query(
                            letters_of(spark, job, source),
                            Topic(declared.dead_letters, bootstrap_servers=source.bootstrap_servers),
                            job,
                            name=name,
                            checkpoint=f"{base}.{DEAD_LETTERS}/{source.name}",
                            every=declared.every,
                            output_mode="append",
                        )
                    )
    except PySparkException as error:
        raise PipelineFailedError(f"pipeline {declared.name} cannot start: {sentence_of(error)}") from error
    return queries


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
    reads: list[str] = []
    writes: list[str] = []
    for each in pipelines:
        reads += [it.name for it in each.sources if isinstance(it, Topic) and it.bootstrap_servers is None]
        if isinstance(each.sink, Topic) and each.sink.bootstrap_servers is None:
            writes.append(each.sink.name)
        if each.dead_letters is not None:
            writes.append(each.dead_letters)
    made_here = set(writes)
    check_topics(job, reads=[name for name in dict.fromkeys(reads) if name not in made_here], writes=writes, say=say)


def check_schemas(pipelines: Sequence[Pipeline]) -> None:
    """Find a schema that cannot be read; a session is needed for that, but no query runs yet."""
    for each in pipelines:
        for source in each.sources:
            if isinstance(source, Topic):
                check_with(source.value, f"pipeline {each.name}, topic {source.name}")


def packages_of(pipelines: Sequence[Pipeline]) -> list[str]:
    """The jars that the pipelines need."""
    ends = [end for each in pipelines for end in (*each.sources, each.sink)]
    packages = []
    if any(isinstance(end, Table) and end.format == "delta" for end in ends):
        packages.append("delta")
    if any(isinstance(end, Topic) and isinstance(end.value, Avro) for end in ends):
        packages.append("avro")
    return packages


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
