"""What all commands of ``ottla pipeline`` have in common: the cluster, Spark, the checkpoint, the name.

A command adds the options with ``add_job`` and makes its Job with ``job_of``.
"""

import argparse
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Final, overload

from ottla.cli.arguments import require
from ottla.cli.connection import BOOTSTRAP_SERVERS, add_connection, client_properties
from ottla.cli.errors import UsageError

if TYPE_CHECKING:
    from ottla.spark.pipeline.job import Job

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")


def add_job(
    parser: argparse.ArgumentParser, *, checkpoint: str | None = None, once: bool = True, reads_topics: bool = True
) -> None:
    """Add the common options; ``checkpoint`` says where it is by default, None that the command has none.

    ``once`` is for commands that go on until they are stopped: it lets them end when all is done that is there.
    ``reads_topics`` is for those that may find records gone.
    """
    add_connection(parser)
    parser.add_argument("--name", metavar="NAME", help="what the pipeline is called in its progress and in Spark")
    parser.add_argument("--master", metavar="URL", help="Spark's master: local[*,4] (this machine) by default")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's; repeatable"
    )
    if checkpoint is not None:
        parser.add_argument(
            "--checkpoint", metavar="DIRECTORY", help=f"where the pipeline keeps how far it is ({checkpoint})"
        )
    if once:
        parser.add_argument("--once", action="store_true", help="end when all is done that is there now")
    if reads_topics:
        parser.add_argument(
            "--skip-lost",
            action="store_true",
            help="pass over records that are gone before they were read, with a warning in Spark's log, instead of "
            "failing",
        )
    parser.add_argument(
        "--progress-topic",
        metavar="TOPIC",
        help="where progress is published, __ottla_pipelines by default; an empty name for nowhere",
    )
    parser.add_argument("--log", metavar="FILE", help="takes what Spark prints; by default a file in the user's cache")


def job_of(options: argparse.Namespace, default_name: str) -> "Job":
    """The job that the line describes; UsageError if it lacks something or a setting is no setting."""
    from ottla.cli.client_notices import show_notices
    from ottla.spark.pipeline.job import PROGRESS_TOPIC, Job

    show_notices()
    client = client_properties(options)
    if BOOTSTRAP_SERVERS not in client:
        require(options, "bootstrap-server")
    name = options.name or default_name
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name takes letters, digits, dots, underscores and hyphens, not {name!r}")
    progress_topic = PROGRESS_TOPIC if options.progress_topic is None else options.progress_topic
    return Job(
        name=name,
        client=client,
        master=options.master,
        conf=dict(_setting(each) for each in options.conf),
        checkpoint=absolute(getattr(options, "checkpoint", None)),
        progress_topic=progress_topic or None,
        once=getattr(options, "once", False),
        skip_lost=getattr(options, "skip_lost", False),
        log=options.log,
    )


def positive(text: str) -> int:
    """A number of something, which is not none."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def interval(text: str) -> str:
    """A time as Spark reads it."""
    from ottla.spark.pipeline.declaration import is_interval

    if not is_interval(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: for example '10 seconds'")
    return text


def offsets(text: str) -> str:
    """Where to begin."""
    if text not in ("earliest", "latest"):
        try:
            told = json.loads(text)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            raise argparse.ArgumentTypeError(
                f'{text!r} is not earliest, latest or offsets as {{"clicks": {{"0": 23}}}}'
            )
    return text


@overload
def absolute(path: str) -> str: ...
@overload
def absolute(path: None) -> None: ...
def absolute(path: str | None) -> str | None:
    """A path in full, for it names the same wherever the command is started; the URL of a file system as it is."""
    return path if path is None or "://" in path else os.path.abspath(path)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise UsageError(f"--conf takes spark.KEY=VALUE, not {text!r}")
    return key, value


def say(message: str) -> None:
    """What takes long, for people: a line on standard error."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
