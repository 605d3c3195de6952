"""``ottla pipeline``: data between topics and tables, on Spark; on this machine, or on a cluster with --master.

All of them go on where they were when they are started again, and stop cleanly at Ctrl-C.
"""

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from ottla.cli.arguments import command_parser

COMMANDS: Final[Mapping[str, str]] = {
    "run": "run the pipelines that a Python file declares",
    "land": "write a topic to a Delta or Parquet table, exactly once",
    "backfill": "write a table to a topic, exactly once",
    "mirror": "copy topics, also to another cluster, exactly once",
    "profile": "find hot partitions and keys, sizes and rates of a topic, with a picture",
    "verify": "compare two topics, or a topic and a table",
}
"""Each is a module ``ottla.cli.pipeline_NAME`` with ``add_arguments(parser)`` and ``run(options) -> exit code``."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("pipeline", __doc__, json=False)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, what in COMMANDS.items():
        module = _module(name)
        description = (module.__doc__ or "").replace("``", "").rstrip()
        module.add_arguments(commands.add_parser(name, help=what, description=description))
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    from ottla.spark.installed import check_installed

    options = parser().parse_args(arguments)
    check_installed()
    code: int = _module(options.command).run(options)
    return code


def _module(name: str):  # type: ignore[no-untyped-def]
    return import_module(f"ottla.cli.pipeline_{name.replace('-', '_')}")
