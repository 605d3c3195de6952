"""The lines of Ottla's source that sync a file or a directory, found in the source itself."""

import ast
import os
import sys
from typing import NamedTuple

import ottla

SOURCE = os.path.dirname(os.path.abspath(ottla.__file__))
PLACES = ("log", "runtime/atomic.py")
NAMES = frozenset({"sync", "sync_dir"})


class SyncCall(NamedTuple):
    """A call of ``sync`` or ``sync_dir``, be it a file's or of something that syncs files."""

    path: str
    """Relative to the package."""
    lineno: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno} in {self.function}"


def sync_calls() -> list[SyncCall]:
    """All of them, in the rooms that write what must last."""
    found: list[SyncCall] = []
    for place in PLACES:
        top = os.path.join(SOURCE, place)
        paths = [top] if os.path.isfile(top) else [os.path.join(d, f) for d, _, files in os.walk(top) for f in files]
        for path in sorted(path for path in paths if path.endswith(".py")):
            with open(path, encoding="utf-8") as file:
                found += _calls(ast.parse(file.read()), os.path.relpath(path, SOURCE), "module")
    return found


def _calls(node: ast.AST, path: str, function: str) -> list[SyncCall]:
    found: list[SyncCall] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found += _calls(child, path, child.name)
            continue
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr in NAMES:
            found.append(SyncCall(path, child.lineno, function))
        found += _calls(child, path, function)
    return found


def running_calls(calls: frozenset[tuple[str, int]]) -> set[tuple[str, int]]:
    """Which of these lines (absolute path, line) are being executed: the sync in progress happens for all of them."""
    running: set[tuple[str, int]] = set()
    frame = sys._getframe(1)
    while frame is not None:
        line = (frame.f_code.co_filename, frame.f_lineno)
        if line in calls:
            running.add(line)
        frame = frame.f_back  # type: ignore[assignment]
    return running
