"""What can be known to fail before Spark starts: brokers that do not answer, topics that are not there."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.spark.jars import Say
from ottla.spark.pipeline.job import Job

_TIMEOUTS: Final = {"default.api.timeout.ms": "15000", "request.timeout.ms": "10000"}
"""Shorter than Kafka's minute: somebody looks at the terminal."""


def check_topics(
    job: Job, *, reads: Sequence[str], writes: Iterable[str] = (), new_partitions: int | None = None, say: Say
) -> dict[str, int]:
    """Look for the topics, and return how many partitions each of ``reads`` has.

    Topics of ``writes`` that are missing are created, with ``new_partitions`` or as many as the largest of ``reads``.
    KafkaTimeoutError if no broker answers, UnknownTopicOrPartitionError for a topic that is not there to be read.
    """
    from ottla.clients.admin.topics import NewTopic
    from ottla.clients.sync import Admin

    with Admin(_properties(job)) as admin:
        there = admin.list_topics(include_internal=True)
        for name in reads:
            if name not in there:
                raise UnknownTopicOrPartitionError(missing_sentence(name, list(there), job.bootstrap_servers))
        described = admin.describe_topics(reads) if reads else {}
        partitions = {name: len(topic.partitions) for name, topic in described.items()}
        missing = [name for name in dict.fromkeys(writes) if name not in there]
        if missing:
            count = new_partitions or max(partitions.values(), default=-1)
            admin.create_topics([NewTopic(name, num_partitions=count) for name in missing])
            for name in missing:
                say(f"created the topic {name}" + (f" with {count} partitions" if count > 0 else ""))
    return partitions


def cluster_id(job: Job) -> str:
    """The id of the cluster, which the broker answers with."""
    from ottla.clients.sync import Admin

    with Admin(_properties(job)) as admin:
        return str(admin.describe_cluster().cluster_id)


def _properties(job: Job) -> dict[str, str]:
    given = job.admin_properties()
    return given if _TIMEOUTS.keys() & given.keys() else {**_TIMEOUTS, **given}


def missing_sentence(name: str, there: Sequence[str], servers: str) -> str:
    """Say that a topic is not there, and which may have been meant."""
    near = get_close_matches(name, there, n=1)
    return f"topic {name} does not exist on {servers}" + (f"; did you mean {near[0]}?" if near else "")
