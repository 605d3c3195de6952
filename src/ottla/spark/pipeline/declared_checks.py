"""What is wrong with declared pipelines, found before any of their queries runs, and what they need to run."""

from collections.abc import Sequence
from dataclasses import replace

from ottla.spark.jars import Say
from ottla.spark.pipeline.declaration import DeclarationError, Pipeline
from ottla.spark.pipeline.endpoints import Table, Topic
from ottla.spark.pipeline.formats import Avro, check_with
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.letter_boxes import letter_boxes
from ottla.spark.pipeline.preflight import check_topics, cluster_id, create_topics
from ottla.spark.pipeline.table_reading import TableSource, check_there


def check_declared(pipelines: Sequence[Pipeline], job: Job) -> None:
    """Find what is wrong before Spark starts: names, brokers, topics."""
    names = [each.name for each in pipelines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DeclarationError(f"two pipelines are called {twice}")
    for servers in dict.fromkeys([None, *(topic.bootstrap_servers for topic in _topics(pipelines))]):
        here = _at(job, servers)
        writes = _written(pipelines, servers)
        reads = [
            it.name
            for each in pipelines
            for it in each.sources
            if isinstance(it, Topic) and it.bootstrap_servers == servers and it.name not in writes
        ]
        if reads or writes:
            check_topics(here, reads=list(dict.fromkeys(reads)))
    for each in pipelines:
        for end in (*each.sources, each.sink):
            if isinstance(end, Topic) and isinstance(end.value, Avro):
                check_with(end.value, _where(each, end))
        for source in each.sources:
            if isinstance(source, Table):
                check_there(TableSource(source.path))


def create_declared(pipelines: Sequence[Pipeline], job: Job, *, say: Say) -> None:
    """Create the topics that the pipelines write and that are missing."""
    topics = _topics(pipelines)
    for servers in dict.fromkeys([None, *(topic.bootstrap_servers for topic in topics)]):
        writes = _written(pipelines, servers)
        if writes:
            like = [topic.name for topic in topics if topic.bootstrap_servers == servers and topic.name not in writes]
            create_topics(_at(job, servers), writes, like=like, say=say)


def cluster_ids(pipelines: Sequence[Pipeline], job: Job) -> dict[str | None, str]:
    """The clusters that the pipelines' topics are on, by their bootstrap servers; None are the job's own."""
    found = dict.fromkeys(topic.bootstrap_servers for topic in _topics(pipelines))
    return {servers: cluster_id(_at(job, servers)) for servers in found}


def _topics(pipelines: Sequence[Pipeline]) -> list[Topic]:
    return [end for each in pipelines for end in (*each.sources, each.sink) if isinstance(end, Topic)]


def _at(job: Job, servers: str | None) -> Job:
    return job if servers is None else replace(job, client={**job.client, "bootstrap.servers": servers})


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
                check_with(source.value, _where(each, source))


def _where(declared: Pipeline, source: Topic) -> str:
    return f"pipeline {declared.name}, topic {source.name}"


def packages_of(pipelines: Sequence[Pipeline]) -> list[str]:
    """The jars that the pipelines need."""
    ends = [end for each in pipelines for end in (*each.sources, each.sink)]
    return ["delta"] if any(isinstance(end, Table) and end.format == "delta" for end in ends) else []
