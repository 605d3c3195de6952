"""What keeps a coordinator going beside its requests: its timers, and the loading of its partitions."""

import asyncio
from typing import Any

from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.runtime.port import Clock
from ottla.server.background import Background


class CoordinatorDriver:
    """Armed for the next deadline of the monotonic clock, never polling."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, background: Background, name: str) -> None:
        self._loop = loop
        self._clock = clock
        self._background = background
        self._name = name
        self._runtime: CoordinatorRuntime[Any] | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._armed_for_ms = 0
        self._is_loading = False
        self._loaded = asyncio.Event()
        self._loaded.set()
        self._is_stopped = False

    def drive(self, runtime: CoordinatorRuntime[Any]) -> None:
        """Take the runtime whose ``on_loading`` and ``on_earlier_deadline`` are this driver's methods."""
        self._runtime = runtime

    # -- timers -------------------------------------------------------------------------------------------------------

    def on_earlier_deadline(self, deadline_ms: int) -> None:
        """Wake up at ``deadline_ms``, unless that is planned for earlier anyway."""
        if self._is_stopped or (self._handle is not None and self._armed_for_ms <= deadline_ms):
            return
        if self._handle is not None:
            self._handle.cancel()
        self._armed_for_ms = deadline_ms
        delay_ms = max(deadline_ms - self._clock.monotonic_ms(), 0)
        self._handle = self._loop.call_later(delay_ms / 1000, self._tick)

    def _tick(self) -> None:
        self._handle = None
        runtime = self._runtime
        assert runtime is not None
        deadline_ms = runtime.tick(self._clock.monotonic_ms())
        if deadline_ms is not None:
            self.on_earlier_deadline(deadline_ms)

    # -- loading ------------------------------------------------------------------------------------------------------

    def on_loading(self) -> None:
        """Begin to load, unless that is under way."""
        if not self._is_loading and not self._is_stopped:
            self._is_loading = True
            self._loaded.clear()
            self._background.spawn(self._load(), f"{self._name}-loading")

    async def _load(self) -> None:
        runtime = self._runtime
        assert runtime is not None
        try:
            while runtime.is_loading:
                await runtime.load_next()
        finally:
            self._is_loading = False
            self._loaded.set()

    async def loaded(self) -> None:
        """Return when there is nothing to load."""
        await self._loaded.wait()

    def stop(self) -> None:
        """No timer is due any more."""
        self._is_stopped = True
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
