"""TxnOffsetCommit 0–5: offsets that count when their transaction does.

Producers of transactions v2 (version 5) have not added the group's offsets to the transaction before: the broker does.
"""

from collections.abc import Awaitable, Iterable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group import refusals
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_group, require_transactional_id
from ottla.server.services import BrokerServices

_KNOWS_LOADING: Final = 2


def handle(
    services: BrokerServices, context: RequestContext, body: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
    """Sort out what cannot be committed, and ask the coordinator for the rest."""
    authorize = services.authorizer.authorize
    require_transactional_id(services.authorizer, context, AclOperation.WRITE, body.transactional_id)
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    topics = services.metadata.image.topics
    refused: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
    committable = []
    for topic in body.topics:
        image = topics.topic(topic.name)
        if not authorize(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
            _refuse(refused, topic.name, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif image is None:
            _refuse(refused, topic.name, topic.partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            known = image.partitions
            missing = [partition for partition in topic.partitions if partition.partition_index not in known]
            _refuse(refused, topic.name, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            existing = [partition for partition in topic.partitions if partition.partition_index in known]
            if existing:
                committable.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=existing))
    if not committable:
        return _response(refused)
    body.topics = committable
    committed = services.group_coordinator.commit_transactional_offsets(context, body)

    def answer(response: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
        if context.header.api_version < _KNOWS_LOADING:
            _hide_loading(response)
        return _merged(refused, response) if refused else response

    return then(committed, answer)


def _refuse(
    refused: dict[str, list[TxnOffsetCommitResponsePartition]],
    topic: str,
    partitions: Iterable[TxnOffsetCommitRequestPartition],
    code: ErrorCode,
) -> None:
    for partition in partitions:
        refused.setdefault(topic, []).append(
            TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
        )


def _hide_loading(response: TxnOffsetCommitResponse) -> None:
    """Producers before 2.0 may crash on COORDINATOR_LOAD_IN_PROGRESS."""
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                partition.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE


def _merged(
    refused: dict[str, list[TxnOffsetCommitResponsePartition]], response: TxnOffsetCommitResponse
) -> TxnOffsetCommitResponse:
    """A topic once, with its refused partitions first."""
    for topic in response.topics:
        refused.setdefault(topic.name, []).extend(topic.partitions)
    return _response(refused)


def _response(topics: dict[str, list[TxnOffsetCommitResponsePartition]]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[TxnOffsetCommitResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )


def error_response(body: TxnOffsetCommitRequest, error: KafkaError) -> TxnOffsetCommitResponse:
    """The error, at every partition."""
    return refusals.txn_offset_commit(body, error.code)


APIS: Final = (Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, handle, error_response=error_response),)
