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
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _describe(services, context, TopicPartition(topic.name, index)) for index in topic.partition_indexes
                ],
            )
            for topic in body.topics
        ]
    )


def _describe(services: BrokerServices, context: RequestContext, key: TopicPartition) -> PartitionResponse:
    response = PartitionResponse(partition_index=key.partition)
    try:
        validate_topic_name(key.topic)
        if not services.authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, key.topic):
            raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        producers = services.replicas.partitions.require(key).active_producers()
    except KafkaError as error:
        response.error_code = error.code
        response.error_message = str(error) or None
        return response
    response.active_producers = [ProducerState(**producer._asdict()) for producer in producers]
    return response


def error_response(body: DescribeProducersRequest, error: KafkaError) -> DescribeProducersResponse:
    """The error, at every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=error.code, error_message=str(error))
                    for index in topic.partition_indexes
                ],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, handle, error_response=error_response),)
