"""OffsetForLeaderEpoch 2–4: where a leader's epoch ended, for followers and consumers that may have parted from it."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Each partition on its own."""
    topics = []
    for topic in body.topics:
        allowed = services.authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.topic)
        partitions = []
        for partition in topic.partitions:
            if not allowed:
                partitions.append(
                    EpochEndOffset(partition=partition.partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                )
                continue
            found = services.replicas.last_offset_for_leader_epoch(
                TopicPartition(topic.topic, partition.partition),
                partition.current_leader_epoch,
                partition.leader_epoch,
            )
            partitions.append(
                EpochEndOffset(
                    partition=partition.partition,
                    error_code=found.error_code,
                    leader_epoch=found.leader_epoch,
                    end_offset=found.end_offset,
                )
            )
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=partitions))
    return OffsetForLeaderEpochResponse(topics=topics)


def error_response(body: OffsetForLeaderEpochRequest, error: KafkaError) -> OffsetForLeaderEpochResponse:
    """The error, at every partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=partition.partition, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, handle, error_response=error_response),)
