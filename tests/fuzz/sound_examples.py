"""Requests that a node does as it is told: mutations of them get further than those of random ones."""

from collections.abc import Iterator, Mapping
from random import Random

from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.protocol.messages import (
    alter_configs,
    alter_partition,
    assign_replicas_to_dirs,
    broker_registration,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_configs,
    describe_producers,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    list_offsets,
    offset_for_leader_epoch,
    update_features,
)
from tests.fuzz.coordinator_examples import coordinator_examples
from tests.fuzz.known_values import KEPT_TOPIC, NODE_ID, VOLATILE_TOPICS
from tests.fuzz.learned import CONSUMER_GROUP
from tests.node import CLUSTER_ID

_TOPIC, _BROKER, _GROUP = 2, 4, 32
_CHANGES = (
    (_TOPIC, KEPT_TOPIC, "retention.ms", "600000"),
    (_TOPIC, KEPT_TOPIC, "cleanup.policy", "compact"),
    (_TOPIC, KEPT_TOPIC, "cleanup.policy", "delete"),
    (_TOPIC, KEPT_TOPIC, "segment.bytes", "1048576"),
    (_TOPIC, KEPT_TOPIC, "compression.type", "lz4"),
    (_TOPIC, KEPT_TOPIC, "message.timestamp.type", "LogAppendTime"),
    (_TOPIC, VOLATILE_TOPICS[0], "max.message.bytes", "100"),
    (_BROKER, str(NODE_ID), "log.cleaner.threads", "1"),
    (_BROKER, str(NODE_ID), "num.io.threads", "8"),
    (_BROKER, "", "log.retention.ms", "600000"),
    (_BROKER, "", "num.network.threads", "3"),
    (_GROUP, CONSUMER_GROUP, "consumer.session.timeout.ms", "1500"),
)


def sound_examples(kept_topic_id: Uuid, broker_epoch: int, rng: Random) -> Mapping[ApiKey, list[Message]]:
    """Some for every API that changes something, and for those that read logs; valid in all versions."""
    examples: dict[ApiKey, list[Message]] = {}
    for message in _examples(kept_topic_id, broker_epoch, rng):
        examples.setdefault(ApiKey(type(message).schema.api_key), []).append(message)
    return examples


def _examples(kept: Uuid, broker_epoch: int, rng: Random) -> Iterator[Message]:
    yield from _changes_of_configs()
    yield from _topics()
    yield from _reads(kept)
    yield from coordinator_examples(KEPT_TOPIC, kept)
    for epoch in range(4):
        yield _alter_partition(kept, broker_epoch, epoch, epoch)
    yield assign_replicas_to_dirs.AssignReplicasToDirsRequest(
        broker_id=NODE_ID,
        broker_epoch=broker_epoch,
        directories=[
            assign_replicas_to_dirs.AssignReplicasToDirsRequestDirectoryData(
                id=Uuid(rng.randbytes(16)),
                topics=[
                    assign_replicas_to_dirs.AssignReplicasToDirsRequestTopicData(
                        topic_id=kept,
                        partitions=[
                            assign_replicas_to_dirs.AssignReplicasToDirsRequestPartitionData(partition_index=1)
                        ],
                    )
                ],
            )
        ],
    )
    for broker_id in (2, 3):
        yield broker_registration.BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(rng.randbytes(16)),
            listeners=[broker_registration.Listener(name="PLAINTEXT", host="localhost", port=9, security_protocol=0)],
            features=[
                broker_registration.Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, low, high in (
                    ("metadata.version", 7, 40),
                    ("kraft.version", 0, 1),
                    ("transaction.version", 0, 2),
                    ("group.version", 0, 1),
                    ("eligible.leader.replicas.version", 0, 1),
                    ("share.version", 0, 2),
                    ("streams.version", 0, 1),
                )
            ],
            log_dirs=[Uuid(rng.randbytes(16))],
        )
    for feature, level in (("transaction.version", 1), ("transaction.version", 2), ("group.version", 1)):
        yield update_features.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey(feature=feature, max_version_level=level)]
        )


