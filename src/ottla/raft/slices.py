"""Long work on the reactor, cut into slices of at most two milliseconds."""

from typing import Final

from ottla.runtime.port import Runtime

CHECK_INTERVAL: Final = 32
"""How many records are taken between two looks at the clock."""


class Slices:
    """Asked between two steps, gives the reactor back when the slice is used up."""

    __slots__ = ("_clock", "_runtime", "_started_ms")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._started_ms = self._clock.monotonic_ms()

    async def pause_if_due(self) -> None:
        """Let others run if the clock, which counts whole milliseconds, has moved."""
        if self._clock.monotonic_ms() != self._started_ms:
            await self._runtime.sleep_ms(0)
            self._started_ms = self._clock.monotonic_ms()
