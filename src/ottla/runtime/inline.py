"""A runtime that does everything in place: for tools and tests, where nothing goes on at the same time."""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from random import Random
from typing import Any, Protocol, TypeVar

from ottla.runtime.port import Clock, Files
from ottla.runtime.posix import PosixFiles, SystemClock

T = TypeVar("T")


class WaitingClock(Clock, Protocol):
    """A clock that can also let time pass."""

    def wait_ms(self, duration_ms: int) -> None:
        """Return when ``duration_ms`` have passed on this clock."""


class ManualClock:
    """Time that moves only when told to."""

    __slots__ = ("_monotonic_ms", "_now_ms")

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch, as last set."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """The milliseconds that passed by ``advance_ms``; stepping the wall clock does not count."""
        return self._monotonic_ms

    def advance_ms(self, duration_ms: int) -> None:
        """Let time pass on both clocks."""
        if duration_ms < 0:
            raise ValueError(f"time does not pass by {duration_ms} ms; set_now_ms steps the wall clock")
        self._now_ms += duration_ms
        self._monotonic_ms += duration_ms

    def set_now_ms(self, now_ms: int) -> None:
        """Step the wall clock alone, also backward, as an administrator or NTP does."""
        self._now_ms = now_ms

    wait_ms = advance_ms


class InlineRuntime:
    """See :class:`ottla.runtime.port.Runtime`; ``run`` drives what is written against it to its end."""

    def __init__(
        self, files: Files | None = None, clock: WaitingClock | None = None, rng: Random | None = None
    ) -> None:
        self.files: Files = files if files is not None else PosixFiles()
        self.clock: WaitingClock = clock if clock is not None else SystemClock()
        self.rng = rng if rng is not None else Random()

    async def blocking(self, call: Callable[[], T]) -> T:
        """Call it."""
        return call()

    async def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        """Iterate in place; closing closes the generator at the ``yield`` where it stands."""
        items = function(*args)
        try:
            for item in items:
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                close()

    async def sleep_ms(self, duration_ms: int) -> None:
        """Let the clock pass the time."""
        self.clock.wait_ms(duration_ms)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Drive a coroutine that only awaits what an InlineRuntime offers, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise AssertionError("a coroutine suspended under run(); it awaits something other than an InlineRuntime")
