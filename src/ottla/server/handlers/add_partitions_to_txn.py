"""AddPartitionsToTxn 0–5: partitions become part of transactions, or are looked for in them.

Up to version 3 a client adds partitions to its one transaction. Later versions come from brokers, for many
transactions at once: they verify what a producer is about to write, or add it for producers of transactions v2.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_cluster
from ottla.server.services import BrokerServices
from ottla.transaction.transaction_version import TransactionVersion

_FROM_BROKERS: Final = 4
_KNOWS_PRODUCER_FENCED: Final = 2

Codes = Mapping[TopicPartition, int]


async def handle(
    services: BrokerServices, context: RequestContext, body: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse:
    """Each transaction on its own, as a whole: one bad partition keeps the others out."""
    version = context.header.api_version
    if version < _FROM_BROKERS:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=body.v3_and_below_transactional_id,
            producer_id=body.v3_and_below_producer_id,
            producer_epoch=body.v3_and_below_producer_epoch,
            topics=body.v3_and_below_topics,
        )
        codes = await _handle_transaction(services, context, transaction)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(codes))
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    answers = await asyncio.gather(*(_handle_transaction(services, context, one) for one in body.transactions))
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=_topic_results(codes))
            for transaction, codes in zip(body.transactions, answers, strict=True)
        ]
    )


async def _handle_transaction(
    services: BrokerServices, context: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Codes:
    """The error code of every partition."""
    partitions = _partitions(transaction.topics)
    version = context.header.api_version
    refused = _refused(services, context, transaction.transactional_id, partitions)
    if refused is not None:
        return refused
    coordinator = services.transaction_coordinator
    who = (transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
    if transaction.verify_only:
        return await coordinator.verify_partitions(*who, partitions)
    try:
        await coordinator.add_partitions(
            *who,
            partitions,
            client_transaction_version=TransactionVersion.for_add_partitions_to_txn(version),
        )
    except KafkaError as error:
        is_unknown = error.code == ErrorCode.PRODUCER_FENCED and version < _KNOWS_PRODUCER_FENCED
        return dict.fromkeys(partitions, ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown else error.code)
    return dict.fromkeys(partitions, ErrorCode.NONE)


def _refused(
    services: BrokerServices, context: RequestContext, transactional_id: str, partitions: list[TopicPartition]
) -> Codes | None:
    """The codes of a transaction that may not be touched, or has partitions that may not be added; else None."""
    is_client = context.header.api_version < _FROM_BROKERS
    authorize = services.authorizer.authorize
    if is_client and not authorize(context, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    codes: dict[TopicPartition, int] = {}
    for topic_partition in partitions:
        topic = topic_partition.topic
        if is_client and (
            topic in INTERNAL_TOPICS or not authorize(context, AclOperation.WRITE, ResourceType.TOPIC, topic)
        ):
            codes[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif services.metadata.image.topics.partition(*topic_partition) is None:
            codes[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not codes:
        return None
    return {one: codes.get(one, ErrorCode.OPERATION_NOT_ATTEMPTED) for one in partitions}


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return list(dict.fromkeys(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions))


def _topic_results(codes: Codes) -> list[AddPartitionsToTxnTopicResult]:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for topic_partition, code in codes.items():
        topics.setdefault(topic_partition.topic, []).append(
            AddPartitionsToTxnPartitionResult(partition_index=topic_partition.partition, partition_error_code=code)
        )
    return [AddPartitionsToTxnTopicResult(name=name, results_by_partition=found) for name, found in topics.items()]


def error_response(body: AddPartitionsToTxnRequest, error: KafkaError) -> AddPartitionsToTxnResponse:
    """The error of the request; up to version 3, at every partition."""
    codes = dict.fromkeys(_partitions(body.v3_and_below_topics), error.code)
    return AddPartitionsToTxnResponse(error_code=error.code, results_by_topic_v3_and_below=_topic_results(codes))


APIS: Final = (Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, handle, error_response=error_response),)
