"""Spark for one job: started with what the JVM says in a file, stopped at the end, whatever happens."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ottla.spark.cache import cache_root
from ottla.spark.jars import Say
from ottla.spark.pipeline.job import Job
from ottla.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_of(job: Job, *, packages: Sequence[str] = (), say: Say) -> "Iterator[SparkSession]":
    """A session for the job; what takes long is told to ``say``. SparkUnavailableError if Spark cannot start."""
    with log_of(job) as jvm_log:
        session = spark_session(job.name, master=job.master, conf=job.conf, packages=packages, say=say, jvm_log=jvm_log)
        try:
            yield session
        finally:
            session.stop()


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
