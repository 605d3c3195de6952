"""What the performance tests measure: rates, latencies, and Kafka's lines for them. Pure."""

import re
from array import array
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

_SAMPLES_MAX: Final = 500_000
_MB: Final = 1024 * 1024
_PERCENTILES: Final = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}


class LatencyStats:
    """Records that were acknowledged: in all, and in the window since the last report."""

    def __init__(self, expected: int, now_ms: float, *, steady: bool = False) -> None:
        """``expected`` records are to come; at most half a million latencies of them are kept."""
        self._sampling = max(1, expected // min(max(expected, 1), _SAMPLES_MAX))
        self._latencies = array("l")
        self._steady = steady
        self._start_ms = now_ms
        self.count = 0
        self._bytes = 0
        self._total_ms = 0
        self._max_ms = 0
        self._begin_window(now_ms)

    def _begin_window(self, now_ms: float) -> None:
        self.window_start_ms = now_ms
        self._window_count = self._window_bytes = self._window_total_ms = self._window_max_ms = 0

    def record(self, latency_ms: int, size_bytes: int, count: int = 1) -> None:
        """Records were acknowledged, ``count`` of them at once; their latency is kept once."""
        if -self.count % self._sampling < count and len(self._latencies) <= _SAMPLES_MAX:
            self._latencies.append(latency_ms)
        self.count += count
        self._bytes += size_bytes
        self._total_ms += latency_ms * count
        self._max_ms = max(self._max_ms, latency_ms)
        self._window_count += count
        self._window_bytes += size_bytes
        self._window_total_ms += latency_ms * count
        self._window_max_ms = max(self._window_max_ms, latency_ms)

    def window(self, now_ms: float) -> dict[str, Any]:
        """The window's figures; the next window begins."""
        elapsed_ms = max(now_ms - self.window_start_ms, 1)
        figures = {
            "records": self._window_count,
            "records_per_sec": 1000 * self._window_count / elapsed_ms,
            "mb_per_sec": 1000 * self._window_bytes / elapsed_ms / _MB,
            "avg_latency_ms": self._window_total_ms / self._window_count if self._window_count else 0.0,
            "max_latency_ms": float(self._window_max_ms),
        }
        self._begin_window(now_ms)
        return figures

    def total(self, now_ms: float) -> dict[str, Any]:
        """All figures, with percentiles."""
        elapsed_ms = max(now_ms - self._start_ms, 1)
        ordered = sorted(self._latencies)
        return {
            "records": self.count,
            "steady_state": self._steady,
            "records_per_sec": 1000 * self.count / elapsed_ms,
            "mb_per_sec": 1000 * self._bytes / elapsed_ms / _MB,
            "avg_latency_ms": self._total_ms / self.count if self.count else None,
            "max_latency_ms": float(self._max_ms),
            "percentiles_ms": {
                name: ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0
                for name, share in _PERCENTILES.items()
            },
        }


def window_line(figures: Mapping[str, Any]) -> str:
    """Kafka's line for a window."""
    return (
        f"{figures['records']} records sent, {figures['records_per_sec']:.1f} records/sec "
        f"({figures['mb_per_sec']:.2f} MB/sec), {figures['avg_latency_ms']:.1f} ms avg latency, "
        f"{figures['max_latency_ms']:.1f} ms max latency."
    )


def total_line(figures: Mapping[str, Any]) -> str:
    """Kafka's last line."""
    average = figures["avg_latency_ms"]
    shares = ", ".join(f"{latency} ms {name}" for name, latency in figures["percentiles_ms"].items())
    return (
        f"{figures['records']}{' steady state' if figures['steady_state'] else ''} records sent, "
        f"{figures['records_per_sec']:f} records/sec ({figures['mb_per_sec']:.2f} MB/sec), "
        f"{'NaN' if average is None else format(average, '.2f')} ms avg latency, "
        f"{figures['max_latency_ms']:.2f} ms max latency, {shares}."
    )


def metric_lines(metrics: Mapping[str, float], group: str, client_id: str) -> list[str]:
    """Kafka's table of a client's metrics."""
    names = {f"{group}:{name}:{{client-id={client_id}}}": value for name, value in sorted(metrics.items())}
    width = max(map(len, names), default=0)
    return [
        "",
        f"{'Metric Name':<{width}}   Value",
        *(f"{name:<{width}} : {value:.3f}" for name, value in names.items()),
    ]


_DATE_LETTERS: Final = {
    "y": lambda time, width: f"{time.year:04d}" if width > 2 else f"{time.year % 100:02d}",
    "M": lambda time, width: f"{time.month:0{width}d}",
    "d": lambda time, width: f"{time.day:0{width}d}",
    "H": lambda time, width: f"{time.hour:0{width}d}",
    "m": lambda time, width: f"{time.minute:0{width}d}",
    "s": lambda time, width: f"{time.second:0{width}d}",
    "S": lambda time, width: f"{time.microsecond // 1000:0{width}d}",
}


def java_date(pattern: str, time_ms: int) -> str:
    """A local time by a pattern of Java's SimpleDateFormat; letters that are not known here stay."""
    time = datetime.fromtimestamp(time_ms / 1000).astimezone()

    def shown(found: "re.Match[str]") -> str:
        run = found[0]
        return _DATE_LETTERS[run[0]](time, len(run)) if run[0] in _DATE_LETTERS else run

    return re.sub(r"([A-Za-z])\1*", shown, pattern)
