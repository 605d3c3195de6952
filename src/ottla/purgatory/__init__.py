"""Where requests wait: delayed operations, the keys they watch, and the timing wheels that end the wait. Pure."""

from ottla.purgatory.delayed_operation import DelayedOperation
from ottla.purgatory.purgatory import Purgatory
from ottla.purgatory.timer import Timer
from ottla.purgatory.timing_wheel import TimerTask

__all__ = ["DelayedOperation", "Purgatory", "Timer", "TimerTask"]
