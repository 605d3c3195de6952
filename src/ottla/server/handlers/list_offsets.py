"""ListOffsets 1–11: the offset of a timestamp, or of what a negative one stands for."""

import logging
from collections import Counter
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.readable_log import FetchIsolation
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.replication.read_result import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices

logger = logging.getLogger(__name__)

SPECIAL_TIMESTAMPS: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""Latest, earliest, max timestamp, earliest local, latest tiered, earliest pending upload: since which version."""

_OFFSET_NOT_AVAILABLE_FROM: Final = 5
_READ_COMMITTED: Final = 1


def handle(services: BrokerServices, context: RequestContext, body: ListOffsetsRequest) -> ListOffsetsResponse:
    """Each partition on its own."""
    version = context.header.api_version
    isolation = FetchIsolation.LOG_END
    if body.replica_id == CONSUMER_REPLICA_ID:
        committed = body.isolation_level == _READ_COMMITTED
        isolation = FetchIsolation.TXN_COMMITTED if committed else FetchIsolation.HIGH_WATERMARK
    from_leader = body.replica_id != DEBUGGING_REPLICA_ID
    counts = Counter((topic.name, partition.partition_index) for topic in body.topics for partition in topic.partitions)
    topics = []
    for topic in body.topics:
        allowed = services.authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
        partitions = []
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            error = ErrorCode.NONE
            if not allowed:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif counts[key] > 1:
                error = ErrorCode.INVALID_REQUEST
                counts[key] = 0
            elif not counts[key]:
                continue  # named more than once, and refused at the first
            elif partition.timestamp < 0 and version < SPECIAL_TIMESTAMPS.get(partition.timestamp, version + 1):
                error = ErrorCode.UNSUPPORTED_VERSION
            if error == ErrorCode.NONE:
                partitions.append(
                    _look_up(services, key, partition, isolation, from_leader=from_leader, version=version)
                )
            else:
                partitions.append(ListOffsetsPartitionResponse(partition_index=key.partition, error_code=error))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


def _look_up(
    services: BrokerServices,
    key: TopicPartition,
    partition: ListOffsetsPartition,
    isolation: FetchIsolation,
    *,
    from_leader: bool,
    version: int,
) -> ListOffsetsPartitionResponse:
    response = ListOffsetsPartitionResponse(partition_index=key.partition)
    try:
        found = services.replicas.partitions.require(key).fetch_offset_for_timestamp(
            partition.timestamp, isolation, partition.current_leader_epoch, from_leader=from_leader
        )
    except KafkaError as error:
        logger.debug("ListOffsets of %s failed: %s", key, error)
        not_available = error.code == ErrorCode.OFFSET_NOT_AVAILABLE and version < _OFFSET_NOT_AVAILABLE_FROM
        response.error_code = ErrorCode.LEADER_NOT_AVAILABLE if not_available else error.code
        return response
    if found is not None:
        response.timestamp = found.timestamp
        response.offset = found.offset
        response.leader_epoch = found.leader_epoch if found.leader_epoch is not None else -1
    return response


def error_response(body: ListOffsetsRequest, error: KafkaError) -> ListOffsetsResponse:
    """The error, at every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=partition.partition_index, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.LIST_OFFSETS, 1, 11, handle, error_response=error_response),)
