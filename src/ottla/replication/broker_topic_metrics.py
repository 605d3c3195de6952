"""BrokerTopicMetrics: what clients and followers put in and take out, a topic at a time and all together.

The hot path adds to plain integers, once for the topic and once for all topics.
"""

from functools import partial
from typing import Final

from ottla.metrics.instruments import Counter
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

topic_metric_name: Final = partial(metric_name, "kafka.server", "BrokerTopicMetrics")

_NAMES: Final = {
    "messages_in": (topic_metric_name("MessagesInPerSec"), "Records appended"),
    "bytes_in": (topic_metric_name("BytesInPerSec"), "Bytes appended"),
    "bytes_out": (topic_metric_name("BytesOutPerSec"), "Bytes sent to consumers"),
    "bytes_rejected": (topic_metric_name("BytesRejectedPerSec"), "Bytes refused because their batch was too large"),
    "failed_produce_requests": (topic_metric_name("FailedProduceRequestsPerSec"), "Appends that failed unexpectedly"),
    "failed_fetch_requests": (topic_metric_name("FailedFetchRequestsPerSec"), "Reads that failed unexpectedly"),
    "total_produce_requests": (topic_metric_name("TotalProduceRequestsPerSec"), "Appends asked for, by partition"),
    "total_fetch_requests": (topic_metric_name("TotalFetchRequestsPerSec"), "Reads asked for, by partition"),
    "invalid_message_crc_records": (
        topic_metric_name("InvalidMessageCrcRecordsPerSec"),
        "Batches refused because of their CRC",
    ),
}


class BrokerTopicMetrics:
    """The counters of one topic."""

    __slots__ = tuple(_NAMES)

    messages_in: Counter
    bytes_in: Counter
    bytes_out: Counter
    bytes_rejected: Counter
    failed_produce_requests: Counter
    failed_fetch_requests: Counter
    total_produce_requests: Counter
    total_fetch_requests: Counter
    invalid_message_crc_records: Counter

    def __init__(self, registry: Registry, topic: str | None) -> None:
        """``topic`` None is all topics together, without a label."""
        labels = {} if topic is None else {"topic": topic}
        for attribute, (name, text) in _NAMES.items():
            setattr(self, attribute, registry.counter(name, text, **labels))

    @staticmethod
    def remove(registry: Registry, topic: str) -> None:
        """Take a topic's counters out of the registry."""
        for name, _ in _NAMES.values():
            registry.remove(name, topic=topic)
