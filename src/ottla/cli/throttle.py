"""How fast a load generator may go."""

import asyncio
import time


class Throttle:
    """Lets at most ``rate`` things a second pass, on the average since the start; a rate below 0 is no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._start = time.monotonic()

    async def after(self, count: int) -> None:
        """Wait until ``count`` things may have passed."""
        if self._rate < 0:
            return
        if self._rate == 0:
            await asyncio.Event().wait()  # until Ctrl-C, as Kafka's tools
        early_s = count / self._rate - (time.monotonic() - self._start)
        if early_s > 0:
            await asyncio.sleep(early_s)
