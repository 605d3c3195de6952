"""A partition of a topic, by name."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of a topic; prints as Kafka does: ``orders-3``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
