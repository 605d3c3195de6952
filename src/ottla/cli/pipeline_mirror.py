"""``ottla pipeline mirror --topic TOPIC [--to TOPIC] [--to-bootstrap-server …]``: copy topics, exactly once.

Keys, values, headers, timestamps, partitions and the order in each partition stay as they are. Missing topics are
created like their sources. It runs until Ctrl-C, or with --once until all is copied that is there. Started again it
goes on where it was.
"""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from ottla.cli.arguments import require
from ottla.cli.connection import read_properties
from ottla.cli.errors import UsageError
from ottla.cli.pipeline_options import add_job, interval, job_of, offsets, positive, say

if TYPE_CHECKING:
    from ottla.spark.pipeline.job import Job


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--topic", metavar="TOPIC,…", help="the topics to copy")
    parser.add_argument("--to", metavar="TOPIC", help="what the copy of a single topic is called; its own name if not")
    parser.add_argument("--prefix", default="", metavar="TEXT", help="what the names of copies begin with")
    add_target(parser, "of the cluster to copy to")
    parser.add_argument("--no-partitions", action="store_true", help="let keys choose the partitions of copies")
    parser.add_argument("--no-timestamps", action="store_true", help="give copies the time when they are written")
    parser.add_argument(
        "--from",
        dest="start",
        type=offsets,
        default="earliest",
        metavar="OFFSETS",
        help="where the first run begins (earliest)",
    )
    parser.add_argument(
        "--every", type=interval, default="1 second", metavar="TIME", help="how often it looks for new records"
    )
    parser.add_argument(
        "--max-offsets", type=positive, default=1_000_000, metavar="N", help="records in a batch, at most"
    )
    add_job(parser, checkpoint="ottla-checkpoints/NAME below the current directory")


def add_target(parser: argparse.ArgumentParser, whose: str) -> None:
    """Add the options that name another cluster."""
    parser.add_argument("--to-bootstrap-server", metavar="HOST:PORT,…", help=f"brokers {whose}")
    parser.add_argument("--to-command-config", metavar="FILE", help="a properties file for clients of that cluster")


def run(options: argparse.Namespace) -> int:
    """Mirror, return the exit code: 0 when it was stopped as asked or is done."""
    require(options, "topic")
    from ottla.spark.pipeline.mirror import Mirror, mirror

    topics = [name.strip() for name in options.topic.split(",") if name.strip()]
    if options.to is not None and (len(topics) != 1 or options.prefix):
        raise UsageError("--to names the copy of a single topic; several get a --prefix, or another cluster")
    job = job_of(options, f"mirror-{topics[0] if topics else ''}")
    work = Mirror(
        {name: options.to or f"{options.prefix}{name}" for name in topics},
        target_of(options, job),
        keeps_partitions=not options.no_partitions,
        keeps_timestamps=not options.no_timestamps,
        starting_offsets=options.start,
        max_offsets=options.max_offsets,
        every=options.every,
    )
    return mirror(job, work, say=say)


def target_of(options: argparse.Namespace, job: "Job") -> "Job | None":
    """The job on the other cluster; None if the line names none."""
    if options.to_bootstrap_server is None and options.to_command_config is None:
        return None
    client = {} if options.to_command_config is None else read_properties(options.to_command_config)
    if options.to_bootstrap_server is not None:
        client["bootstrap.servers"] = options.to_bootstrap_server
    if "bootstrap.servers" not in client:
        raise UsageError("--to-command-config has no bootstrap.servers: give --to-bootstrap-server")
    return replace(job, client=client)
