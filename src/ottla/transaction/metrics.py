"""What the coordinator measures, under Apache's names."""

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry


class TransactionCoordinatorMetrics:
    """Apache's queues of its marker channels belong to the sender of markers; this one to the coordinator."""

    __slots__ = ("log_append_retry_queue_size",)

    def __init__(self, registry: Registry) -> None:
        self.log_append_retry_queue_size = 0
        registry.gauge(
            metric_name("kafka.coordinator.transaction", "TransactionMarkerChannelManager", "LogAppendRetryQueueSize"),
            "Transactions with all markers written whose completion could not be appended yet",
            lambda: float(self.log_append_retry_queue_size),
        )
