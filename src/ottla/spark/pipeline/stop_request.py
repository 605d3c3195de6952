"""Ends that are asked for: the first SIGINT or SIGTERM is a request, a second one of SIGINT an order."""

import os
import select
import signal
import threading
from types import FrameType
from typing import Final, Self

_SIGNAL_BASE: Final = 128
_SIGNALS_MAX: Final = 4096
"""How many that were no requests are forgotten at once."""


class StopRequest:
    """As a context manager: signals are caught within, and mean what they meant before after it.

    ``wait`` returns as soon as a stop is asked for, at whatever moment the signal comes: Python notes it in a pipe at
    once (``set_wakeup_fd``), also when the main thread is on its way into the wait and is not interrupted any more. A
    second SIGINT raises KeyboardInterrupt: somebody does not want to wait for the batch in flight.
    """

    def __init__(self) -> None:
        # A pipe, not a threading.Event: a handler that runs while the main thread waits for an Event would wait for it.
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        self._readable = select.poll()  # not select(), which knows no descriptor above 1023
        self._readable.register(self._read_end, select.POLLIN)
        self._is_set = False
        self._before: dict[signal.Signals, object] = {}
        self._wakeup_before = -1
        self.exit_code = 0
        """128 and the signal's number, once there was one."""

    @property
    def is_set(self) -> bool:
        """Whether a stop is asked for."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait for a request, at most so long, and less if another signal comes; whether there is one."""
        if not self._is_set and self._readable.poll(seconds * 1000) and not self._is_set:
            os.read(self._read_end, _SIGNALS_MAX)
        return self._is_set

    def set(self) -> None:
        """Ask for a stop from within."""
        if not self._is_set:
            self._is_set = True
            os.write(self._write_end, b"!")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._asked)
            self._wakeup_before = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        self._before.clear()

    def __del__(self) -> None:
        os.close(self._read_end)
        os.close(self._write_end)

    def _asked(self, number: int, _frame: FrameType | None) -> None:
        if self._is_set and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.exit_code = self.exit_code or _SIGNAL_BASE + number
        self.set()
