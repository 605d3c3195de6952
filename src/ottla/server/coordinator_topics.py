"""The topics that coordinators live on, as Apache Kafka makes them on first use."""

from collections.abc import Callable, Mapping

from ottla.common.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from ottla.config.kafka_config import KafkaConfig
from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig


def coordinator_topics(config: KafkaConfig) -> Mapping[str, Callable[[], CreatableTopic]]:
    """What the controller is asked for, by topic."""
    return {
        GROUP_METADATA_TOPIC: lambda: _topic(
            GROUP_METADATA_TOPIC,
            config.group.offsets_topic_num_partitions,
            config.group.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.group.offsets_topic_segment_bytes),
            },
        ),
        TRANSACTION_STATE_TOPIC: lambda: _topic(
            TRANSACTION_STATE_TOPIC,
            config.transaction.transaction_state_log_num_partitions,
            config.transaction.transaction_state_log_replication_factor,
            {
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction.transaction_state_log_segment_bytes),
            },
        ),
    }


def _topic(name: str, num_partitions: int, replication_factor: int, configs: Mapping[str, str]) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
