"""How far long work is: a bar on standard error if that is a terminal, nothing otherwise."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import rich.progress


class Progress(Protocol):
    """Work that is told how much of it is done."""

    def advance(self, steps: float = 1) -> None:
        """So many steps more are done."""
        ...

    def total(self, steps: float) -> None:
        """There are so many steps in all."""
        ...


@contextmanager
def progress(what: str, total: float | None = None, *, wanted: bool = True) -> Iterator[Progress]:
    """Show that ``what`` is under way, and how much of ``total`` is done; the bar goes when the work ends."""
    if not wanted or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import Progress as RichProgress

    with RichProgress(console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, bar.add_task(what, total=total))


class _Silent:
    """Nobody watches."""

    def advance(self, steps: float = 1) -> None:
        """Nothing is shown."""

    def total(self, steps: float) -> None:
        """Nothing is shown."""


class _Bar:
    """One task of a rich progress bar."""

    def __init__(self, bar: "rich.progress.Progress", task: "rich.progress.TaskID") -> None:
        self._bar = bar
        self._task = task

    def advance(self, steps: float = 1) -> None:
        """Move the bar."""
        self._bar.advance(self._task, steps)

    def total(self, steps: float) -> None:
        """Set the bar's end."""
        self._bar.update(self._task, total=steps)
