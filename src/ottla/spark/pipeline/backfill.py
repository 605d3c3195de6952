"""``ottla pipeline backfill``: a table becomes records of a topic, exactly once.

The table is read as a stream of its files, some at a time; which are done is in the checkpoint, and each batch of them
appears once in the topic, whatever fails (docs/spark-exactly-once.md). Started again it goes on where it was, and files
that have come since are read, too.
"""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.spark.jars import Say
from ottla.spark.pipeline.arrow_batches import with_headers
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import failing_as
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.job_document import settle_document
from ottla.spark.pipeline.preflight import check_topics, cluster_id, create_topics
from ottla.spark.pipeline.record_mapping import RecordMapping, to_records
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import Supervisor, started_queries
from ottla.spark.pipeline.table_reading import (
    TableSource,
    check_there,
    is_delta,
    read_table,
    settled_table,
    stream_table,
)
from ottla.spark.session import check_packages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DEFAULT_BATCH_BYTES: Final = 256 * 1024 * 1024
"""Of files in a batch, about: what transactions hold, and what is done again after a crash."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """What becomes what."""

    table: TableSource
    topic: str
    mapping: RecordMapping
    new_partitions: int | None = None
    """How many partitions the topic gets if it is not there."""
    batch_bytes: int = DEFAULT_BATCH_BYTES

    def document(self, cluster: str) -> dict[str, object]:
        """What must not change between two runs; ``cluster`` is the id of the topic's."""
        return {
            "command": "backfill",
            "cluster": cluster,
            "table": self.table.path,
            "table_options": dict(self.table.options),
            "topic": self.topic,
            **{f"mapping_of_{name}": value for name, value in asdict(self.mapping).items()},
        }


def backfill(job: Job, work: Backfill, *, say: Say) -> int:
    """Write the table to the topic; the exit code is 0 when all of it is there."""
    packages = ["delta"] if is_delta(work.table) else []
    check_packages(packages)
    check_topics(job, reads=[])
    check_there(work.table)
    settled = with_headers(job) if "headers" in work.mapping.parts else job
    with spark_of(settled, packages=packages, say=say) as spark, StopRequest() as stop:
        backfill_on(spark, job, work, stop, say=say)
    return stop.exit_code


def backfill_on(spark: "SparkSession", job: Job, work: Backfill, stop: StopRequest, *, say: Say) -> None:
    """As ``backfill``, on a session that stays."""
    with started_queries() as queries:
        with failing_as("the backfill cannot start"):
            queries.append(start_backfill(spark, job, work, say=say))
        say(f"writing {work.table.path} to topic {work.topic}")
        Supervisor(job, stop).watch(queries)


def start_backfill(spark: "SparkSession", job: Job, work: Backfill, *, say: Say) -> "StreamingQuery":
    """The query that does it; MappingError, TableError or ChangedJobError before anything is written or created."""
    table = settled_table(spark, work.table)
    whole = read_table(spark, table)
    to_records(whole, work.mapping)
    checkpoint = job.checkpoint_path
    settle_document(spark, checkpoint, replace(work, table=table).document(cluster_id(job)))
    records = to_records(stream_table(spark, table, whole, work.batch_bytes), work.mapping)
    create_topics(job, [work.topic], partitions=work.new_partitions, say=say)
    writer = records.writeStream.format("ottla").options(**job.write_options())
    writer = writer.option("topic", work.topic).option("exactlyOnce", "true")
    writer = writer.option("includeTimestamp", str(work.mapping.timestamp is not None).lower())
    return writer.option("checkpointLocation", checkpoint).queryName(job.name).trigger(availableNow=True).start()
