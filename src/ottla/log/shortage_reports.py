"""What is logged when open files or memory run out: every partition feels it at once, and one line says enough."""

import logging
from typing import Final

from ottla.runtime.port import Clock

logger = logging.getLogger(__name__)

INTERVAL_MS: Final = 10_000


class ShortageReports:
    """At most one line in ``INTERVAL_MS``, with the number of those that were left out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next_ms: int | None = None
        self._left_out = 0

    def report(self, message: str) -> None:
        """Log it, or count it."""
        now_ms = self._clock.monotonic_ms()
        if self._next_ms is not None and now_ms < self._next_ms:
            self._left_out += 1
            return
        more = f" ({self._left_out} more since the last such line)" if self._left_out else ""
        logger.warning("%s. It was refused, the disk is not to blame, and the next try may work.%s", message, more)
        self._next_ms = now_ms + INTERVAL_MS
        self._left_out = 0
