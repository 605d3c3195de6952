"""``ottla pipeline mirror``: topics to topics, on the same cluster or another, exactly once.

Keys, values, headers, timestamps and partitions stay as they are, and so does the order within each partition: a batch
reads each partition in one task. Offsets are the target's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.clients.errors import UnknownTopicOrPartitionError
from ottla.common.errors import KafkaError
from ottla.spark.jars import Say
from ottla.spark.pipeline.arrow_batches import with_headers
from ottla.spark.pipeline.cluster_topics import admin_of, is_log_append_time, own_configs, partition_counts
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import failing_as
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.job_document import settle_document
from ottla.spark.pipeline.preflight import cluster_id, missing_sentence
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import Supervisor, started_queries
from ottla.spark.session import check_packages

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from ottla.clients.admin.topics import NewTopic

DEFAULT_MAX_OFFSETS: Final = 1_000_000
"""Records in a batch, at most: what one transaction a task holds, and what is done again after a crash."""
_COLUMNS: Final = "key,value,topic,partition,timestamp,headers"
_KEPT_CONFIGS: Final = ("cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "compression.type")
_WHOLE_PARTITIONS: Final = str(1 << 62)


class MirrorError(KafkaError):
    """Topics that cannot be mirrored so; the message says why."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """What goes where; ``target`` None is the same cluster. ``names`` are the topics and those that they become."""

    names: dict[str, str]
    target: Job | None = None
    keeps_partitions: bool = True
    keeps_timestamps: bool = True
    starting_offsets: str = "earliest"
    max_offsets: int = DEFAULT_MAX_OFFSETS
    every: str = "1 second"

    def document(self, from_cluster: str, to_cluster: str) -> dict[str, object]:
        """What must not change between two runs; clusters are known by their ids, for addresses may change."""
        return {"command": "mirror", "topics": self.names, "from_cluster": from_cluster, "to_cluster": to_cluster}

    def __post_init__(self) -> None:
        if not self.names:
            raise MirrorError("there is no topic to mirror")
        if self.target is None:
            _check_no_loop(self.names)
        if len(set(self.names.values())) < len(self.names):
            raise MirrorError("two topics would become one")


def _check_no_loop(names: Mapping[str, str]) -> None:
    """MirrorError if, on one cluster, what is written would be read again."""
    for source, target in names.items():
        if target in names:
            raise MirrorError(f"topic {source} would be mirrored to {target}, which is read, too: choose another name")


def mirror(job: Job, work: Mirror, *, say: Say) -> int:
    """Mirror until a stop is asked for, or until all is there; the exit code."""
    check_packages([])
    from ottla.spark.pyspark_versions import tell_limits

    missing_topics(job, work)
    tell_limits(say)
    with spark_of(with_headers(job), say=say) as spark, StopRequest() as stop:
        mirror_on(spark, job, work, stop, say=say)
    return stop.exit_code if job.once else 0


def mirror_on(spark: "SparkSession", job: Job, work: Mirror, stop: StopRequest, *, say: Say) -> None:
    """As ``mirror``, on a session that stays."""
    with started_queries() as queries:
        with failing_as("the mirror cannot start"):
            queries.append(start_mirror(spark, job, work, say=say))
        pairs = ", ".join(f"{source} → {target}" for source, target in work.names.items())
        say(f"mirroring {pairs}" + ("" if job.once else "; stop with Ctrl-C"))
        Supervisor(job, stop).watch(queries)


def start_mirror(spark: "SparkSession", job: Job, work: Mirror, *, say: Say) -> "StreamingQuery":
    """The query that does it; ChangedJobError if the checkpoint is of another mirror, before a topic is created."""
    missing = missing_topics(job, work)
    clusters = cluster_id(job), cluster_id(work.target or job)
    settle_document(spark, job.checkpoint_path, work.document(*clusters))
    if missing:
        with admin_of(work.target or job) as admin:
            admin.create_topics(missing)
    for each in missing:
        say(f"created the topic {each.name} with {each.num_partitions} partitions")
    options = {
        "subscribe": ",".join(work.names),
        "startingOffsets": work.starting_offsets,
        "columns": _COLUMNS,
        "maxOffsetsPerTrigger": str(work.max_offsets),
        "maxRecordsPerPartition": _WHOLE_PARTITIONS,
        **job.read_options(),
    }
    records = mirrored(spark.readStream.format("ottla").options(**options).load(), work)
    writer = records.writeStream.format("ottla").options(**write_options(job, work)).queryName(job.name)
    writer = writer.trigger(availableNow=True) if job.once else writer.trigger(processingTime=work.every)
    return writer.option("checkpointLocation", job.checkpoint_path).start()


def write_options(job: Job, work: Mirror) -> dict[str, str]:
    """What the sink is told."""
    target = work.target or job
    return {
        **target.write_options(),
        "exactlyOnce": "true",
        "includeTimestamp": str(work.keeps_timestamps).lower(),
    }


def mirrored(records: "DataFrame", work: Mirror) -> "DataFrame":
    """The records with the topics that they become."""
    from pyspark.sql import functions as f

    names = f.create_map(*(f.lit(name) for pair in work.names.items() for name in pair))
    columns = ["key", "value", "headers"]
    if work.keeps_partitions:
        columns.append("partition")
    if work.keeps_timestamps:
        columns.append("timestamp")
    return records.select(*columns, names[f.col("topic")].alias("topic"))


def missing_topics(job: Job, work: Mirror) -> "list[NewTopic]":
    """See that the topics are there, and that the targets can take what comes; the targets that are to be created.

    They get the sources' number of partitions and what of their configuration says how long records stay and how
    large they may be. MirrorError if a target cannot take partitions or timestamps, or is read, too;
    UnknownTopicOrPartitionError.
    """
    from ottla.clients.admin.topics import NewTopic

    if work.target is not None and cluster_id(work.target) == cluster_id(job):
        _check_no_loop(work.names)
    with admin_of(job) as admin:
        there = admin.list_topics(include_internal=True)
        for name in work.names:
            if name not in there:
                raise UnknownTopicOrPartitionError(missing_sentence(name, list(there), job.bootstrap_servers))
        counts = partition_counts(admin, list(work.names))
        configs = {name: own_configs(admin, name) for name in work.names}
    missing: list[NewTopic] = []
    with admin_of(work.target or job) as admin:
        there = admin.list_topics(include_internal=True)
        for source, target in work.names.items():
            if target not in there:
                kept = {key: value for key, value in configs[source].items() if key in _KEPT_CONFIGS}
                missing.append(NewTopic(target, num_partitions=counts[source], configs=kept))
                continue
            count = partition_counts(admin, [target])[target]
            if work.keeps_partitions and count < counts[source]:
                raise MirrorError(
                    f"topic {target} has {count} partitions and {source} has {counts[source]}: "
                    "add partitions, or let keys choose them with --no-partitions"
                )
            if work.keeps_timestamps and is_log_append_time(admin, target):
                raise MirrorError(
                    f"topic {target} has message.timestamp.type=LogAppendTime, which changes timestamps: alter it, or "
                    "give them up with --no-timestamps"
                )
    return missing
