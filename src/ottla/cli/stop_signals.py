"""Ends that are asked for from outside: SIGINT and SIGTERM, with the exit codes that a JVM gives."""

import asyncio
import signal
from typing import Final

_SIGNAL_BASE: Final = 128


class StopSignals:
    """Within a running loop: ``requested`` is set by the first signal; ``exit_code`` is 0 without one."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.exit_code = 0
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)

    def _stop(self, number: signal.Signals) -> None:
        if not self.exit_code:
            self.exit_code = _SIGNAL_BASE + number
        self.requested.set()
