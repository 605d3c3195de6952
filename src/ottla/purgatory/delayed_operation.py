"""An operation that waits for an event or for the end of its time."""

from abc import ABC, abstractmethod

from ottla.purgatory.timing_wheel import TimerTask


class DelayedOperation(TimerTask, ABC):
    """Waiting → completed, once and for good, by `force_complete`.

    Who completes: `try_complete` when its condition holds, or the timer (`run`), which also calls `on_expiration`. The
    flag is set before `on_complete` runs, so that whatever `on_complete` triggers finds the operation completed.
    `is_completed` is for reading; only `force_complete` sets it.
    """

    __slots__ = ("is_completed",)

    def __init__(self, delay_ms: int) -> None:
        super().__init__(delay_ms)
        self.is_completed = False

    @abstractmethod
    def try_complete(self) -> bool:
        """Calls `force_complete` when the condition holds, and answers what that answered; False otherwise."""

    @abstractmethod
    def on_complete(self) -> None:
        """What completing does. Called exactly once."""

    @abstractmethod
    def on_expiration(self) -> None:
        """What the timer does after it has completed the operation."""

    def force_complete(self) -> bool:
        """Completes the operation and cancels its timeout; True for the one caller who did."""
        if self.is_completed:
            return False
        self.is_completed = True
        self.cancel()
        self.on_complete()
        return True

    def run(self) -> None:
        """The time is over."""
        if self.force_complete():
            self.on_expiration()
