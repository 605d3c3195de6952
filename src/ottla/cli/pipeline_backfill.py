"""``ottla pipeline backfill --table PATH --topic TOPIC``: write a table's rows to a topic, exactly once.

Keys, values, headers, partitions and timestamps are SQL expressions over the table's columns; without --value each row
is a JSON object. A topic that is missing is created. Started again it goes on where it was, and takes files that have
come since. The order of rows is not kept: tasks write side by side.
"""

import argparse
from dataclasses import replace

from ottla.cli.arguments import require
from ottla.cli.pipeline_mapping import add_mapping, mapping_of, table_of
from ottla.cli.pipeline_options import add_job, job_of, positive, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_mapping(parser)
    parser.add_argument("--topic", metavar="TOPIC", help="the topic to write to")
    parser.add_argument("--partitions", type=positive, metavar="N", help="of the topic, if it is created")
    parser.add_argument(
        "--batch-bytes",
        type=positive,
        default=256 * 1024 * 1024,
        metavar="N",
        help="of files in a batch, about (256 MiB)",
    )
    add_job(parser, checkpoint="ottla-checkpoints/NAME below the current directory", once=False, reads_topics=False)


def run(options: argparse.Namespace) -> int:
    """Write, return the exit code: 0 when all is there."""
    require(options, "table", "topic")
    from ottla.spark.pipeline.backfill import Backfill, backfill

    job = replace(job_of(options, f"backfill-{options.topic}"), once=True)
    work = Backfill(table_of(options), options.topic, mapping_of(options), options.partitions, options.batch_bytes)
    return backfill(job, work, say=say)