def _changes_of_configs() -> Iterator[Message]:
    for kind, resource, name, value in _CHANGES:
        yield alter_configs.AlterConfigsRequest(
            resources=[
                alter_configs.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=resource,
                    configs=[alter_configs.AlterableConfig(name=name, value=value)],
                )
            ]
        )
        yield incremental_alter_configs.IncrementalAlterConfigsRequest(
            resources=[
                incremental_alter_configs.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=resource,
                    configs=[incremental_alter_configs.AlterableConfig(name=name, value=value)],
                )
            ]
        )
        yield describe_configs.DescribeConfigsRequest(
            resources=[
                describe_configs.DescribeConfigsResource(
                    resource_type=kind, resource_name=resource, configuration_keys=None
                )
            ],
            include_synonyms=True,
            include_documentation=True,
        )


def _topics() -> Iterator[Message]:
    name = VOLATILE_TOPICS[0]
    yield create_topics.CreateTopicsRequest(
        topics=[create_topics.CreatableTopic(name=name, num_partitions=2, replication_factor=1)]
    )
    yield create_topics.CreateTopicsRequest(
        topics=[
            create_topics.CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[create_topics.CreatableReplicaAssignment(partition_index=0, broker_ids=[NODE_ID])],
                configs=[create_topics.CreatableTopicConfig(name="retention.ms", value="1000")],
            )
        ]
    )
    for count in (3, 4):
        yield create_partitions.CreatePartitionsRequest(
            topics=[create_partitions.CreatePartitionsTopic(name=VOLATILE_TOPICS[1], count=count, assignments=None)]
        )
    yield delete_topics.DeleteTopicsRequest(topics=[delete_topics.DeleteTopicState(name=name)], topic_names=[name])
    for kind in (0, 1):
        yield elect_leaders.ElectLeadersRequest(
            election_type=kind,
            topic_partitions=[elect_leaders.TopicPartitions(topic=KEPT_TOPIC, partitions=[0, 1])],
        )


def _reads(kept: Uuid) -> Iterator[Message]:
    for session_epoch in (-1, 0):
        yield fetch.FetchRequest(
            max_wait_ms=5,
            min_bytes=1,
            session_epoch=session_epoch,
            topics=[
                fetch.FetchTopic(
                    topic=KEPT_TOPIC,
                    topic_id=kept,
                    partitions=[fetch.FetchPartition(partition=index, partition_max_bytes=1000) for index in (0, 1)],
                )
            ],
        )
    for timestamp in (-1, -2, -3, 0, 1_700_000_000_000):
        yield list_offsets.ListOffsetsRequest(
            replica_id=-1,
            topics=[
                list_offsets.ListOffsetsTopic(
                    name=KEPT_TOPIC,
                    partitions=[
                        list_offsets.ListOffsetsPartition(
                            partition_index=0, current_leader_epoch=-1, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
    for offset in (-1, 1):
        yield delete_records.DeleteRecordsRequest(
            topics=[
                delete_records.DeleteRecordsTopic(
                    name=KEPT_TOPIC,
                    partitions=[delete_records.DeleteRecordsPartition(partition_index=0, offset=offset)],
                )
            ]
        )
    yield offset_for_leader_epoch.OffsetForLeaderEpochRequest(
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopic(
                topic=KEPT_TOPIC,
                partitions=[
                    offset_for_leader_epoch.OffsetForLeaderPartition(
                        partition=0, current_leader_epoch=-1, leader_epoch=0
                    )
                ],
            )
        ]
    )
    yield describe_producers.DescribeProducersRequest(
        topics=[describe_producers.TopicRequest(name=KEPT_TOPIC, partition_indexes=[0, 1])]
    )


def _alter_partition(kept: Uuid, broker_epoch: int, leader_epoch: int, partition_epoch: int) -> Message:
    return alter_partition.AlterPartitionRequest(
        broker_id=NODE_ID,
        broker_epoch=broker_epoch,
        topics=[
            alter_partition.AlterPartitionRequestTopicData(
                topic_id=kept,
                partitions=[
                    alter_partition.AlterPartitionRequestPartitionData(
                        partition_index=index,
                        leader_epoch=leader_epoch,
                        partition_epoch=partition_epoch,
                        new_isr=[NODE_ID],
                        new_isr_with_epochs=[alter_partition.BrokerState(broker_id=NODE_ID, broker_epoch=broker_epoch)],
                    )
                    for index in (0, 1)
                ],
            )
        ],
    )
