"""``ottla pipeline profile --topic TOPIC``: keys, skew and hot partitions, sizes and rates over time of a topic.

A summary is printed, and a picture written as TOPIC-profile.html and TOPIC-profile.png (--picture). A run that was
killed is resumed when the same is asked again.
"""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from ottla.cli.arguments import add_json, require
from ottla.cli.output import Output, Table
from ottla.cli.pipeline_options import add_job, job_of, positive, say

if TYPE_CHECKING:
    from ottla.spark.pipeline.profile_result import Profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--topic", metavar="TOPIC", help="the topic to look at")
    parser.add_argument(
        "--keys", type=positive, default=20, metavar="N", help="so many keys with most records are told (20)"
    )
    parser.add_argument(
        "--picture",
        metavar="PATH",
        help="where the picture goes: a .html, a .png, or both with that name (TOPIC-profile); '' for nowhere",
    )
    parser.add_argument(
        "--slice-records", type=positive, default=4_000_000, metavar="N", help="records that one step reads, at most"
    )
    add_json(parser)
    add_job(parser, checkpoint="ottla-checkpoints/NAME below the current directory", once=False)


def run(options: argparse.Namespace) -> int:
    """Profile, return the exit code."""
    require(options, "topic")
    from ottla.spark.pipeline.profile import ProfileRequest
    from ottla.spark.pipeline.profile_command import pictures_of, profile, write_pictures

    job = job_of(options, f"profile-{options.topic}")
    request = ProfileRequest(options.topic, options.keys, options.slice_records)
    path = f"{options.topic}-profile" if options.picture is None else options.picture
    pictures = pictures_of(path, say=say) if path else []
    found, code = profile(job, request, say=say)
    if found is None:
        sys.stderr.write("stopped; the same command goes on where it was\n")
        return code
    output = Output.of(options)
    output.show(found.document(), _lines(found), _tables(found))
    if output.terminal:
        for finding in found.findings:
            output.note(f"- {finding}")
    write_pictures(found, pictures)
    for written in pictures:
        output.note(f"wrote {os.path.relpath(written)}")
    return 0


def _lines(found: "Profile") -> list[str]:
    """For a pipe: what the terminal shows, a line each."""
    from ottla.spark.pipeline.profile_result import shown_key

    lines = [f"topic {found.topic}: {found.records} records, {found.size_in_bytes} bytes, {found.distinct_keys} keys"]
    lines += [
        f"partition {each.partition}: {each.records} records, {each.key_bytes + each.value_bytes} bytes"
        for each in found.partitions
    ]
    lines += [f"key {shown_key(each.key)}: {each.records} records in partition {each.partition}" for each in found.keys]
    return [*lines, *(f"- {finding}" for finding in found.findings)]


def _tables(found: "Profile") -> list[Table]:
    from ottla.spark.pipeline.profile_result import shown_key

    total = max(found.records, 1)
    partitions = [
        (
            each.partition,
            each.records,
            f"{100 * each.records / total:.1f} %",
            each.key_bytes + each.value_bytes,
            each.null_keys,
            each.tombstones,
        )
        for each in found.partitions
    ]
    keys = [
        (shown_key(each.key), each.partition, each.records, f"{100 * each.records / total:.1f} %")
        for each in found.keys
    ]
    return [
        Table(("PARTITION", "RECORDS", "SHARE", "BYTES", "NO KEY", "TOMBSTONES"), partitions, f"topic {found.topic}"),
        Table(("KEY", "PARTITION", "RECORDS", "SHARE"), keys, f"{found.distinct_keys:,} keys, about"),
    ]
