"""Advances the purgatories' timers: armed for the next deadline, never polling."""

import asyncio
from typing import Any

from ottla.purgatory.purgatory import Purgatory
from ottla.purgatory.timer import Timer
from ottla.runtime.port import Clock


class Reaper:
    """The timers of a broker's purgatories on one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._purgatories: list[Purgatory[Any]] = []
        self._handle: asyncio.TimerHandle | None = None
        self._armed_for_ms = 0
        self._is_stopped = False

    def new_timer(self) -> Timer:
        """A timer that this reaper advances as soon as its purgatory is added."""
        return Timer(self._clock.monotonic_ms, on_earlier_deadline=self._arm)

    def add(self, *purgatories: Purgatory[Any]) -> None:
        """Advance these purgatories."""
        self._purgatories += purgatories

    def stop(self) -> None:
        """Expire nothing more."""
        self._is_stopped = True
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, deadline_ms: int) -> None:
        if self._is_stopped or (self._handle is not None and self._armed_for_ms <= deadline_ms):
            return
        if self._handle is not None:
            self._handle.cancel()
        self._armed_for_ms = deadline_ms
        delay_ms = max(deadline_ms - self._clock.monotonic_ms(), 0)
        self._handle = self._loop.call_later(delay_ms / 1000, self._advance)

    def _advance(self) -> None:
        self._handle = None
        now_ms = self._clock.monotonic_ms()
        deadlines = []
        for purgatory in self._purgatories:
            purgatory.advance(now_ms)
            deadline_ms = purgatory.next_deadline_ms()
            if deadline_ms is not None:
                deadlines.append(deadline_ms)
        if deadlines:
            self._arm(min(deadlines))
