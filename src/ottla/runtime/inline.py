"""A runtime that does everything in place: for tools and tests, where nothing goes on at the same time."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from random import Random
from typing import Any, Protocol, TypeVar, cast

from ottla.runtime.port import Clock, Files
from ottla.runtime.posix import PosixFiles
from ottla.runtime.system_clock import SystemClock

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

    async def compute(self, function: Callable[..., T], /, *args: object) -> T:
        """Call it."""
        return function(*args)

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Run it to its end now; its result or exception waits for whoever awaits it."""
        try:
            return _Finished(result=run(coroutine))
        except Exception as error:  # noqa: BLE001 - kept, not hidden: awaiting raises it
            return _Finished(error=error)

    async def sleep_ms(self, duration_ms: int) -> None:
        """Let the clock pass the time."""
        self.clock.wait_ms(duration_ms)


class _Finished(Awaitable[T]):
    """The outcome of a coroutine that has run; awaiting never suspends."""

    def __init__(self, *, result: T | None = None, error: Exception | None = None) -> None:
        self._result = result
        self._error = error

    def __await__(self) -> Generator[Any, None, T]:
        if self._error is not None:
            raise self._error
        return cast("T", self._result)
        yield  # makes this a generator, which is what awaiting needs


def run(awaitable: Awaitable[T]) -> T:
    """Drive a coroutine that only awaits what an InlineRuntime offers, and return its result."""
    steps = awaitable.__await__()
    try:
        next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("a coroutine suspended under run(); it awaits something other than an InlineRuntime")
