"""``ottla completion SHELL``: print the script that completes ``ottla`` in bash, zsh or tcsh.

bash:  ottla completion bash > ~/.local/share/bash-completion/completions/ottla
zsh:   ottla completion zsh > _ottla, in a directory of $fpath
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from ottla.cli.arguments import command_parser
from ottla.cli.main import COMMANDS

SHELLS = ("bash", "zsh", "tcsh")


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("completion", __doc__, json=False)
    made.add_argument("shell", choices=SHELLS)
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the script."""
    import shtab

    options = parser().parse_args(arguments)
    whole = whole_parser()
    for action in options_of(whole):
        if action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(whole, options.shell) + "\n")
    return 0


def options_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Every option and argument of a parser and of those below it."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from options_of(below)


def whole_parser() -> argparse.ArgumentParser:
    """One parser with every command in it, made of the commands' own."""
    whole = argparse.ArgumentParser(prog="ottla")
    commands = whole.add_subparsers()
    for name, what in COMMANDS.items():
        if name == "help":
            commands.add_parser(name, help=what).add_argument("command", nargs="?", choices=sorted(COMMANDS))
        else:
            own: argparse.ArgumentParser = import_module(f"ottla.cli.{name.replace('-', '_')}").parser()
            commands.add_parser(name, help=what, parents=[own], add_help=False)
    return whole
