"""Kafka clients: a producer, a consumer and an admin client, for asyncio; ``ottla.clients.sync`` has their twins.

Everything here is loaded when it is first used, so that importing this costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.clients.admin.admin import Admin as Admin
    from ottla.clients.consumer.consumer import Consumer as Consumer
    from ottla.clients.consumer.consumer_record import ConsumerRecord as ConsumerRecord
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata as OffsetAndMetadata
    from ottla.clients.producer.batch_outcome import RecordMetadata as RecordMetadata
    from ottla.clients.producer.delivery import Delivery as Delivery
    from ottla.clients.producer.producer import Producer as Producer
    from ottla.common.errors import KafkaError as KafkaError
    from ottla.common.topic_partition import TopicPartition as TopicPartition

_HOMES: Final = {
    "Admin": "ottla.clients.admin.admin",
    "Consumer": "ottla.clients.consumer.consumer",
    "ConsumerRecord": "ottla.clients.consumer.consumer_record",
    "Delivery": "ottla.clients.producer.delivery",
    "KafkaError": "ottla.common.errors",
    "OffsetAndMetadata": "ottla.clients.consumer.offset_and_metadata",
    "Producer": "ottla.clients.producer.producer",
    "RecordMetadata": "ottla.clients.producer.batch_outcome",
    "TopicPartition": "ottla.common.topic_partition",
}

__all__ = [  # noqa: PLE0604 - the names of a table
    *_HOMES,
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
