"""Work that takes longer than a request may, done in slices between requests."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol, TypeVar

from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.coordinator.timers import Timers

T = TypeVar("T")

Work = Generator[None, None, T]
"""Yields after every slice of at most a few hundred microseconds; returns the outcome."""

Then = Callable[[T, int], CoordinatorResult[None]]
"""What to write when the outcome is known, at a time in ms."""


class BackgroundTasks(Protocol):
    """Runs work beside requests, one at a time for each key."""

    def is_scheduled(self, key: str) -> bool:
        """Whether the work of a key is under way."""

    def schedule(self, key: str, work: Work[T], then: Then[T]) -> None:
        """Do the work of a key that has none under way, then write what follows from it."""


class TimerTasks:
    """Does a slice a millisecond on the shard's own timers, so that unloading the shard ends it."""

    __slots__ = ("_timers",)

    def __init__(self, timers: Timers) -> None:
        self._timers = timers

    def is_scheduled(self, key: str) -> bool:
        """Whether the work of a key is under way."""
        return self._timers.is_scheduled(key)

    def schedule(self, key: str, work: Work[T], then: Then[T]) -> None:
        """Begin with the next turn of the timers."""
        self._timers.schedule(key, 0, partial(self._slice, key, work, then))

    def _slice(self, key: str, work: Work[Any], then: Then[Any], now_ms: int) -> CoordinatorResult[None]:
        try:
            next(work)
        except StopIteration as end:
            return then(end.value, now_ms)
        self._timers.schedule(key, 1, partial(self._slice, key, work, then))
        return NOTHING
