"""Objects of the user's that see records before the user does, and commits after they happened."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.common.topic_partition import TopicPartition

logger = logging.getLogger(__name__)


class ConsumerInterceptor(Protocol):
    """Each method may be missing. What it raises is logged and has no other effect, as in Apache's client."""

    def on_consume(self, records: list[ConsumerRecord[Any, Any]]) -> list[ConsumerRecord[Any, Any]]:
        """Records that are about to be handed out; gives back those to hand out. Positions move past all of them."""

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Offsets that were committed."""


class Interceptors:
    """All of a consumer's, in their order."""

    __slots__ = ("_interceptors", "has_consume")

    def __init__(self, interceptors: Sequence[object]) -> None:
        self._interceptors = tuple(interceptors)
        self.has_consume = any(hasattr(interceptor, "on_consume") for interceptor in self._interceptors)

    def on_consume(self, records: list[ConsumerRecord[Any, Any]]) -> list[ConsumerRecord[Any, Any]]:
        """Pass records through; one that fails hands on what it was given."""
        for interceptor in self._interceptors:
            if hasattr(interceptor, "on_consume"):
                try:
                    records = interceptor.on_consume(records)
                except Exception:  # the user's code must not stop the consumer
                    logger.exception("The interceptor %r failed on consumed records", interceptor)
        return records

    def on_each(self, records: Iterable[ConsumerRecord[Any, Any]]) -> Iterator[ConsumerRecord[Any, Any]]:
        """Pass records through one by one, as they are handed out."""
        return (passed for record in records for passed in self.on_consume([record]))

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Tell of a commit."""
        for interceptor in self._interceptors:
            if hasattr(interceptor, "on_commit"):
                try:
                    interceptor.on_commit(offsets)
                except Exception:  # the user's code must not stop the consumer
                    logger.exception("The interceptor %r failed on a commit", interceptor)
