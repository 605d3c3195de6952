"""The metrics of a coordinator runtime, under Apache's names."""

from collections.abc import Callable
from typing import Final

from ottla.metrics.histogram import Histogram
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

_US_PER_MS: Final = 1_000
_NS_PER_US: Final = 1_000


class CoordinatorRuntimeMetrics:
    """What one kind of coordinator measures: ``group`` is the name of Apache's group of metrics.

    Operations run to completion on the reactor, so there is no queue of events and no thread to be idle: Apache's
    metrics of these are left out.
    """

    __slots__ = ("event_processing", "event_purgatory", "flush", "now_ns", "partition_load", "partitions")

    def __init__(self, registry: Registry, group: str, now_ns: Callable[[], int]) -> None:
        self.now_ns = now_ns
        self.partitions = dict.fromkeys(("loading", "active", "failed"), 0)
        for state in self.partitions:
            registry.gauge(
                metric_name("kafka.server", group, "num-partitions"),
                "Partitions of the coordinator in each state",
                lambda state=state: float(self.partitions[state]),  # type: ignore[misc]
                state=state,
            )

        def histogram(name: str, documentation: str) -> Histogram:
            return registry.histogram(metric_name("kafka.server", group, name), documentation, divisor=_US_PER_MS)

        self.partition_load = histogram("partition-load-time", "Milliseconds to load a partition")
        self.event_processing = histogram("event-processing-time-ms", "Time that an operation takes")
        self.event_purgatory = histogram("event-purgatory-time-ms", "Time that an answer waits for its commit")
        self.flush = histogram("batch-flush-time-ms", "Time to append a batch to the log")

    def elapsed_us(self, started_ns: int) -> int:
        """For the histograms, which count in microseconds."""
        return (self.now_ns() - started_ns) // _NS_PER_US

    def state_changed(self, before: str, after: str) -> None:
        """A partition went from one state to another; names that are not counted are ignored."""
        if before in self.partitions:
            self.partitions[before] -= 1
        if after in self.partitions:
            self.partitions[after] += 1
