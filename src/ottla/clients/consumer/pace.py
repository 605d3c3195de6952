"""How many records to take at a time for a user who handles them one by one. Pure."""

from typing import Final

SLOW_MS: Final = 50


class Pace:
    """As many as the user handles in about ``SLOW_MS``: one at first, then twice or half as many as before.

    A user who needs a second a record still polls every second, which keeps the member in its group.
    """

    __slots__ = ("_max", "_size", "_started_ms")

    def __init__(self, max_records: int) -> None:
        self._max = max_records
        self._size = 1
        self._started_ms: int | None = None

    def next_size(self, now_ms: int) -> int:
        """How many to take now; the last were handled since the last call."""
        if self._started_ms is not None:
            is_slow = now_ms - self._started_ms >= SLOW_MS
            self._size = max(self._size // 2, 1) if is_slow else min(self._size * 2, self._max)
        self._started_ms = now_ms
        return self._size

    def pause(self) -> None:
        """There was nothing to take: the time until the next call says nothing of the user."""
        self._started_ms = None
