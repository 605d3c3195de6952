"""What the network counts: plain integers where it runs hot, gauges that read them when somebody asks."""

from time import perf_counter_ns
from typing import Final

from ottla.metrics.instruments import RecentRate

IDLE_WINDOW_NS: Final = 30_000_000_000
"""Over how long the idle percentages are taken."""


class PlaneMetrics:
    """The counters of one plane."""

    __slots__ = ("busy_ns", "handler_busy_ns", "name", "slow_handlers", "slow_turns")

    def __init__(self, name: str) -> None:
        self.name = name
        self.busy_ns = 0
        """Time spent in turns, handlers included."""
        self.handler_busy_ns = 0
        self.slow_turns = 0
        self.slow_handlers = 0


class IdleRatio:
    """The part of the recent past that something was not busy, from a counter that only grows."""

    __slots__ = ("_busy",)

    def __init__(self, now_ns: int, busy_ns: int = 0) -> None:
        self._busy = RecentRate(IDLE_WINDOW_NS, now_ns, busy_ns)

    def read(self, busy_ns: int, now_ns: int | None = None) -> float:
        """Between 0, always busy, and 1; over the last one to two windows, or since the start where that is less."""
        now_ns = perf_counter_ns() if now_ns is None else now_ns
        return min(max(1.0 - self._busy.read(busy_ns, now_ns), 0.0), 1.0)
