"""Markers on their way: each prepared transaction's are sent once at a time, and then it is complete."""

import logging
from collections.abc import Callable
from functools import partial

from ottla.common.errors import KafkaError
from ottla.transaction.markers import MarkerSender, TransactionMarkers

logger = logging.getLogger(__name__)


class MarkerDispatch:
    """``complete`` is called with markers that are all written."""

    __slots__ = ("_complete", "_sender", "_sending")

    def __init__(self, sender: MarkerSender, complete: Callable[[TransactionMarkers], None]) -> None:
        self._sender = sender
        self._complete = complete
        self._sending: dict[str, TransactionMarkers] = {}

    def __len__(self) -> int:
        return len(self._sending)

    def send(self, markers: TransactionMarkers) -> None:
        """Send markers that are not on their way; they replace those of an earlier coordinator epoch."""
        if self._sending.get(markers.transactional_id) != markers:
            self._sending[markers.transactional_id] = markers
            self._sender.send(markers, partial(self._sent, markers))

    def cancel(self, transaction_log_partition: int) -> None:
        """Another broker sends the markers of that partition's transactions."""
        self._sending = {
            transactional_id: markers
            for transactional_id, markers in self._sending.items()
            if markers.transaction_log_partition != transaction_log_partition
        }
        self._sender.cancel(transaction_log_partition)

    def _sent(self, markers: TransactionMarkers, error: KafkaError | None) -> None:
        if self._sending.get(markers.transactional_id) is not markers:
            return  # cancelled or replaced meanwhile
        del self._sending[markers.transactional_id]
        if error is None:
            self._complete(markers)
        else:
            logger.warning("%s's transaction cannot be completed: %s", markers.transactional_id, error)
