"""DescribeTopicPartitions 0: topics page by page, by name; a cursor says where the next page begins."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.controller.topic_names import validate_topic_name
from ottla.metadata.image.topics import TopicImage
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, authorized_operations
from ottla.server.metadata_cache import ListenerView
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    """One page of at most ``max.request.partition.size.limit`` partitions."""
    known = services.metadata.image.topics.by_name
    names = [topic.name for topic in body.topics] or list(known)
    first = body.cursor.topic_name if body.cursor is not None else ""
    names = sorted({name for name in names if name >= first})
    if body.cursor is not None:
        _check_cursor(body, names)
    authorize = services.authorizer.authorize
    page = _Page(services.metadata.listener_view(context.listener_name), _limit(services, body))
    forbidden = []
    for name in names:
        if not authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            if body.topics:
                forbidden.append(_failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        topic = known.get(name)
        start = body.cursor.partition_index if body.cursor is not None and name == first else 0
        if page.left == 0:
            page.cursor = DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=0)
        elif topic is None:
            page.topics.append(_failed(name, _missing(name)))
        else:
            page.add(topic, start)
        if page.cursor is not None:
            break
    for shown in page.topics:
        shown.topic_authorized_operations = authorized_operations(
            services.authorizer, context, ResourceType.TOPIC, shown.name or ""
        )
    return DescribeTopicPartitionsResponse(topics=page.topics + forbidden, next_cursor=page.cursor)


def _check_cursor(body: DescribeTopicPartitionsRequest, names: list[str]) -> None:
    assert body.cursor is not None
    if body.topics and body.cursor.topic_name not in names:
        raise InvalidRequestError(
            f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {body.cursor.topic_name}"
        )
    if body.cursor.partition_index < 0:
        raise InvalidRequestError(f"DescribeTopicPartitionsRequest cursor partition must be valid: {body.cursor}")


def _limit(services: BrokerServices, body: DescribeTopicPartitionsRequest) -> int:
    return max(min(services.config.current.server.max_request_partition_size_limit, body.response_partition_limit), 1)


def _missing(name: str) -> ErrorCode:
    try:
        validate_topic_name(name)
    except KafkaError:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _failed(name: str, error: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(name=name, error_code=error, is_internal=name in INTERNAL_TOPICS)


class _Page:
    """What fits: ``left`` partitions more, or a cursor to the first that does not."""

    def __init__(self, view: ListenerView, limit: int) -> None:
        self._view = view
        self.left = limit
        self.topics: list[DescribeTopicPartitionsResponseTopic] = []
        self.cursor: DescribeTopicPartitionsResponseCursor | None = None

    def add(self, topic: TopicImage, start: int) -> None:
        """Add a topic's partitions from ``start`` on, as many as fit."""
        end = min(len(topic.partitions), start + self.left)
        partitions = []
        for index in range(start, end):
            partition = topic.partitions[index]
            partitions.append(
                DescribeTopicPartitionsResponsePartition(
                    partition_index=index,
                    leader_id=self._view.leader(partition),
                    leader_epoch=partition.leader_epoch,
                    replica_nodes=partition.replicas,
                    isr_nodes=partition.isr,
                    eligible_leader_replicas=partition.elr,
                    last_known_elr=partition.last_known_elr,
                    offline_replicas=self._view.offline(partition),
                )
            )
        self.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic.name in INTERNAL_TOPICS,
                partitions=partitions,
            )
        )
        self.left -= len(partitions)
        if end < len(topic.partitions):
            self.cursor = DescribeTopicPartitionsResponseCursor(topic_name=topic.name, partition_index=end)


def error_response(body: DescribeTopicPartitionsRequest, error: KafkaError) -> DescribeTopicPartitionsResponse:
    """The error, at every topic."""
    topics = [DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error.code) for topic in body.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


APIS: Final = (Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, handle, error_response=error_response),)
