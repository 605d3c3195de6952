"""The commands of the metadata shell, on any tree of dicts and texts. Pure: lines in, lines out."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from ottla.cli.metadata_tree import Node

_BRACES: Final = re.compile(r"\{([^{}]*)\}")


class ShellExit(Exception):  # noqa: N818 - it is no error
    """Somebody typed exit."""


class Shell:
    """A place in the tree, and the commands that look around from there."""

    def __init__(self, root: Mapping[str, Node], width: int | None = None) -> None:
        """``width`` is that of the screen; without one, ``ls`` prints a name a line."""
        self._root = root
        self._width = width
        self._here: tuple[str, ...] = ()
        self.history: list[str] = []
        self._commands: dict[str, tuple[str, str, Callable[[list[str]], Iterator[str]]]] = {
            "cat": ("cat FILE…", "Show the contents of metadata files.", self._cat),
            "cd": ("cd [DIRECTORY]", "Set the current working directory.", self._cd),
            "exit": ("exit", "Exit the metadata shell.", self._exit),
            "find": ("find [PATH…]", "Search for nodes in the directory hierarchy.", self._find),
            "help": ("help", "Display this help message.", self._help),
            "history": ("history [N]", "Print command history.", self._history),
            "ls": ("ls [PATH…]", "List metadata nodes.", self._ls),
            "man": ("man COMMAND", "Show the help text for a specific command.", self._man),
            "pwd": ("pwd", "Print the current working directory.", self._pwd),
            "tree": ("tree PATH…", "Show the contents of metadata nodes in a tree structure.", self._tree),
        }

    @property
    def commands(self) -> list[str]:
        """Their names."""
        return list(self._commands)

    def run(self, line: str) -> Iterator[str]:
        """What a line prints; ShellExit at ``exit``."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            yield f"{line}: {error}"
            return
        if not words:
            return
        self.history.append(line)
        name, arguments = words[0], words[1:]
        if name not in self._commands:
            yield f"No such command: {name}; help shows which there are."
            return
        yield from self._commands[name][2](arguments)

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
        found: list[tuple[tuple[str, ...], Node]] = []
        for text in _expand(pattern):
            parts = [part for part in text.split("/") if part not in ("", ".")]
            starts = [()] if text.startswith("/") else [self._here]
            places: list[tuple[str, ...]] = list(starts)
            for part in parts:
                places = [deeper for place in places for deeper in self._deeper(place, part)]
            found += [(place, self._at(place)) for place in places]
        return [("/" + "/".join(place), node) for place, node in found]

    def _deeper(self, place: tuple[str, ...], part: str) -> list[tuple[str, ...]]:
        if part == "..":
            return [place[:-1]]
        node = self._at(place)
        if not isinstance(node, Mapping):
            return []
        if part in node:
            return [(*place, part)]
        return [(*place, name) for name in sorted(node) if fnmatchcase(name, part)]

    def _at(self, place: tuple[str, ...]) -> Node:
        node: Node = self._root
        for part in place:
            assert isinstance(node, Mapping)
            node = node[part]
        return node

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
            yield f"cd: {target}: no such file or directory."
        elif not isinstance(found[0][1], Mapping):
            yield f"cd: {target}: not a directory."
        else:
            self._here = tuple(part for part in found[0][0].split("/") if part)

    def _exit(self, _arguments: list[str]) -> Iterator[str]:
        raise ShellExit

    def _find(self, arguments: list[str]) -> Iterator[str]:
        for target in arguments or ["."]:
            found = self.find(target)
            if not found:
                yield f"find: {target}: no such file or directory."
            for path, node in found:
                yield from _walk(path, node)

    def _help(self, _arguments: list[str]) -> Iterator[str]:
        yield "Welcome to the metadata shell: it shows what a snapshot or a log holds, and changes nothing."
        width = max(map(len, self._commands))
        for name, (_, what, _) in self._commands.items():
            yield f"{name:<{width}}  {what}"

    def _history(self, arguments: list[str]) -> Iterator[str]:
        count = int(arguments[0]) if arguments and arguments[0].isdigit() else len(self.history)
        first = max(0, len(self.history) - count)
        for number, line in enumerate(self.history[first:], first + 1):
            yield f"{number:>4}  {line}"

    def _ls(self, arguments: list[str]) -> Iterator[str]:
        files: list[str] = []
        directories: list[tuple[str, list[str]]] = []
        for target in arguments or ["."]:
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
        is_first = not files
        for name, children in directories:
            if children and (files or len(directories) > 1):
                if not is_first:
                    yield ""
                yield f"{name}:"
                is_first = False
            yield from columns(children, self._width)

    def _man(self, arguments: list[str]) -> Iterator[str]:
        for name in arguments or ["man"]:
            if name in self._commands:
                usage, what, _ = self._commands[name]
                yield f"{name}: {what}"
                yield f"usage: {usage}"
            else:
                yield f"man: unknown command {name}. Type help to get a list of commands."

    def _pwd(self, _arguments: list[str]) -> Iterator[str]:
        yield "/" + "/".join(self._here)

    def _tree(self, arguments: list[str]) -> Iterator[str]:
        for target in arguments or ["."]:
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


def _expand(pattern: str) -> list[str]:
    """The patterns that one with braces stands for."""
    found = _BRACES.search(pattern)
    if found is None:
        return [pattern]
    return [
        expanded
        for choice in found[1].split(",")
        for expanded in _expand(pattern[: found.start()] + choice + pattern[found.end() :])
    ]
