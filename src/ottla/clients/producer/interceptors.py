"""Those who see each record before it is sent, and what became of it after."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ottla.clients.producer.batch_outcome import RecordMetadata
from ottla.clients.producer.delivery import Delivery
from ottla.common.errors import KafkaError

logger = logging.getLogger(__name__)


class ProducerRecord(NamedTuple):
    """What was given to ``send``, before serializing and partitioning."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Any = None
    partition: int | None = None
    timestamp_ms: int | None = None


class ProducerInterceptor(Protocol):
    """One of a chain; what it raises is logged and otherwise ignored, so it cannot break a send."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """The record to send; the next interceptor gets it."""

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        """A record's outcome: one of the two."""


class Interceptors:
    """The chain, in the order given."""

    __slots__ = ("_interceptors",)

    def __init__(self, interceptors: Sequence[ProducerInterceptor]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """What the chain makes of a record."""
        for interceptor in self._interceptors:
            try:
                topic, value, key, headers, partition, timestamp_ms = interceptor.on_send(record)
            except Exception:  # the user's code must not break a send, nor what it gives back that is no record
                logger.exception("Error executing interceptor on_send for topic %s", record.topic)
            else:
                record = ProducerRecord(topic, value, key, headers, partition, timestamp_ms)
        return record

    def on_delivered(self, delivery: Delivery) -> None:
        """Tell the chain what became of a record: a done callback of its delivery."""
        error = delivery.exception()
        self._acknowledge(delivery.result() if error is None else None, error)

    def on_send_error(self, error: KafkaError) -> None:
        """Tell it that a record was not even taken."""
        self._acknowledge(None, error)

    def _acknowledge(self, metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:  # as above
                logger.exception("Error executing interceptor on_acknowledgement")
