"""The machine's clock."""

import time


class SystemClock:
    """The machine's time; see :class:`ottla.runtime.port.Clock`."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds that never run backward."""
        return time.monotonic_ns() // 1_000_000

    def wait_ms(self, duration_ms: int) -> None:
        """Block for a while; for :class:`ottla.runtime.inline.InlineRuntime`, which has nothing else to do."""
        time.sleep(duration_ms / 1000)
