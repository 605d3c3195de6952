"""Paths in a tree of dicts and texts, with ``*``, ``?`` and ``{a,b}``, as Kafka's metadata shell takes them. Pure."""

import re
from collections.abc import Iterator, Mapping

from ottla.cli.metadata_tree import Node

Place = tuple[str, ...]


def split_path(path: str, here: Place = ()) -> list[str]:
    """The parts of a path that begins at ``here`` unless at the root; ``..`` takes the part before it away."""
    parts: list[str] = [] if path.startswith("/") else list(here)
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def matching(node: Node, parts: list[str], place: Place = ()) -> Iterator[tuple[Place, Node]]:
    """The nodes below ``node`` whose path matches, in the order of their names."""
    if not parts:
        yield place, node
    elif isinstance(node, Mapping):
        pattern = glob(parts[0])
        if pattern is None:
            names = [parts[0]] if parts[0] in node else []
        else:
            names = [name for name in sorted(node) if pattern.fullmatch(name)]
        for name in names:
            yield from matching(node[name], parts[1:], (*place, name))


def glob(part: str) -> re.Pattern[str] | None:
    """The expression of a part with ``*``, ``?`` or ``{a,b}``; None for one that stands for itself only.

    A backslash takes its meaning from the character after it. Braces that do not end stand for themselves.
    """
    expression: list[str] = []
    is_pattern = in_group = False
    characters = iter(part)
    for each in characters:
        if each == "\\":
            expression.append(re.escape(next(characters, "\\")))
        elif each in "*?":
            expression.append("." if each == "?" else ".*")
            is_pattern = True
        elif each == "{" and in_group:
            return None
        elif each == "{":
            expression.append("(?:")
            is_pattern = in_group = True
        elif each == "," and in_group:
            expression.append("|")
        elif each == "}" and in_group:
            expression.append(")")
            in_group = False
        else:
            expression.append(re.escape(each))
    return re.compile("".join(expression), re.DOTALL) if is_pattern and not in_group else None
