"""Whether the topic of a query is there, asked once a process before any task starts."""

import os
from collections.abc import Mapping
from typing import Final

from ottla.clients.errors import KafkaTimeoutError, UnknownTopicOrPartitionError
from ottla.clients.sync import Producer

_PATIENCE_MS: Final = 10_000
"""A cluster that makes topics by itself takes a moment for it."""
_SEEN_MAX: Final = 1_000
_seen: set[tuple[int, str, str]] = set()


def require_topic(properties: Mapping[str, str], topic: str) -> None:
    """Return if the topic exists, or is made now as brokers do for producers; UnknownTopicOrPartitionError if not.

    KafkaTimeoutError if no broker answers.
    """
    servers = properties["bootstrap.servers"]
    if (os.getpid(), servers, topic) in _seen:
        return
    patience_ms = min(_PATIENCE_MS, int(properties.get("max.block.ms", _PATIENCE_MS)))
    with Producer({**properties, "max.block.ms": patience_ms}) as producer:
        try:
            producer.partitions_for(topic)
        except KafkaTimeoutError as error:
            raise UnknownTopicOrPartitionError(
                f"Topic {topic!r} is not there, and the brokers at {servers} do not make it by themselves: {error}"
            ) from error
    if len(_seen) < _SEEN_MAX:
        _seen.add((os.getpid(), servers, topic))
