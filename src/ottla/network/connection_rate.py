"""How many connections a second, over a sliding window of samples, against a quota: Apache's Rate and QuotaUtils."""

from dataclasses import dataclass


@dataclass(slots=True)
class _Sample:
    start_ms: int
    last_event_ms: int
    value: float = 0.0

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_event_ms = now_ms
        self.value = 0.0


class ConnectionRate:
    """Connections recorded in samples of ``window_ms``, of which the last ``samples`` count."""

    __slots__ = ("_current", "_sample_count", "_samples", "_window_ms", "quota")

    def __init__(self, quota: int, window_ms: int, samples: int) -> None:
        self.quota = quota
        self._window_ms = window_ms
        self._sample_count = samples
        self._samples: list[_Sample] = []
        self._current = 0

    @property
    def last_event_ms(self) -> int:
        """When something was last recorded."""
        return max((sample.last_event_ms for sample in self._samples), default=0)

    def record(self, now_ms: int, count: int = 1) -> None:
        """Count a connection; -1 takes one back that was not accepted after all."""
        sample = self._sample(now_ms)
        sample.value += count
        sample.last_event_ms = now_ms

    def throttle_time_ms(self, now_ms: int, max_ms: int) -> int:
        """How long to wait until the rate is within the quota again, at most ``max_ms``; 0 if it is."""
        self._purge(now_ms)
        window_ms = self._window_size_ms(now_ms)
        rate = sum(sample.value for sample in self._samples) / (window_ms / 1000)
        if rate <= self.quota:
            return 0
        if self.quota <= 0:
            return max_ms
        return min(int((rate - self.quota) / self.quota * window_ms + 0.5), max_ms)

    def rate(self, now_ms: int) -> float:
        """Connections a second."""
        self._purge(now_ms)
        return sum(sample.value for sample in self._samples) / (self._window_size_ms(now_ms) / 1000)

    def _sample(self, now_ms: int) -> _Sample:
        if not self._samples:
            self._samples.append(_Sample(now_ms, now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms < self._window_ms:
            return sample
        # One more than counts: the oldest may still overlap with the window.
        self._current = (self._current + 1) % (self._sample_count + 1)
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms, now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _purge(self, now_ms: int) -> None:
        expire_age_ms = self._sample_count * self._window_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expire_age_ms:
                sample.reset(now_ms)

    def _window_size_ms(self, now_ms: int) -> int:
        """The time that the samples span, counted as at least all but one of them."""
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        missing = self._sample_count - 1 - elapsed_ms // self._window_ms
        return max(elapsed_ms + max(missing, 0) * self._window_ms, 1)
