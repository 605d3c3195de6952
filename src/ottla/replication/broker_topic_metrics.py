"""BrokerTopicMetrics: what clients and followers put in and take out, a topic at a time and all together.

The hot path adds to plain integers, once for the topic and once for all topics.
"""

from typing import Final

from ottla.metrics.instruments import Counter
from ottla.metrics.registry import Registry

_PREFIX: Final = "kafka_server_BrokerTopicMetrics_"

_NAMES: Final = {
    "messages_in": ("MessagesInPerSec", "Records appended"),
    "bytes_in": ("BytesInPerSec", "Bytes appended"),
    "bytes_out": ("BytesOutPerSec", "Bytes sent to consumers"),
    "bytes_rejected": ("BytesRejectedPerSec", "Bytes refused because their batch was too large"),
    "failed_produce_requests": ("FailedProduceRequestsPerSec", "Appends that failed unexpectedly"),
    "failed_fetch_requests": ("FailedFetchRequestsPerSec", "Reads that failed unexpectedly"),
    "total_produce_requests": ("TotalProduceRequestsPerSec", "Appends asked for, by partition"),
    "total_fetch_requests": ("TotalFetchRequestsPerSec", "Reads asked for, by partition"),
    "invalid_message_crc_records": ("InvalidMessageCrcRecordsPerSec", "Batches refused because of their CRC"),
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
            setattr(self, attribute, registry.counter(_PREFIX + name, text, **labels))

    @staticmethod
    def remove(registry: Registry, topic: str) -> None:
        """Take a topic's counters out of the registry."""
        for name, _ in _NAMES.values():
            registry.remove(_PREFIX + name, topic=topic)
