"""What all logs of a broker share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ottla.log.deletion import DelayedDeletions
from ottla.log.index_cache import IndexCache
from ottla.log.log_metrics import LogMetrics
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.shortage_reports import ShortageReports
from ottla.runtime.port import Runtime


@dataclass(frozen=True, slots=True)
class LogContext:
    """The machine, the shared bounds, and whom to tell about a failing disk."""

    runtime: Runtime
    producer_config: ProducerStateManagerConfig = field(default_factory=ProducerStateManagerConfig)
    strict_validation: bool = False
    """``ottla.produce.validation=strict``: walk the records of every batch."""
    index_cache: IndexCache = field(default_factory=IndexCache)
    metrics: LogMetrics = field(default_factory=LogMetrics)
    on_disk_failure: Callable[[str, OSError], None] = lambda _directory, _error: None
    """Called with the data directory and the error, before the failing call raises KafkaStorageError."""
    deletions: DelayedDeletions = field(init=False)
    shortages: ShortageReports = field(init=False)

    def __post_init__(self) -> None:
        """The reports of all logs share their bound."""
        object.__setattr__(self, "deletions", DelayedDeletions(self.runtime.clock.monotonic_ms))
        object.__setattr__(self, "shortages", ShortageReports(self.runtime.clock))
