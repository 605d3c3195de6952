"""ListOffsets 1–11: the offset of a timestamp, or of what a negative one stands for."""

import logging
from collections import Counter
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.error_words import in_words
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.offset_lookup import TimestampedOffset
from ottla.log.readable_log import FetchIsolation
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.records.inline_reading import InlineReading
from ottla.records.timestamp_search import Found, SearchPutOff, TimestampSearch, first_record_of_bytes
from ottla.replication.read_result import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices

logger = logging.getLogger(__name__)

SPECIAL_TIMESTAMPS: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
"""Latest, earliest, max timestamp, earliest local, latest tiered, earliest pending upload: since which version."""

_OFFSET_NOT_AVAILABLE_FROM: Final = 5
_READ_COMMITTED: Final = 1


async def handle(services: BrokerServices, context: RequestContext, body: ListOffsetsRequest) -> ListOffsetsResponse:
    """Each partition on its own. Where many records have to be read, that is done away from the reactor."""
    version = context.header.api_version
    isolation = FetchIsolation.LOG_END
    if body.replica_id == CONSUMER_REPLICA_ID:
        committed = body.isolation_level == _READ_COMMITTED
        isolation = FetchIsolation.TXN_COMMITTED if committed else FetchIsolation.HIGH_WATERMARK
    counts = Counter((topic.name, partition.partition_index) for topic in body.topics for partition in topic.partitions)
    lookups = _Lookups(services, isolation, from_leader=body.replica_id != DEBUGGING_REPLICA_ID)
    topics = []
    for topic in body.topics:
        allowed = services.authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)
        partitions = []
        for partition in topic.partitions:
            key = TopicPartition(topic.name, partition.partition_index)
            error = ErrorCode.NONE
            if not allowed:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif counts[key] > 1:
                error = ErrorCode.INVALID_REQUEST
                counts[key] = 0
            elif not counts[key]:
                continue  # named more than once, and refused at the first
            elif partition.timestamp < 0 and version < SPECIAL_TIMESTAMPS.get(partition.timestamp, version + 1):
                error = ErrorCode.UNSUPPORTED_VERSION
            if error == ErrorCode.NONE:
                partitions.append(await _look_up(lookups, key, partition, version))
            else:
                partitions.append(ListOffsetsPartitionResponse(partition_index=key.partition, error_code=error))
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


class _Lookups:
    """The lookups of one request, which share what is left of the turn for reading records."""

    def __init__(self, services: BrokerServices, isolation: FetchIsolation, *, from_leader: bool) -> None:
        self._partitions = services.replicas.partitions
        self._runtime = services.runtime
        self._isolation = isolation
        self._from_leader = from_leader
        self._reading = InlineReading()

    async def find(self, key: TopicPartition, partition: ListOffsetsPartition) -> TimestampedOffset | None:
        """Look up until no batch is put off; what the others have shown is known then."""
        search = TimestampSearch()
        while True:
            try:
                return self._partitions.require(key).fetch_offset_for_timestamp(
                    partition.timestamp,
                    self._isolation,
                    partition.current_leader_epoch,
                    from_leader=self._from_leader,
                    search=search.within(self._reading),
                )
            except SearchPutOff as put_off:
                if self._reading.is_whole:
                    search.learn(put_off, await self._search_elsewhere(put_off))
                else:
                    await self._runtime.sleep_ms(0)
                self._reading = InlineReading()

    async def _search_elsewhere(self, put_off: SearchPutOff) -> Found:
        try:
            return await self._runtime.compute(
                first_record_of_bytes, bytes(put_off.batch.bytes), put_off.timestamp, put_off.starting_offset
            )
        except OSError as error:
            raise ApiError(
                ErrorCode.OFFSET_NOT_AVAILABLE, f"The records could not be read: {in_words(error)}"
            ) from error


async def _look_up(
    lookups: _Lookups, key: TopicPartition, partition: ListOffsetsPartition, version: int
) -> ListOffsetsPartitionResponse:
    response = ListOffsetsPartitionResponse(partition_index=key.partition)
    try:
        found = await lookups.find(key, partition)
    except KafkaError as error:
        logger.debug("ListOffsets of %s failed: %s", key, error)
        not_available = error.code == ErrorCode.OFFSET_NOT_AVAILABLE and version < _OFFSET_NOT_AVAILABLE_FROM
        response.error_code = ErrorCode.LEADER_NOT_AVAILABLE if not_available else error.code
        return response
    if found is not None:
        response.timestamp = found.timestamp
        response.offset = found.offset
        response.leader_epoch = found.leader_epoch if found.leader_epoch is not None else -1
    return response


def error_response(body: ListOffsetsRequest, error: KafkaError) -> ListOffsetsResponse:
    """The error, at every partition."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=partition.partition_index, error_code=error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


APIS: Final = (Api(ApiKey.LIST_OFFSETS, 1, 11, handle, error_response=error_response),)
