"""Errors in sentences: no number of Python's stands in them, wherever in the source they are made."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError

SOURCE = Path(__file__).parents[2] / "src" / "ottla"
SYSTEM_ERRORS = {
    "OSError", "IOError", "ConnectionError", "ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError",
    "FileNotFoundError", "FileExistsError", "PermissionError", "NotADirectoryError", "IsADirectoryError",
    "TimeoutError", "BlockingIOError", "InterruptedError",
}  # fmt: skip
LOUD = {"info", "warning", "error", "critical", "exception"}
"""What a logger says to people; debug is for us."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory"),
        (FileNotFoundError(2, "No such file or directory", b"a.txt"), "a.txt: No such file or directory"),
        (OSError("Multiple exceptions: [Errno 111] Nobody, [Errno 101] No way"), "Multiple exceptions: Nobody, No way"),
        (OSError(), "OS"),
        (TimeoutError(), "Timeout"),
        (InvalidConfigError("a must be b"), "a must be b"),
        (InvalidConfigError(), "InvalidConfig"),
    ],
)
def test_words(error: BaseException, words: str) -> None:
    assert in_words(error) == words


@pytest.mark.parametrize("room", sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}))
def test_errors_of_the_system_are_put_into_words(room: str) -> None:
    paths = [SOURCE / room] if room.endswith(".py") else (SOURCE / room).rglob("*.py")
    found = [f"{path}:{line}" for path in paths for line in _unworded(ast.parse(path.read_text()))]
    assert found == [], "in_words(error) says it without [Errno …]"


def test_the_search_finds_them() -> None:
    program = (
        "try:\n    f()\n"
        "except (KafkaError, OSError) as error:\n"
        "    raise A(f'{error}') from error\n"
        "    a = str(error)\n"
        "    logger.warning('%s', error)\n"
        "    logger.debug('%s', error)\n"
        "    logger.error('a', exc_info=error)\n"
        "def failed(error: OSError): return f'{error}'\n"
    )
    assert sorted(_unworded(ast.parse(program))) == [4, 5, 6, 9]


def _unworded(tree: ast.AST) -> Iterator[int]:
    """The lines where an error of the system is made text as Python makes it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name is not None and _names(node.type) & SYSTEM_ERRORS:
            held = {node.name}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs]
            held = {each.arg for each in arguments if _names(each.annotation) & SYSTEM_ERRORS}
        else:
            continue
        for each in (inner for statement in node.body for inner in ast.walk(statement)):
            if held & _shown(each):
                yield each.lineno  # type: ignore[attr-defined]


def _names(node: ast.AST | None) -> set[str]:
    return set() if node is None else {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _shown(node: ast.AST) -> set[str]:
    """The variables that a node makes text of."""
    if isinstance(node, ast.FormattedValue):
        return _names(node.value) if isinstance(node.value, ast.Name) else set()
    if not isinstance(node, ast.Call):
        return set()
    makes_text = (isinstance(node.func, ast.Name) and node.func.id == "str") or (
        isinstance(node.func, ast.Attribute) and node.func.attr in LOUD
    )
    return {value.id for value in node.args if isinstance(value, ast.Name)} if makes_text else set()
