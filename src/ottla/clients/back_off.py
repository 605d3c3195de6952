"""How long to wait before something that failed is tried again."""

from typing import TYPE_CHECKING

from ottla.network.exponential_backoff import ExponentialBackoff

if TYPE_CHECKING:
    from random import Random


class BackOff:
    """``retry.backoff.ms``, doubled with each failure up to ``retry.backoff.max.ms``, give or take a fifth.

    One belongs to one thing that is tried; ``attempts`` is how often it has failed in a row.
    """

    __slots__ = ("_backoff", "attempts")

    def __init__(self, retry_backoff_ms: int, retry_backoff_max_ms: int) -> None:
        self._backoff = ExponentialBackoff(retry_backoff_ms, retry_backoff_max_ms)
        self.attempts = 0

    def next_ms(self, rng: "Random") -> int:
        """It has failed once more: the pause before the next attempt."""
        self.attempts += 1
        return self._backoff.backoff_ms(self.attempts - 1, rng)

    def reset(self) -> None:
        """It has worked: the next failure is a first one."""
        self.attempts = 0
