"""What can be known to fail before Spark starts: brokers that do not answer, topics that are not there."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.spark.jars import Say
from ottla.spark.pipeline.job import Job

_TIMEOUTS: Final = {"default.api.timeout.ms": "15000", "request.timeout.ms": "10000"}
"""Shorter than Kafka's minute: somebody looks at the terminal."""


def check_topics(job: Job, *, reads: Sequence[str]) -> None:
    """See that the brokers answer and that the topics are there.

    KafkaTimeoutError if no broker answers, UnknownTopicOrPartitionError for a topic that is not there to be read.
    """
    from ottla.clients.sync import Admin

    with Admin(_properties(job)) as admin:
        there = admin.list_topics(include_internal=True)
        for name in reads:
            if name not in there:
                raise UnknownTopicOrPartitionError(missing_sentence(name, list(there), job.bootstrap_servers))


def create_topics(
    job: Job, names: Iterable[str], *, like: Sequence[str] = (), partitions: int | None = None, say: Say
) -> None:
    """Create those of the topics that are missing, with so many partitions or as many as the largest of ``like``.

    The last thing before a query starts: a command that is refused leaves no topic behind.
    """
    from ottla.clients.admin.topics import NewTopic
    from ottla.clients.sync import Admin

    with Admin(_properties(job)) as admin:
        there = admin.list_topics(include_internal=True)
        missing = [name for name in dict.fromkeys(names) if name not in there]
        if not missing:
            return
        known = [name for name in like if name in there]
        largest = (
            max((len(each.partitions) for each in admin.describe_topics(known).values()), default=-1) if known else -1
        )
        count = partitions or largest
        admin.create_topics([NewTopic(name, num_partitions=count) for name in missing])
        for name in missing:
            say(f"created the topic {name}" + (f" with {count} partitions" if count > 0 else ""))


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
