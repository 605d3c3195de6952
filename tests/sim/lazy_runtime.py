"""A runtime that can put off the flush which follows a roll."""

from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

from ottla.runtime.inline import InlineRuntime

T = TypeVar("T")


class LazyRuntime(InlineRuntime):
    """On a live broker a flush runs while other things happen: here it waits for somebody who awaits it."""

    hold_flushes = False

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        if self.hold_flushes and getattr(coroutine, "__qualname__", "") == "SharedFlush._take":
            return _Held(coroutine)
        return super().spawn(coroutine)


class _Held(Awaitable[T]):
    """Runs when somebody awaits it."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, None, T]:
        return self._coroutine.__await__()

    def __del__(self) -> None:
        self._coroutine.close()
