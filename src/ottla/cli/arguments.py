"""Command lines: argparse with the manners of Kafka's tools.

An option that takes one value may be given once (Kafka's tools refuse a second, where argparse would quietly take the
last); a line that cannot be understood is a UsageError of one line.
"""

import argparse
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from ottla.cli.errors import UsageError
from ottla.version import version_line

_OLD_OPTIONS: Final = {
    "--zookeeper": "Kafka has no ZooKeeper any more: it is --bootstrap-server HOST:PORT, of a broker",
    "--broker-list": "it is --bootstrap-server since Kafka 2.5",
    "--whitelist": "it is --include since Kafka 3.0",
    "--new-consumer": "leave it out: there is no old consumer any more",
    "--delete-config": "`ottla configs --alter --delete-config` changes the configuration of a topic",
}
"""What people know from older versions of Kafka's tools, where an option is not known any more."""

_UNKNOWN: Final = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_NO_CHOICE: Final = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)$", re.DOTALL)
"""What argparse says, on the Pythons that quote the choices and on those that do not."""
_REQUIRED: Final = "the following arguments are required"
_NEAR: Final = 0.7

_JSON_HELP: Final = "print one JSON document; the exit code is 1 whenever something failed"


class CommandParser(argparse.ArgumentParser):
    """The parser of one command, ``ottla NAME``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)
        self._line: list[str] = []
        self._has_unknown = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's; notes whether this very parser, of a sub-command perhaps, did not know an argument."""
        self._line = list(args or ())
        known, unknown = super().parse_known_args(args, namespace)
        self._has_unknown = bool(unknown)
        return known, unknown

    def error(self, message: str) -> NoReturn:
        """Fail without the usage, which is longer than a screen for some commands, but with what may be meant."""
        hint = next((hint for option, hint in _OLD_OPTIONS.items() if f" {option} " in f"{message} "), "")
        raise UsageError(message, hint=hint or self._did_you_mean(message))

    def _did_you_mean(self, message: str) -> str:
        """What is near to what argparse does not know: an option, or one of the choices that it names."""
        if (found := _UNKNOWN.match(message)) is not None:
            return _nearest(found[1].split(), self._known_options())
        if (found := _NO_CHOICE.search(message)) is not None:
            return _nearest([found[1]], [choice.strip("'") for choice in found[2].split(", ")])
        if message.startswith(_REQUIRED):  # perhaps it is there, and mistyped
            known = self._known_options()
            typed = [word for word in self._line if word.startswith("--") and word.partition("=")[0] not in known]
            return _nearest(typed, known)
        return ""

    def _known_options(self) -> list[str]:
        """The options where an argument is not known: those of the sub-command, if there is one in the line."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    if parser._has_unknown:
                        return parser._known_options()  # type: ignore[no-any-return]
        return list(self._option_string_actions)


def _nearest(words: Sequence[str], choices: Sequence[str]) -> str:
    """A hint with the choice that one of the words is like."""
    from difflib import get_close_matches

    bare = {choice.lstrip("-").lower(): choice for choice in choices}
    for word in words:
        name = word.lstrip("-").partition("=")[0].lower().replace("_", "-")
        near = get_close_matches(name, bare, n=1, cutoff=_NEAR)
        if near:
            return f"did you mean {bare[near[0]]}?"
    return ""


def command_parser(name: str, documentation: str | None, *, json: bool = True) -> CommandParser:
    """A parser for ``ottla NAME`` with the options that every command has.

    The help begins with the command's documentation; what that says of --json comes after the options.
    """
    description, with_json, documents = (documentation or "").replace("``", "").partition("With --json:")
    epilog = with_json + documents
    parser = CommandParser(prog=f"ottla {name}", description=description.rstrip(), epilog=epilog or None)
    parser.add_argument("--version", action="version", version=version_line(), help="print the version")
    if json:
        add_json(parser)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``; to the parser of a sub-command, too, so that it may stand at the end of the line."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=_JSON_HELP)


def require(options: argparse.Namespace, *names: str) -> None:
    """Refuse a line that lacks one of the options ``names`` (without dashes), in the words of Kafka's tools."""
    for name in names:
        if not given(options, name):
            raise UsageError(f'Missing required argument "[{name}]"')


def refuse_with(options: argparse.Namespace, used: str, *others: str) -> None:
    """Refuse a line that has the option ``used`` and one of ``others``, in the words of Kafka's tools."""
    if given(options, used):
        for other in others:
            if given(options, other):
                raise UsageError(f'Option "[{used}]" can\'t be used with option "[{other}]"')


def given(options: argparse.Namespace, name: str) -> bool:
    """Whether the line has the option; its default must be None or False."""
    value = getattr(options, name.replace("-", "_"))
    return value is not None and value is not False


def only_action(options: argparse.Namespace, *actions: str) -> str:
    """The one of the ``actions`` that the line names; a line with none or several is refused."""
    chosen = [action for action in actions if given(options, action)]
    if len(chosen) != 1:
        raise UsageError(f"Command must include exactly one action: {', '.join(f'--{each}' for each in actions)}")
    return chosen[0]


class _StoreOnce(argparse.Action):
    """Store the value of an option that may be given once; the arguments of a command have their own count."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse gives it
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        if option_string is not None:
            seen: set[str] = namespace.__dict__.setdefault("_seen", set())
            if self.dest in seen:
                raise UsageError(
                    f"Found multiple arguments for option {self.dest.replace('_', '-')}, but you asked for only one"
                )
            seen.add(self.dest)
        setattr(namespace, self.dest, values)
