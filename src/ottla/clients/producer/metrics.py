"""What a producer counts; under Apache's names, those of ``producer-metrics``."""

from collections.abc import Mapping


class Average:
    """The average and the greatest of what was recorded, since the start."""

    __slots__ = ("count", "greatest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.greatest = 0.0

    def record(self, value: float) -> None:
        """One more."""
        self.count += 1
        self.total += value
        self.greatest = max(self.greatest, value)

    @property
    def average(self) -> float:
        """0 before the first."""
        return self.total / self.count if self.count else 0.0


class ProducerMetrics:
    """Plain numbers, counted by the batch and by the request: a send itself counts nothing."""

    __slots__ = (
        "batch_size",
        "batch_splits",
        "buffer_exhausted",
        "buffer_wait",
        "compression_rate",
        "queue_time_ms",
        "record_errors",
        "record_retries",
        "records_per_request",
        "records_sent",
        "request_latency_ms",
        "sent_bytes",
        "throttle_time_ms",
    )

    def __init__(self) -> None:
        self.records_sent = 0
        self.record_retries = 0
        self.record_errors = 0
        self.batch_splits = 0
        self.buffer_exhausted = 0
        self.sent_bytes = 0
        self.batch_size = Average()
        self.records_per_request = Average()
        self.compression_rate = Average()
        self.queue_time_ms = Average()
        self.request_latency_ms = Average()
        self.throttle_time_ms = Average()
        self.buffer_wait = Average()
        """In milliseconds, of those sends that had to wait for memory."""

    def snapshot(self) -> Mapping[str, float]:
        """All of them, by Apache's names."""
        return {
            "record-send-total": self.records_sent,
            "record-retry-total": self.record_retries,
            "record-error-total": self.record_errors,
            "batch-split-total": self.batch_splits,
            "buffer-exhausted-total": self.buffer_exhausted,
            "outgoing-byte-total": self.sent_bytes,
            "request-total": self.records_per_request.count,
            "batch-size-avg": self.batch_size.average,
            "batch-size-max": self.batch_size.greatest,
            "records-per-request-avg": self.records_per_request.average,
            "compression-rate-avg": self.compression_rate.average,
            "record-queue-time-avg": self.queue_time_ms.average,
            "record-queue-time-max": self.queue_time_ms.greatest,
            "request-latency-avg": self.request_latency_ms.average,
            "request-latency-max": self.request_latency_ms.greatest,
            "produce-throttle-time-avg": self.throttle_time_ms.average,
            "produce-throttle-time-max": self.throttle_time_ms.greatest,
            "bufferpool-wait-time-ns-total": self.buffer_wait.total * 1_000_000,
        }
