"""The commands of the metadata shell, on any tree of dicts and texts. Pure: lines in, lines out.

They say what Kafka's shell says, of mistakes as well.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ottla.cli.metadata_tree import Node
from ottla.cli.shell_paths import Place, matching, split_path

_ANY_NUMBER: Final = 1 << 31


class ShellExit(Exception):  # noqa: N818 - it is no error
    """Somebody typed exit."""


class ShellCommand(NamedTuple):
    """What a command takes, and what it does; ``is_typed`` makes sense at a prompt only."""

    usage: str
    what: str
    run: Callable[[list[str]], Iterator[str]]
    least: int = 0
    most: int = _ANY_NUMBER
    is_typed: bool = False


class Shell:
    """A place in the tree, and the commands that look around from there."""

    def __init__(self, root: Mapping[str, Node], width: int | None = None, *, typed: bool = True) -> None:
        """``width`` is that of the screen; without one, ``ls`` prints a name a line. ``typed``: there is a prompt."""
        self._root = root
        self._width = width
        self._here: Place = ()
        self.history: list[str] = []
        every = {
            "cat": ShellCommand("cat FILE…", "Show the contents of metadata files.", self._cat, 1),
            "cd": ShellCommand("cd [DIRECTORY]", "Set the current working directory.", self._cd, 0, 1, True),
            "exit": ShellCommand("exit", "Exit the metadata shell.", self._exit, 0, 0, True),
            "find": ShellCommand("find [PATH…]", "Search for nodes in the directory hierarchy.", self._find),
            "help": ShellCommand("help", "Display this help message.", self._help, 0, 0, True),
            "history": ShellCommand("history [N]", "Print command history.", self._history, 0, 1, True),
            "ls": ShellCommand("ls [PATH…]", "List metadata nodes.", self._ls),
            "man": ShellCommand("man COMMAND", "Show the help text for a specific command.", self._man, 1, 1, True),
            "pwd": ShellCommand("pwd", "Print the current working directory.", self._pwd, 0, 0, True),
            "tree": ShellCommand("tree PATH…", "Show the contents of metadata nodes in a tree structure.", self._tree,
                                 1),
        }  # fmt: skip
        self._commands = {name: each for name, each in every.items() if typed or not each.is_typed}

    @property
    def commands(self) -> list[str]:
        """Their names."""
        return list(self._commands)

    def run(self, line: str) -> Iterator[str]:
        """What a line prints; ShellExit at ``exit``."""
        if not line.strip():
            return
        self.history.append(line)
        try:
            words = shlex.split(line)
        except ValueError as error:
            yield f"{line}: {error}"
            return
        yield from self.run_words(words)

    def run_words(self, words: Sequence[str]) -> Iterator[str]:
        """What a command with its arguments prints; ShellExit at ``exit``."""
        mistake = self.mistake(words)
        if mistake is not None:
            yield mistake
        elif words:
            yield from self._commands[words[0]].run(list(words[1:]))

    def mistake(self, words: Sequence[str]) -> str | None:
        """Why words are no command; None if they are one."""
        if not words:
            return None
        name, count = words[0], len(words) - 1
        if name not in self._commands:
            meant = [each for each in self._commands if each.startswith(name)]
            if len(meant) == 1:
                return f"invalid choice: '{name}': did you mean '{meant[0]}'?"
            return f"invalid choice: '{name}' (choose from {', '.join(map(repr, self._commands))})"
        if count < self._commands[name].least:
            return "too few arguments"
        if count > self._commands[name].most:
            return f"unrecognized arguments: '{' '.join(words[1 + self._commands[name].most :])}'"
        return None

    def completions(self, text: str) -> list[str]:
        """Paths that begin with ``text``."""
        before, slash, prefix = text.rpartition("/")
        start = before or (slash and "/") or "."
        return [
            f"{before}{slash}{name}{'/' if isinstance(child, Mapping) else ''}"
            for _, node in self.find(start)
            if isinstance(node, Mapping)
            for name, child in sorted(node.items())
            if name.startswith(prefix)
        ]

    def find(self, pattern: str) -> list[tuple[str, Node]]:
        """The nodes that a path with ``*``, ``?`` and ``{a,b}`` names, with their paths."""
        parts = split_path(pattern, self._here)
        return [("/" + "/".join(place), node) for place, node in matching(self._root, parts)]

    # The commands

    def _cat(self, arguments: list[str]) -> Iterator[str]:
        for target in arguments:
            found = self.find(target)
            if not found:
                yield f"cat: {target}: No such file or directory."
            for _, node in found:
                yield f"cat: {target}: Is a directory" if isinstance(node, Mapping) else node

    def _cd(self, arguments: list[str]) -> Iterator[str]:
        target = arguments[0] if arguments else "/"
        found = self.find(target)
        if not found:
            yield f"cd: {target}: no such directory."
        for path, node in found:
            if isinstance(node, Mapping):
                self._here = tuple(split_path(path))
            else:
                yield f"cd: {target}: not a directory."

    def _exit(self, _arguments: list[str]) -> Iterator[str]:
        raise ShellExit

    def _find(self, arguments: list[str]) -> Iterator[str]:
        for target in _given(arguments):
            found = self.find(target)
            if not found:
                yield f"find: {target}: no such file or directory."
            for _, node in found:
                yield from _walk(target, node)

    def _help(self, _arguments: list[str]) -> Iterator[str]:
        yield "Welcome to the metadata shell: it shows what a snapshot or a log holds, and changes nothing."
        width = max(map(len, self._commands))
        for name, command in self._commands.items():
            yield f"{name:<{width}}  {command.what}"

    def _history(self, arguments: list[str]) -> Iterator[str]:
        count = len(self.history)
        if arguments:
            try:
                count = max(0, int(arguments[0]))
            except ValueError:
                yield f"argument numEntriesToShow: could not convert '{arguments[0]}' to Integer"
                return
        first = max(0, len(self.history) - count)
        for number, line in enumerate(self.history[first:], first):
            yield f"{number:>5}  {line}"

    def _ls(self, arguments: list[str]) -> Iterator[str]:
        files: list[str] = []
        directories: list[tuple[str, list[str]]] = []
        for target in _given(arguments):
            found = self.find(target)
            if not found:
                yield f"ls: {target}: no such file or directory."
            for path, node in found:
                name = path.rpartition("/")[2] or "/"
                if isinstance(node, Mapping):
                    directories.append((name, sorted(node)))
                else:
                    files.append(name)
        yield from columns(files, self._width)
        has_headings = bool(files) or len(directories) > 1
        for number, (name, children) in enumerate(directories):
            if children and has_headings:
                yield from ("", f"{name}:") if files or number else (f"{name}:",)
            yield from columns(children, self._width)

    def _man(self, arguments: list[str]) -> Iterator[str]:
        command = self._commands.get(arguments[0])
        if command is None:
            yield f"man: unknown command {arguments[0]}. Type help to get a list of commands."
        else:
            yield from (f"{arguments[0]}: {command.what}", "", f"usage: {command.usage}")

    def _pwd(self, _arguments: list[str]) -> Iterator[str]:
        yield "/" + "/".join(self._here)

    def _tree(self, arguments: list[str]) -> Iterator[str]:
        for target in arguments:
            found = self.find(target)
            if not found:
                yield f"tree: {target}: No such file or directory."
            for _, node in found:
                yield from _branches(node, "")


def columns(names: list[str], width: int | None) -> Iterator[str]:
    """Names side by side, sorted downwards, as many columns as fit."""
    if not names:
        return
    for count in range(max(1, (width or 1) // 4), 0, -1):
        height = -(-len(names) // count)
        parts = [names[start : start + height] for start in range(0, len(names), height)]
        widths = [max(map(len, part)) + 2 for part in parts]
        if count == 1 or sum(widths) <= (width or 0):
            for row in range(height):
                cells = [
                    part[row].ljust(size) if index < len(parts) - 1 else part[row]
                    for index, (part, size) in enumerate(zip(parts, widths, strict=True))
                    if row < len(part)
                ]
                yield "".join(cells).rstrip()
            return


def _walk(path: str, node: Node) -> Iterator[str]:
    yield path
    if isinstance(node, Mapping):
        for name, child in sorted(node.items()):
            yield from _walk(f"{path.rstrip('/')}/{name}", child)


def _branches(node: Node, indent: str) -> Iterator[str]:
    if not isinstance(node, Mapping):
        yield f"{indent}{node}"
        return
    for name, child in sorted(node.items()):
        yield f"{indent}{name}:"
        yield from _branches(child, f"{indent}  ")


def _given(paths: list[str]) -> list[str]:
    """Without empty ones; where one is if none is left."""
    return [path for path in paths if path] or ["."]
