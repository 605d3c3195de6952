"""The markers that end a transaction in its partitions, and who writes them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

MarkersDone = Callable[[KafkaError | None], None]
"""Called once: every partition has its marker or is gone (None), or will never take it (the error)."""


class TransactionMarkers(NamedTuple):
    """One marker for each partition of a prepared transaction; its outcome never changes again."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    """The leader epoch of the transaction log's partition: a replaced coordinator's markers are refused."""
    committed: bool
    partitions: Sequence[TopicPartition]
    transaction_version: int
    """0–2: under 2 the marker's epoch is above that of the transaction's records."""
    transaction_log_partition: int
    """The partition of __transaction_state that the transaction lives on."""


class MarkerSender(Protocol):
    """Writes markers on the leaders of partitions; tries again, with new leaders, until it is done or cancelled."""

    def send(self, markers: TransactionMarkers, done: MarkersDone) -> None:
        """Write the markers; ``done`` is called at once or later, never after a cancellation."""

    def cancel(self, transaction_log_partition: int) -> None:
        """Forget all markers of a partition that another broker coordinates from now on."""
