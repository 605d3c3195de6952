"""Ends that are asked for: the first SIGINT or SIGTERM is a request, a second one of SIGINT an order."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Final, Self

_SIGNAL_BASE: Final = 128


class StopRequest:
    """As a context manager: signals are caught within, and mean what they meant before after it.

    ``wait`` returns as soon as a stop is asked for. A second SIGINT raises KeyboardInterrupt: somebody does not want
    to wait for the batch in flight.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._before: dict[signal.Signals, object] = {}
        self.exit_code = 0
        """128 and the signal's number, once there was one."""

    @property
    def is_set(self) -> bool:
        """Whether a stop is asked for."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for a request, at most so long; whether there is one."""
        return self._event.wait(seconds)

    def set(self) -> None:
        """Ask for a stop from within."""
        self._event.set()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._asked)
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if self.is_set and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.exit_code = self.exit_code or _SIGNAL_BASE + number
        self._event.set()
