"""What the hot path touches: plain integers with a name elsewhere."""

from collections.abc import Callable, Iterable
from typing import Any


class Counter:
    """A number that only grows: ``counter.value += n``."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Gauge:
    """A number that is read when somebody asks."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[], float]) -> None:
        self.read = read


class SumGauge(Gauge):
    """A sum over many things, which whoever shows it may take in slices.

    ``items`` gives what nobody changes while it is gone through: a copy, or something immutable.
    """

    __slots__ = ("items", "value_of")

    def __init__(self, items: Callable[[], Iterable[Any]], value_of: Callable[[Any], float]) -> None:
        super().__init__(lambda: sum(map(value_of, items())))
        self.items = items
        self.value_of = value_of


class RecentRate:
    """How fast a number that only grows has grown of late: over the last one to two windows, or since the start.

    The windows are those of whoever reads, who gives the number and the time, both in units of his own.
    """

    __slots__ = ("_older", "_start", "_window")

    def __init__(self, window: float, now: float, value: float = 0) -> None:
        self._window = window
        self._start = self._older = (now, value)

    def read(self, value: float, now: float) -> float:
        """The growth in a unit of time; 0 before any time has passed."""
        if now - self._start[0] >= self._window:
            self._older, self._start = self._start, (now, value)
        since, before = self._older
        return (value - before) / (now - since) if now > since else 0.0


class Meter(Counter):
    """A counter of events whose rate can be asked for.

    The rate covers the time since the rotation before the last: one to two rotation intervals.
    """

    __slots__ = ("_marks",)

    def __init__(self, now_ms: int = 0) -> None:
        super().__init__()
        self._marks = ((now_ms, 0), (now_ms, 0))

    def mark(self, n: int = 1) -> None:
        """Counts `n` events."""
        self.value += n

    def rotate(self, now_ms: int) -> None:
        """Begins a new interval."""
        self._marks = (self._marks[1], (now_ms, self.value))

    def rate_per_sec(self, now_ms: int) -> float:
        """Events a second, of late."""
        since_ms, value = self._marks[0]
        return (self.value - value) * 1000 / (now_ms - since_ms) if now_ms > since_ms else 0.0
