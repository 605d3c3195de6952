"""DeleteRecords 0–2: give up the records below an offset; answered when all replicas have."""

import asyncio
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ottla.replication.delayed_delete_records import DeleteRecordsResult
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices

_INVALID_LOW_WATERMARK: Final = -1


async def handle(
    services: BrokerServices, context: RequestContext, body: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    """Each partition on its own."""
    offsets: list[tuple[TopicPartition, int]] = []
    pending: list[DeleteRecordsPartitionResult] = []
    topics = []
    for topic in body.topics:
        allowed = services.authorizer.authorize(context, AclOperation.DELETE, ResourceType.TOPIC, topic.name)
        results = []
        for partition in topic.partitions:
            result = DeleteRecordsPartitionResult(
                partition_index=partition.partition_index, low_watermark=_INVALID_LOW_WATERMARK
            )
            results.append(result)
            if allowed:
                offsets.append((TopicPartition(topic.name, partition.partition_index), partition.offset))
                pending.append(result)
            else:
                result.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    done: asyncio.Future[list[DeleteRecordsResult]] = asyncio.get_running_loop().create_future()
    services.replicas.delete_records(body.timeout_ms, offsets, done.set_result)
    for result, deleted in zip(pending, await done, strict=True):
        result.error_code = deleted.error_code
        result.low_watermark = deleted.low_watermark
    return DeleteRecordsResponse(topics=topics)


def error_response(body: DeleteRecordsRequest, error: KafkaError) -> DeleteRecordsResponse:
    """The error, at every partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=partition.partition_index,
                        low_watermark=_INVALID_LOW_WATERMARK,
                        error_code=error.code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.DELETE_RECORDS, 0, 2, handle, error_response=error_response),)
