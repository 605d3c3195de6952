"""Whether the user's code is alive: the time between two polls, and how long the event loop was blocked."""

from typing import Final

NOTABLE_BLOCK_MS: Final = 1000
"""A loop that is late by less than this is busy, not blocked."""


class PollWatch:
    """Knows when the user polled last, and when the background task could not run because the loop was blocked."""

    __slots__ = ("_blocked_at_ms", "_blocked_ms", "_polled_at_ms", "max_poll_interval_ms")

    def __init__(self, max_poll_interval_ms: int) -> None:
        self.max_poll_interval_ms = max_poll_interval_ms
        self._polled_at_ms = 0
        self._blocked_ms = 0
        self._blocked_at_ms = 0

    def polled(self, now_ms: int) -> None:
        """The user asked for records."""
        self._polled_at_ms = now_ms

    def woke_up(self, due_ms: int, now_ms: int) -> None:
        """The background task was to run at ``due_ms`` and runs only now."""
        late_ms = now_ms - due_ms
        if late_ms >= NOTABLE_BLOCK_MS and late_ms >= self._blocked_ms:
            self._blocked_ms = late_ms
            self._blocked_at_ms = now_ms

    def joined(self) -> None:
        """A new life in the group: what blocked the loop before does not explain what comes."""
        self._blocked_ms = 0

    def deadline_ms(self) -> int:
        """When the user is taken for dead unless it polls."""
        return self._polled_at_ms + self.max_poll_interval_ms

    def is_expired(self, now_ms: int) -> bool:
        """Whether the user did not poll for max.poll.interval.ms."""
        return now_ms > self.deadline_ms()

    def explain_stall(self, now_ms: int) -> str:
        """Why the member left: for the log, the health and the error of a later commit."""
        idle_s = (now_ms - self._polled_at_ms) / 1000
        return (
            f"no poll for {idle_s:.1f} s, longer than max.poll.interval.ms={self.max_poll_interval_ms}: "
            "process fewer records a poll (max.poll.records), faster, or allow more time"
        )

    def explain_block(self, now_ms: int) -> str:
        """A sentence on the event loop if it was blocked, for errors that this may have caused; else nothing."""
        if self._blocked_ms == 0:
            return ""
        ago_s = (now_ms - self._blocked_at_ms) / 1000
        return (
            f"; the event loop was blocked for {self._blocked_ms / 1000:.1f} s until {ago_s:.1f} s ago, so that no "
            "heartbeat could be sent: run code that does not await in a thread (asyncio.to_thread)"
        )
