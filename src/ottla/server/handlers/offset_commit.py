"""OffsetCommit 2–10: a group has read so far; from version 10 on topics are named by their ids.

Partitions that the client may not read, or that do not exist, have an error each; the coordinator sees the others.
A commit about which nothing is out of the ordinary takes a short cut.
"""

from collections.abc import Awaitable, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.group import refusals
from ottla.metadata.image.topics import TopicImage
from ottla.network.request import Request, RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from ottla.protocol.plain_offset_commit import (
    PlainOffsetCommit,
    read_plain_offset_commit,
    write_plain_offset_commit_response,
)
from ottla.runtime.completion import Completion
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_group
from ottla.server.services import BrokerServices

_BY_TOPIC_ID: Final = 10
_OFFSET_COMMIT: Final = ApiKey.OFFSET_COMMIT
_READ: Final = AclOperation.READ
_GROUP: Final = ResourceType.GROUP
_TOPIC: Final = ResourceType.TOPIC


def handle(
    services: BrokerServices, context: RequestContext, body: OffsetCommitRequest
) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
    """Sort out what cannot be committed, and ask the coordinator for the rest."""
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    by_id = context.header.api_version >= _BY_TOPIC_ID
    refused = _Refused(by_id)
    committable = []
    for topic in body.topics:
        image = _resolve(services, topic, by_id)
        if by_id and image is None:
            refused.add(topic, topic.partitions, ErrorCode.UNKNOWN_TOPIC_ID)
        elif not services.authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
            refused.add(topic, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif image is None:
            refused.add(topic, topic.partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            known = image.partitions
            missing = [partition for partition in topic.partitions if partition.partition_index not in known]
            if missing:
                refused.add(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                topic.partitions = [one for one in topic.partitions if one.partition_index in known]
            if topic.partitions:
                committable.append(topic)
    if not refused.topics:
        return services.group_coordinator.commit_offsets(context, body) if committable else OffsetCommitResponse()
    if not committable:
        return refused.response()
    body.topics = committable
    return then(services.group_coordinator.commit_offsets(context, body), refused.merged_with)


def commit_plain(services: BrokerServices, request: Request) -> bool:
    """Commit offsets of partitions that exist, for a client that may; returns whether it was that."""
    header = request.header
    version = header.api_version
    commit = read_plain_offset_commit(request.body, version)
    if commit is None:
        return False
    authorize = services.authorizer.authorize
    if not authorize(request, _READ, _GROUP, commit.group_id):
        return False
    topics = services.metadata.image.topics
    for topic in commit.topics:
        image = topics.by_id.get(topic.topic_id) if version >= _BY_TOPIC_ID else topics.by_name.get(topic.name)
        if image is None or not authorize(request, _READ, _TOPIC, image.name):
            return False
        known = image.partitions
        for partition in topic.partitions:
            if partition.partition_index not in known:
                return False
        topic.name, topic.topic_id = image.name, image.id
    completion = services.group_coordinator.commit_plain_offsets(commit, version)
    if completion.is_done:
        _answer_plain(services, request, commit, completion)
    else:
        request.release_buffer()
        completion.add_done_callback(lambda done: _answer_plain(services, request, commit, done))
    return True


def _answer_plain(
    services: BrokerServices, request: Request, commit: PlainOffsetCommit, done: Completion[Sequence[int]]
) -> None:
    codes = done.result()
    services.errors.count(_OFFSET_COMMIT, codes)
    request.send((write_plain_offset_commit_response(request.header.correlation_id, commit.topics, codes),))


def _resolve(services: BrokerServices, topic: OffsetCommitRequestTopic, by_id: bool) -> TopicImage | None:
    """The topic as the metadata has it; whichever of name and id the request lacks is filled in."""
    topics = services.metadata.image.topics
    if by_id:
        image = topics.by_id.get(topic.topic_id)
        if image is not None:
            topic.name = image.name
    else:
        image = topics.topic(topic.name)
        if image is not None:
            topic.topic_id = image.id
    return image


class _Refused:
    """What the coordinator is not asked about: a topic once, whether by id or by name."""

    __slots__ = ("_by_id", "topics")

    def __init__(self, by_id: bool) -> None:
        self._by_id = by_id
        self.topics: dict[Uuid | str, OffsetCommitResponseTopic] = {}

    def add(
        self, topic: OffsetCommitRequestTopic, partitions: Sequence[OffsetCommitRequestPartition], code: ErrorCode
    ) -> None:
        """An error for some partitions."""
        self._extend(
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
                    for partition in partitions
                ],
            )
        )

    def merged_with(self, response: OffsetCommitResponse) -> OffsetCommitResponse:
        """The answer to the whole request."""
        for topic in response.topics:
            self._extend(topic)
        return self.response()

    def response(self) -> OffsetCommitResponse:
        """All that was added."""
        return OffsetCommitResponse(topics=list(self.topics.values()))

    def _extend(self, topic: OffsetCommitResponseTopic) -> None:
        before = self.topics.setdefault(topic.topic_id if self._by_id else topic.name, topic)
        if before is not topic:
            before.partitions = [*before.partitions, *topic.partitions]


def error_response(body: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    """The error, at every partition."""
    return refusals.offset_commit(body, error.code)


APIS: Final = (Api(ApiKey.OFFSET_COMMIT, 2, 10, handle, error_response=error_response, short_cut=commit_plain),)
