"""``ottla``: finds the command and runs it. A command is imported when it is named, so that each starts at once."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from ottla import __version__

COMMANDS: Final = {
    "server": "run a node: a broker and a controller",
    "storage": "format data directories, and look at them",
}

_USAGE: Final = "usage: ottla COMMAND [options]\n\n{commands}\n\nottla COMMAND --help tells more.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 if it worked, 1 if it failed and 2 for a line that cannot be understood."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        commands = "\n".join(f"  {name:<10} {what}" for name, what in COMMANDS.items())
        sys.stdout.write(_USAGE.format(commands=commands))
        return 0 if arguments else 2
    name = arguments[0]
    if name == "--version":
        sys.stdout.write(f"ottla {__version__}\n")
        return 0
    if name not in COMMANDS:
        sys.stderr.write(f"ottla: there is no command {name!r}; try one of {', '.join(COMMANDS)}\n")
        return 2
    code: int = import_module(f"ottla.cli.{name}").main(arguments[1:])
    return code
