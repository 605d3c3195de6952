"""What logs count as it happens; the rest is read from them when somebody asks, see log_manager_metrics."""

from typing import Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

US_PER_MS: Final = 1000


class LogMetrics:
    """LogFlushStats, and how many logs were loaded."""

    __slots__ = ("flush_time_us", "logs_loaded")

    def __init__(self, registry: Registry | None = None) -> None:
        """Without a registry nobody sees them."""
        registry = registry if registry is not None else Registry()
        self.flush_time_us = registry.histogram(
            metric_name("kafka.log", "LogFlushStats", "LogFlushRateAndTimeMs"),
            "Time to bring a log to the disk",
            divisor=US_PER_MS,
        )
        self.logs_loaded = registry.meter(
            metric_name("kafka.log", "LogManager", "LogsLoadedPerSec"), "Logs loaded by the start"
        )
