"""The cleaner's I/O throttle: how long to pause so that reads and writes stay below a rate."""

from typing import Final

CHECK_INTERVAL_MS: Final = 300


class Throttler:
    """Counts bytes over intervals of at least 300 ms; one for all workers, which share the rate."""

    def __init__(self, bytes_per_second: float, monotonic_ms: int) -> None:
        self.bytes_per_second = bytes_per_second
        self._period_start_ms = monotonic_ms
        self._observed_bytes = 0

    def observe(self, io_bytes: int, monotonic_ms: int) -> int:
        """Count what was read or written; the milliseconds to pause now. The pause counts as passed."""
        self._observed_bytes += io_bytes
        elapsed_ms = monotonic_ms - self._period_start_ms
        if elapsed_ms <= CHECK_INTERVAL_MS or not self._observed_bytes:
            return 0
        pause_ms = max(0, round(self._observed_bytes * 1000 / self.bytes_per_second - elapsed_ms))
        self._period_start_ms = monotonic_ms + pause_ms
        self._observed_bytes = 0
        return pause_ms
