"""When a client says that it waits for its cluster: once, when that has lasted a while, and once when it is over."""

import logging
from typing import Final

from ottla.network.repeated_failures import RepeatedFailures

logger = logging.getLogger(__name__)

PATIENCE_MS: Final = 2_000
NEVER: Final = 1 << 62
WORTH_TELLING_MS: Final = 1_000
"""With less time left, the error that follows says it all."""


class Outage:
    """Up → down, by the first failure → told, after ``PATIENCE_MS`` of it → up, by an answer."""

    __slots__ = ("_is_told", "_others", "_since_ms")

    def __init__(self, others: RepeatedFailures | None = None) -> None:
        """``others`` knows what was told by those who wait for the same."""
        self._others = others
        self._since_ms: int | None = None
        self._is_told = False

    def notice_after(self, now_ms: int) -> int:
        """When to call ``goes_on`` again, since it is to be told then."""
        due_ms = now_ms if self._since_ms is None else self._since_ms + PATIENCE_MS
        return due_ms if due_ms > now_ms else NEVER

    def goes_on(self, now_ms: int, what: str, until_ms: int | None = None) -> None:
        """Nobody answers, for what ``what`` says; whoever waits does so until then, None for ever."""
        if self._since_ms is None:
            self._since_ms = now_ms
        if self._is_told or now_ms - self._since_ms < PATIENCE_MS:
            return
        if until_ms is not None and until_ms - now_ms < WORTH_TELLING_MS:
            return
        self._is_told = True
        if self._others is not None and self._others.failed("", what, now_ms) is None:
            return
        how_long = "" if until_ms is None else f" for {(until_ms - now_ms + 500) // 1000} s more"
        logger.warning("%s; trying%s", what.rstrip("."), how_long or " until somebody answers")

    def ends(self) -> None:
        """Somebody has answered."""
        if self._is_told:
            logger.info("The cluster answers")
        self._since_ms, self._is_told = None, False
