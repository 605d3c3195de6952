"""Which failures of one thing are worth a line in the log, when it fails in the same way again and again."""

from typing import Final

INTERVAL_MS: Final = 10_000
INTERVAL_MAX_MS: Final = 600_000
REASONS_MAX: Final = 16
"""Of so many reasons it is known that they were told; a name with many addresses has one for each."""


class RepeatedFailures:
    """A reason is told when it is new, then after 10 s, 20 s, 40 s, …, at last every ten minutes, with the count."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, int, int]] = {}
        """By reason: when to tell it again, how long after that once more, how often it was left out."""

    def failed(self, reason: str, now_ms: int) -> str | None:
        """The line to write, or None."""
        due_ms, interval_ms, left_out = self._told.get(reason, (now_ms, INTERVAL_MS, 0))
        if now_ms < due_ms:
            self._told[reason] = due_ms, interval_ms, left_out + 1
            return None
        if reason not in self._told and len(self._told) >= REASONS_MAX:
            del self._told[next(iter(self._told))]
        self._told[reason] = now_ms + interval_ms, min(2 * interval_ms, INTERVAL_MAX_MS), 0
        return reason if not left_out else f"{reason} ({left_out + 1} times since it was said last)"

    def succeeded(self) -> None:
        """It works: the next failure is news."""
        self._told.clear()
