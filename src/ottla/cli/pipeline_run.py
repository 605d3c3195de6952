"""``ottla pipeline run FILE.py``: run the pipelines that a Python file declares with ``@pipeline``.

They run until Ctrl-C, or with --once until all is done that is there. Started again they go on where they were.
"""

import argparse
from pathlib import Path

from ottla.cli.pipeline_options import add_job, job_of, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("file", metavar="FILE", help="a Python file with functions under @pipeline")
    parser.add_argument("--only", action="append", default=[], metavar="PIPELINE", help="run this one; repeatable")
    add_job(parser, checkpoint="ottla-checkpoints/NAME below the current directory")


def run(options: argparse.Namespace) -> int:
    """Run them, return the exit code: 0 when they were stopped as asked or are done."""
    from ottla.spark.pipeline.running import run_file

    return run_file(options.file, job_of(options, Path(options.file).stem), only=options.only, say=say)
