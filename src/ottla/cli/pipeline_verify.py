"""``ottla pipeline verify --topic TOPIC --with TOPIC | --table PATH``: do both hold the same records, each as often?

Records are compared by key, value and headers, or by what --compare says; their order does not matter. A table that
`ottla pipeline land` made is compared as it was landed, with --dead-letters together with what did not fit; for others
--key, --value and so on say what its records are.
The exit code is 0 if they are the same and 1 if not; some records that differ are shown. A run that was killed is
resumed when the same is asked again.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from ottla.cli.arguments import add_json, require
from ottla.cli.errors import UsageError
from ottla.cli.output import Output
from ottla.cli.pipeline_mapping import add_mapping, mapping_of, table_of
from ottla.cli.pipeline_mirror import add_target, target_of
from ottla.cli.pipeline_options import add_job, job_of, positive, say

if TYPE_CHECKING:
    from ottla.spark.pipeline.record_mapping import RecordMapping

_MAPPED = ("key", "value", "headers", "partition", "timestamp", "where")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--topic", metavar="TOPIC", help="the topic to compare")
    parser.add_argument("--with", dest="other", metavar="TOPIC", help="the topic to compare it with")
    add_target(parser, "of the other topic's cluster")
    add_mapping(parser)
    parser.add_argument(
        "--dead-letters", metavar="TOPIC", help="records of --topic that did not become rows of --table are there"
    )
    parser.add_argument(
        "--compare", metavar="PART,…", help="key, value, headers, partition, timestamp (key,value,headers)"
    )
    parser.add_argument("--samples", type=int, default=10, metavar="N", help="so many differing records are shown (10)")
    parser.add_argument(
        "--slice-records", type=positive, default=4_000_000, metavar="N", help="records that one step reads, at most"
    )
    add_json(parser)
    add_job(parser, checkpoint="ottla-checkpoints/NAME below the current directory", once=False)


def run(options: argparse.Namespace) -> int:
    """Compare, return the exit code: 0 the same, 1 not."""
    require(options, "topic")
    if (options.other is None) == (options.table is None):
        raise UsageError("give --with TOPIC or --table PATH, and not both")
    if options.dead_letters is not None and options.table is None:
        raise UsageError("--dead-letters goes with --table")
    from ottla.spark.pipeline.record_hash import PARTS
    from ottla.spark.pipeline.verify_command import VerifyRequest, verify

    parts = tuple(part.strip() for part in (options.compare or "").split(",") if part.strip())
    for part in parts:
        if part not in PARTS:
            raise UsageError(f"--compare takes some of {', '.join(PARTS)}, not {part!r}")
    job = job_of(options, f"verify-{options.topic}")
    request = VerifyRequest(
        options.topic,
        options.other,
        target_of(options, job),
        None if options.table is None else table_of(options),
        _mapping(options),
        options.dead_letters or None,
        parts,
        options.samples,
        options.slice_records,
    )
    comparison, code = verify(job, request, say=say)
    if comparison is None:
        sys.stderr.write("stopped; the same command goes on where it was\n")
        return code
    Output.of(options).show(comparison.document(), comparison.lines())
    return 0 if comparison.is_same else 1


def _mapping(options: argparse.Namespace) -> "RecordMapping | None":
    """What the line says of the table's columns; None if it leaves that to what landed the table."""
    if options.landed or options.header or any(getattr(options, name) is not None for name in _MAPPED):
        return mapping_of(options)
    return None
