"""How far long work is: a bar or a count on standard error if that is a terminal, nothing otherwise."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import rich.progress

_RATE_S: Final = 1.0


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


@contextmanager
def counting(what: str, *, wanted: bool) -> Iterator[Progress]:
    """Show how many records were ``what`` ("read", "sent") and how many a second; the line goes when the work ends.

    For what goes to or comes from a file or a pipe: on a terminal the records themselves are to be seen.
    """
    if not wanted or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.live import Live

    count = _Count(what)
    with Live(count, console=Console(stderr=True), transient=True):
        yield count


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


class _Count:
    """A line that rich draws now and then, in a thread of its own: a record costs an addition."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._count = 0.0
        self._rate = 0.0
        self._measured = (time.monotonic(), 0.0)
        """When the rate was measured last, and the count of then."""

    def advance(self, steps: float = 1) -> None:
        """So many records more."""
        self._count += steps

    def total(self, steps: float) -> None:
        """Nobody knows how many there will be."""

    def __rich__(self) -> str:
        """The line, as rich asks for it."""
        now, (then, before) = time.monotonic(), self._measured
        if now - then >= _RATE_S:
            self._rate = (self._count - before) / (now - then)
            self._measured = (now, self._count)
        return f"{self._count:,.0f} records {self._what}, {self._rate:,.0f} a second"
