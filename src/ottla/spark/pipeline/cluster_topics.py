"""What a command asks a cluster about topics, before and beside Spark."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.preflight import missing_sentence

if TYPE_CHECKING:
    from ottla.clients.sync import Admin

_TIMEOUTS: Final = {"default.api.timeout.ms": "15000", "request.timeout.ms": "10000"}
"""Shorter than Kafka's minute: somebody looks at the terminal."""


class Span(NamedTuple):
    """The offsets of a partition that are there: from ``start`` up to, and without, ``end``."""

    topic: str
    partition: int
    start: int
    end: int


@contextmanager
def admin_of(job: Job) -> "Iterator[Admin]":
    """An admin client of the job's cluster; KafkaTimeoutError if no broker answers."""
    from ottla.clients.sync import Admin

    with Admin({**_TIMEOUTS, **job.admin_properties()}) as admin:
        yield admin


def partition_counts(admin: "Admin", topics: Sequence[str]) -> dict[str, int]:
    """How many partitions each topic has."""
    return {name: len(topic.partitions) for name, topic in admin.describe_topics(list(topics)).items()}


def own_configs(admin: "Admin", topic: str) -> dict[str, str]:
    """What is set on the topic itself."""
    from ottla.config.config_entry import ConfigSource

    return {
        name: value
        for name, (value, source) in _configs(admin, topic).items()
        if source is ConfigSource.DYNAMIC_TOPIC_CONFIG and value is not None
    }


def is_log_append_time(admin: "Admin", topic: str) -> bool:
    """Whether the topic's records get the broker's time."""
    return _configs(admin, topic).get("message.timestamp.type", (None, None))[0] == "LogAppendTime"


def _configs(admin: "Admin", topic: str) -> dict[str, tuple[str | None, object]]:
    from ottla.clients.admin.configs import ConfigResource, ConfigResourceType

    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    entries = admin.describe_configs([resource])[resource]
    return {name: (entry.value, entry.source) for name, entry in entries.items()}


def spans_of(job: Job, topics: Sequence[str]) -> list[Span]:
    """What the topics hold now, and a reader of committed records can see; UnknownTopicOrPartitionError."""
    from ottla.clients.admin.offsets import IsolationLevel, OffsetSpec

    committed = job.read_options().get("kafka.isolation.level") == "read_committed"
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    with admin_of(job) as admin:
        there = admin.list_topics(include_internal=True)
        for name in topics:
            if name not in there:
                raise UnknownTopicOrPartitionError(missing_sentence(name, list(there), job.bootstrap_servers))
        counts = partition_counts(admin, topics)
        partitions = [TopicPartition(name, index) for name, count in counts.items() for index in range(count)]
        starts = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.earliest()))
        ends = admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()), isolation_level=level)
    return [Span(*each, starts[each].offset, ends[each].offset) for each in partitions]
