"""Several waiters, one fsync.

A flush that has begun may have missed what was appended since; whoever asks meanwhile gets the next one, together with
everybody else who asks before that one begins. So the flushes of a log never overlap.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ottla.common.errors import KafkaStorageError
from ottla.runtime.port import Runtime


class SharedFlush:
    """At most one flush runs and at most one waits."""

    def __init__(self, runtime: Runtime, flush_once: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        """``flush_once`` is called with the highest offset that anybody asked for."""
        self._runtime = runtime
        self._flush_once = flush_once
        self._running: _Turn | None = None
        self._waiting: _Turn | None = None

    @property
    def is_running(self) -> bool:
        """Whether an fsync is under way."""
        return self._running is not None

    def request(self, end_offset: int) -> Awaitable[None]:
        """Ask for a flush of everything below ``end_offset``; awaiting raises what the flush raised."""
        turn = self._waiting
        if turn is None:
            turn = self._waiting = _Turn(end_offset)
            turn.outcome = self._runtime.spawn(self._take(turn, self._running))
        turn.end_offset = max(turn.end_offset, end_offset)
        return turn.outcome

    async def _take(self, turn: "_Turn", before: "_Turn | None") -> None:
        if before is not None:
            await before.settled()
        self._waiting = None
        self._running = turn
        try:
            await self._flush_once(turn.end_offset)
        finally:
            self._running = None


class _Turn:
    """One flush, from the first request for it to its end."""

    outcome: Awaitable[None]

    def __init__(self, end_offset: int) -> None:
        self.end_offset = end_offset

    async def settled(self) -> None:
        """Wait for the end, whichever it is: those who asked for this flush hear of its errors."""
        try:
            await self.outcome
        except KafkaStorageError:
            return
