"""``ottla demo``: the main job end to end, on a running broker: click events, Spark pipelines, a topic, a Delta table.

A generator sends click events to the topic clicks. One pipeline counts them a page in windows of event time, with a
watermark, to the topic page-counts; another keeps state for each user and writes their visits to a Delta table. Broken
events go to clicks.dead-letters. It stops at Ctrl-C, and goes on where it was when it is started again.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from ottla.cli.arguments import command_parser
from ottla.cli.own_command import own_command
from ottla.cli.pipeline_options import absolute, add_job, job_of, say


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("demo", __doc__, json=False)
    add_job(made, checkpoint="DIRECTORY/checkpoints", once=False)
    made.add_argument("--directory", metavar="DIRECTORY", help="for the table and the checkpoints (ottla-demo/CLUSTER)")
    made.add_argument("--until-input-ends", action="store_true", help="stop, too, when standard input ends")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run the demo, return the exit code."""
    options = parser().parse_args(arguments)
    job = job_of(options, "demo")
    from ottla.spark.demo.demo import SETTINGS, end_with_input, run_demo
    from ottla.spark.pipeline.preflight import cluster_id

    if options.until_input_ends:
        end_with_input(say)
    directory = absolute(options.directory or f"ottla-demo/{cluster_id(job)}")
    checkpoint = job.checkpoint or f"{directory}/checkpoints"
    job = replace(job, checkpoint=checkpoint, conf={**SETTINGS, **job.conf})
    return run_demo(job, directory, ottla=own_command(), say=say)
