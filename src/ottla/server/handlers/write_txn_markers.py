"""WriteTxnMarkers 1–2: a transaction coordinator ends transactions on the partitions that this broker leads."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from ottla.server.api import Api
from ottla.server.authorizer import CLUSTER_NAME, AclOperation, ResourceType, require_cluster
from ottla.server.services import BrokerServices
from ottla.server.txn_marker_writer import TxnMarker

Errors = dict[int, dict[TopicPartition, int]]
"""By producer id and partition."""


async def handle(
    services: BrokerServices, context: RequestContext, body: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """Write every marker to each of its partitions; answered when all are committed or refused."""
    if not services.authorizer.authorize(context, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
        require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    errors: Errors = {}
    if not body.markers:
        return _response(errors)
    all_written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    unwritten = len(body.markers)

    def written(producer_id: int, codes: Mapping[TopicPartition, int]) -> None:
        nonlocal unwritten
        if codes:
            errors.setdefault(producer_id, {}).update(codes)
        unwritten -= 1
        if unwritten == 0 and not all_written.done():
            all_written.set_result(None)

    for one in body.markers:
        if one.producer_id < 0 or one.producer_epoch < 0:  # nobody's transaction; no batch can say so
            written(one.producer_id, dict.fromkeys(_partitions(one), ErrorCode.INVALID_REQUEST))
            continue
        marker = TxnMarker(
            one.producer_id, one.producer_epoch, one.coordinator_epoch, one.transaction_result, one.transaction_version
        )
        services.txn_markers.write(marker, _partitions(one), partial(written, one.producer_id))
    await all_written
    return _response(errors)


def error_response(body: WriteTxnMarkersRequest, error: KafkaError) -> WriteTxnMarkersResponse:
    """The error, at every partition."""
    errors: Errors = {}
    for marker in body.markers:
        errors.setdefault(marker.producer_id, {}).update(dict.fromkeys(_partitions(marker), error.code))
    return _response(errors)


def _partitions(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]


def _response(errors: Errors) -> WriteTxnMarkersResponse:
    markers = []
    for producer_id, codes in errors.items():
        topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
        for topic_partition, code in codes.items():
            topics.setdefault(topic_partition.topic, []).append(
                WritableTxnMarkerPartitionResult(partition_index=topic_partition.partition, error_code=code)
            )
        markers.append(
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[WritableTxnMarkerTopicResult(name=name, partitions=found) for name, found in topics.items()],
            )
        )
    return WriteTxnMarkersResponse(markers=markers)


APIS: Final = (Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, handle, error_response=error_response),)
