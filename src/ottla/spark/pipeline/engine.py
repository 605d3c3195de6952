"""Spark for one job: started with what the JVM says in a file, stopped at the end, whatever happens.

What Spark raises meanwhile leaves here as one sentence that names that file.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.spark.cache import cache_root
from ottla.spark.jars import Say
from ottla.spark.pipeline.failure import PipelineFailedError, failing_as, spark_errors
from ottla.spark.pipeline.full_disk import full_disk, written_directories
from ottla.spark.pipeline.job import Job
from ottla.spark.session import LOCAL, is_local, local_partitions, spark_session
from ottla.spark.telling import telling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@contextmanager
def spark_of(
    job: Job, *, packages: Sequence[str] = (), writes: Sequence[str] = (), say: Say
) -> "Iterator[SparkSession]":
    """A session for the job; what takes long is told to ``say``. ``writes`` are the directories of its tables.

    SparkUnavailableError if Spark cannot start, PipelineFailedError if it fails within.
    """
    with log_of(job) as jvm_log:
        conf = {**default_settings(job), **job.conf}
        with _explained(job, [*writes, *written_directories(job.checkpoint_path, conf)]):
            with telling(say, "starting Spark"):
                session = spark_session(
                    job.name, master=job.master, conf=conf, packages=packages, say=say, jvm_log=jvm_log
                )
            try:
                with _without_py4j_traces(), failing_as(f"{job.name} failed"):
                    yield session
            finally:
                _stop(session)


@contextmanager
def _explained(job: Job, directories: Sequence[str]) -> Iterator[None]:
    """A failure names Spark's log, and the disk if one of those with the directories was full."""
    try:
        yield
    except (KafkaError, OSError) as error:
        log = log_path(job)
        full = full_disk(error, [*directories, str(log)], is_local=is_local(master_of(job)))
        if full is None and not isinstance(error, PipelineFailedError):
            raise
        sentence = in_words(error) if full is None else f"{job.name} failed: {full}"
        raise PipelineFailedError(f"{sentence}; Spark's log is {log}") from error


@contextmanager
def _without_py4j_traces() -> Iterator[None]:
    """Py4J tells the root of all loggers how it lost the JVM, with a traceback; here that is a sentence."""
    root = logging.getLogger()
    root.addFilter(_is_not_of_py4j)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def _stop(session: "SparkSession") -> None:
    """End the session; its JVM may be gone already."""
    with suppress(*spark_errors()):
        session.stop()


def default_settings(job: Job) -> dict[str, str]:
    """What pipelines set unless the user does: state outside the heap, in as many partitions as one machine needs."""
    settings = {"spark.sql.streaming.stateStore.providerClass": _ROCKS_DB}
    if is_local(master_of(job)):
        settings["spark.sql.shuffle.partitions"] = str(local_partitions())
    return settings


def master_of(job: Job) -> str:
    """Where Spark runs."""
    return job.master or job.conf.get("spark.master") or LOCAL


def log_path(job: Job) -> Path:
    """The file that takes what the JVM prints."""
    if job.log is not None:
        return Path(job.log)
    return cache_root() / "logs" / f"{job.name.replace('/', '-')}.log"


@contextmanager
def log_of(job: Job) -> Iterator[IO[bytes]]:
    """That file, emptied for this run."""
    path = log_path(job)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        yield stream
