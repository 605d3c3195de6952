"""OffsetDelete 0: forget committed offsets of partitions that no member of the group reads."""

from collections.abc import Awaitable, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_group
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: OffsetDeleteRequest
) -> Awaitable[OffsetDeleteResponse]:
    """Partitions that may not be read or do not exist have an error each; the coordinator sees the others."""
    require_group(services.authorizer, context, AclOperation.DELETE, body.group_id)
    refused: dict[str, OffsetDeleteResponseTopic] = {}
    deletable: list[OffsetDeleteRequestTopic] = []
    for topic in body.topics:
        image = services.metadata.image.topics.topic(topic.name)
        if not services.authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
            _extend(refused, _errors(topic.name, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        known = () if image is None else image.partitions
        missing = [partition for partition in topic.partitions if partition.partition_index not in known]
        if missing:
            _extend(refused, _errors(topic.name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        topic.partitions = [partition for partition in topic.partitions if partition.partition_index in known]
        if topic.partitions:
            deletable.append(topic)
    body.topics = deletable

    def merge(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if response.error_code == ErrorCode.NONE:
            for topic in response.topics:
                _extend(refused, topic)
            response.topics = list(refused.values())
        return response

    deleted = services.group_coordinator.delete_offsets(body)
    return then(deleted, merge) if refused else deleted


def _errors(
    name: str, partitions: Sequence[OffsetDeleteRequestPartition], code: ErrorCode
) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[
            OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=code)
            for partition in partitions
        ],
    )


def _extend(topics: dict[str, OffsetDeleteResponseTopic], topic: OffsetDeleteResponseTopic) -> None:
    before = topics.setdefault(topic.name, topic)
    if before is not topic:
        before.partitions = [*before.partitions, *topic.partitions]


APIS: Final = (Api(ApiKey.OFFSET_DELETE, 0, 0, handle),)
