"""What the coordinator needs from others: wired in ``server``."""

from collections.abc import Callable
from typing import Protocol

from ottla.runtime.completion import Completion
from ottla.transaction.markers import TransactionMarkers
from ottla.transaction.metadata import ProducerIdAndEpoch

GenerateProducerId = Callable[[], Completion[int]]
"""A producer id that nobody in the cluster has; COORDINATOR_LOAD_IN_PROGRESS when there is none to be had now."""

OffsetsPartition = Callable[[str], int]
"""The partition of __consumer_offsets that a group id belongs to."""


class TransactionEffects(Protocol):
    """What a shard starts by itself, once all that it saw is committed; the service does it."""

    def send_markers(self, markers: TransactionMarkers) -> None:
        """Write the markers of a prepared transaction, unless they are being written."""

    def abort_timed_out(self, transactional_id: str, producer: ProducerIdAndEpoch) -> None:
        """Abort a transaction that took too long."""

    def unloaded(self, transaction_log_partition: int) -> None:
        """Stop writing markers of a partition's transactions: its next coordinator does it."""
