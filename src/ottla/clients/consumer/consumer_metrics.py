"""What a consumer counts. Names are Apache's (``consumer-fetch-manager-metrics``), with dashes."""

from collections.abc import Mapping

from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.topic_partition import TopicPartition


class ConsumerMetrics:
    """Plain numbers; rates are over the life of the consumer."""

    __slots__ = (
        "bytes_consumed",
        "fetch_latency_max_ms",
        "fetch_latency_total_ms",
        "fetches",
        "last_poll_ms",
        "polls",
        "started_ms",
        "throttle_total_ms",
    )

    def __init__(self, now_ms: int) -> None:
        self.started_ms = now_ms
        self.fetches = 0
        self.fetch_latency_total_ms = 0
        self.fetch_latency_max_ms = 0
        self.throttle_total_ms = 0
        self.bytes_consumed = 0
        self.polls = 0
        self.last_poll_ms = now_ms

    def fetched(self, latency_ms: int, size_in_bytes: int, throttle_ms: int) -> None:
        """An answer came."""
        self.fetches += 1
        self.fetch_latency_total_ms += latency_ms
        self.fetch_latency_max_ms = max(self.fetch_latency_max_ms, latency_ms)
        self.throttle_total_ms += throttle_ms
        self.bytes_consumed += size_in_bytes

    def snapshot(
        self, subscription: SubscriptionState, buffer: FetchBuffer, isolation: IsolationLevel, now_ms: int
    ) -> dict[str, float]:
        """All figures now."""
        records_consumed = buffer.records_handed_out
        seconds = max(now_ms - self.started_ms, 1) / 1000
        lags = lags_of(subscription, isolation)
        figures: dict[str, float] = {
            "fetch-total": self.fetches,
            "fetch-rate": self.fetches / seconds,
            "fetch-latency-avg": self.fetch_latency_total_ms / self.fetches if self.fetches else 0.0,
            "fetch-latency-max": self.fetch_latency_max_ms,
            "fetch-size-avg": self.bytes_consumed / self.fetches if self.fetches else 0.0,
            "fetch-throttle-time-avg": self.throttle_total_ms / self.fetches if self.fetches else 0.0,
            "bytes-consumed-total": self.bytes_consumed,
            "bytes-consumed-rate": self.bytes_consumed / seconds,
            "records-consumed-total": records_consumed,
            "records-consumed-rate": records_consumed / seconds,
            "records-per-request-avg": records_consumed / self.fetches if self.fetches else 0.0,
            "records-lag-max": max(lags.values(), default=0),
            "last-poll-seconds-ago": (now_ms - self.last_poll_ms) / 1000,
            "poll-total": self.polls,
            "assigned-partitions": len(subscription.partitions),
            "buffered-bytes": buffer.size_in_bytes,
        }
        figures |= {f"records-lag{{{partition}}}": lag for partition, lag in lags.items()}
        return figures


def lags_of(subscription: SubscriptionState, isolation: IsolationLevel) -> Mapping[TopicPartition, int]:
    """How far each position is behind the end that may be read, where both are known."""
    lags = {}
    for partition, state in subscription.partitions.items():
        end = state.last_stable_offset if isolation is IsolationLevel.READ_COMMITTED else state.high_watermark
        if state.position is not None and end >= 0:
            lags[partition] = max(0, end - state.position.offset)
    return lags
