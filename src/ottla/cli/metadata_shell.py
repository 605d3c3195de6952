"""``ottla metadata-shell``: look around in the metadata of a cluster, as kafka-metadata-shell.sh.

--snapshot FILE reads a snapshot or a segment of the metadata log, --directory DIR the last snapshot and what follows.
With a command (ls, cat, tree, find) it runs that; without, it asks for commands until ``exit``. As in Kafka's shell,
a path or a command that does not exist is told, and the exit code is 0; with --json it is 1.
With --json: the nodes that the command's paths name, by their paths.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser
from ottla.cli.errors import CommandError, UsageError

if TYPE_CHECKING:
    from ottla.cli.metadata_tree import Node
    from ottla.cli.shell_commands import Shell

PROMPT: Final = ">> "


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("metadata-shell", __doc__)
    source = made.add_mutually_exclusive_group()
    source.add_argument("--snapshot", "-s", metavar="FILE", help="the snapshot or segment to read")
    source.add_argument("--directory", "-d", metavar="DIR", help="the metadata log, or the log directory it is in")
    made.add_argument("command", nargs="*", metavar="COMMAND", help="what to run, with its arguments")
    return made


def main(arguments: Sequence[str]) -> int:
    """Run a command, or as many as are typed."""
    from ottla.cli.metadata_files import load_image
    from ottla.cli.metadata_tree import metadata_tree
    from ottla.cli.shell_commands import Shell

    options = parser().parse_args(arguments)
    name = options.snapshot if options.snapshot is not None else options.directory
    if name is None:
        raise UsageError("You must specify the metadata to read with --snapshot or --directory")
    tree = metadata_tree(load_image(Path(name)))
    typed = os.isatty(0) and sys.stdout.isatty() and not options.command
    shell = Shell(tree, os.get_terminal_size().columns if typed else None, typed=not options.command)
    if getattr(options, "json", False):
        sys.stdout.write(json.dumps(_document(shell, options.command)) + "\n")
    elif options.command:
        _print(shell.run_words(options.command))
    else:
        _ask(shell, typed)
    return 0


def _document(shell: "Shell", words: Sequence[str]) -> dict[str, "Node"]:
    """The nodes that the command's paths name; CommandError if one names none."""
    mistake = shell.mistake(words)
    if mistake is not None:
        raise CommandError(mistake)
    found: dict[str, Node] = {}
    for path in words[1:] or ["/"]:
        nodes = shell.find(path)
        if not nodes:
            raise CommandError(f"{words[0]}: {path}: no such file or directory")
        found.update(nodes)
    return found


def _ask(shell: "Shell", typed: bool) -> None:
    """Read commands from the terminal, or from a pipe, until they end."""
    from ottla.cli.shell_commands import ShellExit

    if typed:
        _complete(shell)
    while True:
        try:
            line = input(PROMPT) if typed else _line()
        except EOFError:
            return
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            continue
        try:
            _print(shell.run(line))
        except ShellExit:
            return


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _print(lines: Iterator[str]) -> None:
    for each in lines:
        sys.stdout.write(f"{each}\n")
    sys.stdout.flush()


def _complete(shell: "Shell") -> None:
    """Let the tab key complete commands and paths, where there is readline."""
    try:
        import readline
    except ImportError:
        return

    def complete(text: str, number: int) -> str | None:
        first = not readline.get_line_buffer().lstrip().partition(" ")[1]
        found = [name for name in shell.commands if name.startswith(text)] if first else shell.completions(text)
        return found[number] if number < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
