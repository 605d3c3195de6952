"""Kafka clients: a producer, a consumer and an admin client, for asyncio; ``ottla.clients.sync`` has their twins.

Everything here is loaded when it is first used, so that importing this costs next to nothing. ``ottla.clients.admin``
has all types of the admin client, ``ottla.clients.errors`` all errors.
"""

from importlib import import_module

TYPE_CHECKING = False  # typing is not worth its price here

if TYPE_CHECKING:
    from ottla.clients.admin.admin import Admin as Admin
    from ottla.clients.admin.configs import ConfigResource as ConfigResource
    from ottla.clients.admin.offsets import OffsetSpec as OffsetSpec
    from ottla.clients.admin.partitions import NewPartitions as NewPartitions
    from ottla.clients.admin.topics import NewTopic as NewTopic
    from ottla.clients.consumer.consumer import Consumer as Consumer
    from ottla.clients.consumer.consumer_record import ConsumerRecord as ConsumerRecord
    from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata as ConsumerGroupMetadata
    from ottla.clients.consumer.health import ConsumerHealth as ConsumerHealth
    from ottla.clients.consumer.health import HealthState as HealthState
    from ottla.clients.consumer.interceptors import ConsumerInterceptor as ConsumerInterceptor
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata as OffsetAndMetadata
    from ottla.clients.consumer.offset_and_metadata import OffsetAndTimestamp as OffsetAndTimestamp
    from ottla.clients.consumer.rebalance_listener import RebalanceListener as RebalanceListener
    from ottla.clients.errors import KafkaTimeoutError as KafkaTimeoutError
    from ottla.clients.producer.batch_delivery import BatchDelivery as BatchDelivery
    from ottla.clients.producer.batch_delivery import BatchFailure as BatchFailure
    from ottla.clients.producer.batch_delivery import BatchMetadata as BatchMetadata
    from ottla.clients.producer.batch_outcome import RecordMetadata as RecordMetadata
    from ottla.clients.producer.batch_record import BatchRecord as BatchRecord
    from ottla.clients.producer.delivery import Delivery as Delivery
    from ottla.clients.producer.interceptors import ProducerInterceptor as ProducerInterceptor
    from ottla.clients.producer.interceptors import ProducerRecord as ProducerRecord
    from ottla.clients.producer.partitioner import Partitioner as Partitioner
    from ottla.clients.producer.partitioner import RoundRobinPartitioner as RoundRobinPartitioner
    from ottla.clients.producer.producer import Producer as Producer
    from ottla.clients.serialization import Deserializer as Deserializer
    from ottla.clients.serialization import Serializer as Serializer
    from ottla.common.errors import KafkaError as KafkaError
    from ottla.common.topic_partition import TopicPartition as TopicPartition

_HOMES = {
    "Admin": "ottla.clients.admin.admin",
    "BatchDelivery": "ottla.clients.producer.batch_delivery",
    "BatchFailure": "ottla.clients.producer.batch_delivery",
    "BatchMetadata": "ottla.clients.producer.batch_delivery",
    "BatchRecord": "ottla.clients.producer.batch_record",
    "ConfigResource": "ottla.clients.admin.configs",
    "Consumer": "ottla.clients.consumer.consumer",
    "ConsumerGroupMetadata": "ottla.clients.consumer.group_metadata",
    "ConsumerHealth": "ottla.clients.consumer.health",
    "ConsumerInterceptor": "ottla.clients.consumer.interceptors",
    "ConsumerRecord": "ottla.clients.consumer.consumer_record",
    "Delivery": "ottla.clients.producer.delivery",
    "Deserializer": "ottla.clients.serialization",
    "HealthState": "ottla.clients.consumer.health",
    "KafkaError": "ottla.common.errors",
    "KafkaTimeoutError": "ottla.clients.errors",
    "NewPartitions": "ottla.clients.admin.partitions",
    "NewTopic": "ottla.clients.admin.topics",
    "OffsetAndMetadata": "ottla.clients.consumer.offset_and_metadata",
    "OffsetAndTimestamp": "ottla.clients.consumer.offset_and_metadata",
    "OffsetSpec": "ottla.clients.admin.offsets",
    "Partitioner": "ottla.clients.producer.partitioner",
    "Producer": "ottla.clients.producer.producer",
    "ProducerInterceptor": "ottla.clients.producer.interceptors",
    "ProducerRecord": "ottla.clients.producer.interceptors",
    "RebalanceListener": "ottla.clients.consumer.rebalance_listener",
    "RecordMetadata": "ottla.clients.producer.batch_outcome",
    "RoundRobinPartitioner": "ottla.clients.producer.partitioner",
    "Serializer": "ottla.clients.serialization",
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
