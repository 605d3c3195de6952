"""Waiting longer after each failure, and never in step with others."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random


class ExponentialBackoff:
    """``initial_ms``, doubled with every attempt up to ``max_ms``, give or take ``jitter`` of it; never above the max.

    Without room to grow (``max_ms`` ≤ ``initial_ms``) there is no jitter either, as in Apache.
    """

    __slots__ = ("_attempts_max", "_initial_ms", "_jitter", "_max_ms")

    def __init__(self, initial_ms: int, max_ms: int, jitter: float = 0.2) -> None:
        assert 0 <= jitter <= 1, f"jitter must be between 0 and 1, but got {jitter}"
        self._initial_ms = min(initial_ms, max_ms)
        self._max_ms = max_ms
        self._jitter = jitter
        self._attempts_max = _doublings(max(initial_ms, 1), max_ms) if max_ms > initial_ms else 0

    def backoff_ms(self, attempts: int, rng: "Random") -> int:
        """How long to wait after this many failed attempts, from 0."""
        if self._attempts_max == 0:
            return self._initial_ms
        if attempts >= self._attempts_max:
            term_ms = self._max_ms if self._initial_ms else 0
        else:
            term_ms = self._initial_ms << attempts
        return min(int(rng.uniform(1 - self._jitter, 1 + self._jitter) * term_ms), self._max_ms)


def _doublings(initial_ms: int, max_ms: int) -> int:
    """How often ``initial_ms`` must be doubled to reach ``max_ms``."""
    return ((max_ms - 1) // initial_ms).bit_length()
