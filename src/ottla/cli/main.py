"""``ottla``: finds the command and runs it. A command is imported when it is named, so that each starts at once."""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from ottla.cli import errors
from ottla.cli.stop_signals import stop_in_order

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Nodes": {
        "server": "run a node: a broker and a controller",
        "storage": "format data directories, and look at them",
    },
    "Producing and consuming": {
        "console-producer": "send the lines of standard input to a topic",
        "console-consumer": "print the records of topics",
        "cat": "send and read records as kcat does",
        "producer-perf-test": "measure how fast a topic takes records",
        "consumer-perf-test": "measure how fast topics are read",
        "e2e-latency": "measure how long records take from a producer to a consumer",
        "verifiable-producer": "send numbers and print what became of each, for system tests",
        "verifiable-consumer": "consume and print all that happens, for system tests",
    },
    "Topics and records": {
        "topics": "create, list, describe, alter and delete topics",
        "configs": "describe and alter the configuration of topics, brokers, groups, users, clients",
        "get-offsets": "print the offsets of partitions",
        "delete-records": "delete records before an offset",
        "log-dirs": "say how much the log directories of brokers hold",
    },
    "Files": {
        "dump-log": "print what the files of a partition hold",
        "metadata-shell": "look around in a snapshot or log of a cluster's metadata",
    },
    "Groups and transactions": {
        "groups": "list groups of all kinds",
        "consumer-groups": "list, describe and delete consumer groups, reset and delete their offsets",
        "transactions": "list, describe, find and abort transactions",
    },
    "Cluster": {
        "cluster": "print the cluster's id and endpoints, unregister a broker",
        "features": "describe, upgrade and downgrade features",
        "metadata-quorum": "describe the controllers' quorum, add and remove controllers",
        "broker-api-versions": "print the requests that each broker understands",
    },
    "Spark": {
        "pipeline": "run data pipelines between topics and tables",
        "demo": "show the main job: click events, pipelines, a topic and a Delta table",
    },
    "Help": {
        "doctor": "find out why a cluster cannot be reached, or what is wrong with it",
        "explain": "say what a group, a topic or a transaction waits for, and what to do",
    },
    "This command": {
        "completion": "print the completion script of a shell",
        "help": "print this, or the help of a command",
    },
}
COMMANDS: Final[Mapping[str, str]] = {name: what for group in GROUPS.values() for name, what in group.items()}

_NO_SUCH_COMMAND: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 if it worked, 1 if it failed and 2 if there is no such command."""
    errors.take_closed_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        sys.stderr.write(usage())
        return _NO_SUCH_COMMAND
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help", "help"):
        if rest and not rest[0].startswith("-"):
            name, rest = rest[0], ["--help"]
        else:
            return errors.run("help", lambda: _print(usage()))
    if name == "--version":
        from ottla.version import version_line

        return _print(f"{version_line()}\n")
    if name not in COMMANDS:
        return _no_such_command(name)
    with stop_in_order():
        return errors.run(name, lambda: _run(name, rest))


def usage() -> str:
    """The commands in their groups, one a line."""
    width = max(map(len, COMMANDS))
    lines = ["usage: ottla COMMAND [options]"]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:", *(f"  {name:<{width}}  {what}" for name, what in commands.items())]
    return "\n".join([*lines, "", "ottla COMMAND --help tells more.", ""])


def _run(name: str, arguments: Sequence[str]) -> int:
    command = import_module(f"ottla.cli.{name.replace('-', '_')}")
    try:
        code: int = command.main(arguments)
    except SystemExit as end:  # argparse ends --help and --version so, and a signal a command
        code = end.code if isinstance(end.code, int) else 0
    return code


def _no_such_command(name: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(name.removeprefix("kafka-").removesuffix(".sh"), COMMANDS, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "ottla help shows all commands"
    sys.stderr.write(f"ottla: there is no command {name!r}; {hint}\n")
    return _NO_SUCH_COMMAND


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0
