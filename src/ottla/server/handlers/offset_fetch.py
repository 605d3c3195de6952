"""OffsetFetch 1–10: how far groups have read; from version 8 on several groups, from 10 on topics by their ids.

Inside, every request has the form of version 8 and later; answers to older ones are turned back at the end. A group
without topics (null) asks for all of its offsets, from version 2 on.
"""

from collections.abc import Awaitable, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID
from ottla.group import refusals
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ottla.runtime.completion import Completion
from ottla.runtime.completion_chain import gather, then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices

_MANY_GROUPS: Final = 8
_BY_TOPIC_ID: Final = 10


def handle(
    services: BrokerServices, context: RequestContext, body: OffsetFetchRequest
) -> Awaitable[OffsetFetchResponse]:
    """Each group on its own."""
    if context.header.api_version >= _MANY_GROUPS:
        answers = [_fetch(services, context, group, body.require_stable) for group in body.groups]
        return then(gather(answers), lambda groups: OffsetFetchResponse(groups=groups))
    return then(_fetch(services, context, _the_group(body), body.require_stable), _of_one_group)


def _fetch(
    services: BrokerServices, context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> Completion[OffsetFetchResponseGroup]:
    version = context.header.api_version
    authorize = services.authorizer.authorize
    if not authorize(context, AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return Completion.done(refusals.offset_fetch_group(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, version))
    coordinator = services.group_coordinator
    if group.topics is None:
        fetched = coordinator.fetch_offsets(context, group, require_stable=require_stable)
        return then(fetched, lambda answer: _visible(services, context, answer))
    allowed: list[OffsetFetchRequestTopics] = []
    refused: list[OffsetFetchResponseTopics] = []
    topic_name = services.metadata.image.topics.topic_name
    for topic in group.topics:
        error = ErrorCode.NONE
        if version >= _BY_TOPIC_ID:
            topic.name = topic_name(topic.topic_id) or ""
        if version >= _BY_TOPIC_ID and not topic.name:
            error = ErrorCode.UNKNOWN_TOPIC_ID
        elif not authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
            error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if error:
            partitions = refusals.offset_fetch_partitions(topic.partition_indexes, error)
            refused.append(OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
        else:
            allowed.append(topic)
    group.topics = allowed
    fetched = coordinator.fetch_offsets(context, group, require_stable=require_stable)
    return then(fetched, lambda answer: _with(answer, refused)) if refused else fetched


def _with(answer: OffsetFetchResponseGroup, refused: Sequence[OffsetFetchResponseTopics]) -> OffsetFetchResponseGroup:
    if answer.error_code == ErrorCode.NONE:
        answer.topics = [*answer.topics, *refused]
    return answer


def _visible(
    services: BrokerServices, context: RequestContext, answer: OffsetFetchResponseGroup
) -> OffsetFetchResponseGroup:
    """All offsets of a group: those of topics that the client may describe and that the version can name."""
    authorize = services.authorizer.authorize
    topics = [
        topic for topic in answer.topics if authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
    ]
    if context.header.api_version >= _BY_TOPIC_ID:
        topic_id = services.metadata.image.topics.topic_id
        for topic in topics:
            if topic.topic_id == ZERO_UUID:
                topic.topic_id = topic_id(topic.name) or ZERO_UUID
        topics = [topic for topic in topics if topic.topic_id != ZERO_UUID]
    answer.topics = topics
    return answer


def _the_group(body: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = body.topics
    return OffsetFetchRequestGroup(
        group_id=body.group_id,
        topics=None
        if topics is None
        else [OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in topics],
    )


def _of_one_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )


def error_response(body: OffsetFetchRequest, error: KafkaError) -> OffsetFetchResponse:
    """The error of the request, or at every group, or at every partition: each version reads its own."""
    old = _of_one_group(refusals.offset_fetch_group(_the_group(body), error.code, version=1))
    return OffsetFetchResponse(
        error_code=error.code,
        topics=old.topics,
        groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code) for group in body.groups],
    )


APIS: Final = (Api(ApiKey.OFFSET_FETCH, 1, 10, handle, error_response=error_response),)
