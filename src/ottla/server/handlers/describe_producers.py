"""DescribeProducers 0: the producers that partitions remember, with their sequences and open transactions."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.controller.topic_names import validate_topic_name
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: DescribeProducersRequest
) -> DescribeProducersResponse:
    """Each partition on its own."""
    topics = []
    for topic in body.topics:
        try:
            _check_topic(services, context, topic.name)
        except KafkaError as error:
            partitions = [_refused(index, error) for index in topic.partition_indexes]
        else:
            partitions = [_describe(services, TopicPartition(topic.name, index)) for index in topic.partition_indexes]
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(topics=topics)


def _check_topic(services: BrokerServices, context: RequestContext, topic: str) -> None:
    validate_topic_name(topic)
    if not services.authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, topic):
        raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
    if services.metadata.image.topics.topic(topic) is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")


def _describe(services: BrokerServices, key: TopicPartition) -> PartitionResponse:
    try:
        producers = services.replicas.partitions.require(key).active_producers()
    except KafkaError as error:
        return PartitionResponse(partition_index=key.partition, error_code=error.code)
    return PartitionResponse(
        partition_index=key.partition,
        active_producers=[ProducerState(**producer._asdict()) for producer in producers],
    )


def _refused(index: int, error: KafkaError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, error_message=str(error))


def error_response(body: DescribeProducersRequest, error: KafkaError) -> DescribeProducersResponse:
    """The error, at every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_refused(index, error) for index in topic.partition_indexes],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, handle, error_response=error_response),)
