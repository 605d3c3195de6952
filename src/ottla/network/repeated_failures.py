"""Which failures are worth a line in the log, when things fail in the same way again and again."""

from typing import Final

INTERVAL_MS: Final = 10_000
INTERVAL_MAX_MS: Final = 600_000
TOLD_MAX: Final = 256
"""Of so many it is known that they were told; of a name with many addresses each may have its own reason."""


class RepeatedFailures:
    """A failure is told when it is new, then after 10 s, 20 s, 40 s, …, at last every ten minutes, with the count."""

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], tuple[int, int, int]] = {}
        """By thing and reason: when to tell it again, how long after that once more, how often it was left out."""

    def failed(self, thing: str, reason: str, now_ms: int) -> str | None:
        """What to say of it now, None for nothing: "" for news, else how often it happened meanwhile."""
        key = thing, reason
        due_ms, interval_ms, left_out = self._told.get(key, (now_ms, INTERVAL_MS, 0))
        if now_ms < due_ms:
            self._told[key] = due_ms, interval_ms, left_out + 1
            return None
        if key not in self._told and len(self._told) >= TOLD_MAX:
            del self._told[next(iter(self._told))]
        self._told[key] = now_ms + interval_ms, min(2 * interval_ms, INTERVAL_MAX_MS), 0
        return f" ({left_out + 1} times since it was said last)" if left_out else ""

    def succeeded(self, thing: str) -> None:
        """It works: its next failure is news."""
        for key in [key for key in self._told if key[0] == thing]:
            del self._told[key]
