"""The order in which planes are served on the event loop."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from ottla.network.listener_type import ListenerType
from ottla.network.network_metrics import PlaneMetrics
from ottla.runtime.port import Clock


class Turnable(Protocol):
    """A plane, as the reactor sees it."""

    metrics: PlaneMetrics

    def fileno(self) -> int:
        """Readable when there is something to do."""

    def is_due(self) -> bool:
        """Whether there is something to do now."""

    def turn(self, now_ms: int) -> bool:
        """Do some of it; returns whether there is more."""


class Reactor:
    """Serves the planes of a process, those of the controller first, before every slice of the others.

    A turn of all planes is one callback of the event loop. When a plane has more to do than its slice allows, the next
    turn is asked for at once, but behind whatever else the loop has to run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._first: list[Turnable] = []
        self._rest: list[Turnable] = []
        self._is_scheduled = False

    def add(self, plane: Turnable, listener_type: ListenerType) -> None:
        """Serve a plane from now on."""
        (self._first if listener_type is ListenerType.CONTROLLER else self._rest).append(plane)
        self._loop.add_reader(plane.fileno(), self._turn)

    def remove(self, plane: Turnable) -> None:
        """Serve it no more; its descriptor must still be open."""
        self._loop.remove_reader(plane.fileno())
        for planes in (self._first, self._rest):
            if plane in planes:
                planes.remove(plane)

    @property
    def planes(self) -> list[PlaneMetrics]:
        """What every plane has counted."""
        return [plane.metrics for plane in (*self._first, *self._rest)]

    def wakeup(self) -> None:
        """Ask for a turn."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._scheduled_turn)

    def call_later(self, delay_ms: int, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Call in a while."""
        return self._loop.call_later(delay_ms / 1000, call)

    def _scheduled_turn(self) -> None:
        """A turn that somebody asked for: there may be chores that no descriptor tells of."""
        self._is_scheduled = False
        for plane in self._first:
            if plane.turn(self._clock.monotonic_ms()):
                self.wakeup()
        self._turn()

    def _turn(self) -> None:
        now_ms = self._clock.monotonic_ms()
        more = False
        for plane in self._first:
            if plane.is_due():  # to look costs a tenth of a turn
                more |= plane.turn(now_ms)
        for plane in self._rest:
            more |= plane.turn(now_ms)
        if more:
            self.wakeup()
