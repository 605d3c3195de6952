"""Produce 3–13: append to the partitions that this broker leads.

Advertised from version 0, as Apache Kafka does, because librdkafka takes a broker without version 0 for one that is too
old for compression. Topics are named up to version 12 and given by id from 13 on. With acks=0 there is no answer: an
error is told by closing the connection.
"""

import logging
import struct
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidRecordError, KafkaError, UnsupportedCompressionTypeError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.network.request import Request
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.headers import decode_request_body, response_frame
from ottla.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from ottla.protocol.single_produce import SingleProduce, read_single_produce, write_single_produce_response
from ottla.records.batch import ATTRIBUTES_POSITION, HEADER_BYTES, LOG_OVERHEAD, MAGIC, TRANSACTIONAL_FLAG, Buffer
from ottla.records.batch_framing import framed_batches
from ottla.records.compression import Compression
from ottla.replication.append_result import AppendResult
from ottla.replication.appender import Entry
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.services import BrokerServices

logger = logging.getLogger(__name__)

_BY_TOPIC_ID: Final = 13
_NAMES_LEADER: Final = 10
_ZSTD_FROM: Final = 7
_WRITE: Final = AclOperation.WRITE
_TOPIC: Final = ResourceType.TOPIC
_TRANSACTIONAL_ID: Final = ResourceType.TRANSACTIONAL_ID
_ADMIN_CLIENT: Final = "__admin_client"
_LENGTH_AND_MAGIC: Final = struct.Struct(">8xi4xb4xh")
_PRODUCER: Final = struct.Struct(">43xqh")
"""A batch's producer id and epoch."""
_CODEC: Final = 0x07


def handle(services: BrokerServices, request: Request) -> None:
    """Append every partition's batch on its own, and answer when the acks that were asked for are there."""
    single = read_single_produce(request.body, request.header.api_version)
    if single is None or not _produce_single(services, request, single):
        _produce(services, request)


def _produce_single(services: BrokerServices, request: Request, single: SingleProduce) -> bool:
    """The short way, for a request about which nothing is out of the ordinary; returns whether it was taken."""
    acks, timeout_ms, name, topic_id, topic_field, partition, records, transactional_id = single
    if name is None:
        assert topic_id is not None
        topic = services.metadata.image.topics.by_id.get(topic_id)
        if topic is None:
            return False
        name = topic.name
    size = len(records)
    header = request.header
    if size < HEADER_BYTES or header.client_id == _ADMIN_CLIENT:
        return False
    length, magic, attributes = _LENGTH_AND_MAGIC.unpack_from(records)
    if magic != MAGIC or length + LOG_OVERHEAD != size:
        return False
    if not services.authorizer.authorize(request, _WRITE, _TOPIC, name):
        return False
    key: Any = (name, partition)  # a plain pair is found as well as a TopicPartition, and costs less
    replicas = services.replicas
    if attributes & TRANSACTIONAL_FLAG and (
        transactional_id is None
        or not services.authorizer.authorize(request, _WRITE, _TRANSACTIONAL_ID, transactional_id)
        or not replicas.has_ongoing_transaction(key, *_PRODUCER.unpack_from(records))
    ):
        return False
    result = replicas.append_one(key, topic_id, records, acks)
    if result is None:
        return False
    if isinstance(result, tuple):
        answer = partial(_answer_single, services, request, single, name)
        replicas.respond_when_acknowledged(result, acks, timeout_ms, answer)
        _release_if_waiting(request)
    elif result.error_code or acks == 0:
        _answer_single(services, request, single, name, [result])
    else:
        throttle_time_ms = services.quotas.record_produce(request)
        if throttle_time_ms:
            request.throttle_time_ms = throttle_time_ms
        services.errors.produce_none.value += 1
        response = write_single_produce_response(
            header.correlation_id,
            topic_field,
            partition,
            result.base_offset,
            result.log_append_time_ms,
            result.log_start_offset,
            throttle_time_ms,
        )
        request.send((response,))
    return True


def _answer_single(
    services: BrokerServices, request: Request, single: SingleProduce, topic: str, results: Sequence[AppendResult]
) -> None:
    """Answer what had to wait, or failed, or wants no answer."""
    acks, _timeout_ms, _name, topic_id, _field, partition, _records, _transactional_id = single
    answer = _Answer(services, request, acks)
    answer.expect(topic, topic_id, partition)
    answer.respond(results)


def _produce(services: BrokerServices, request: Request) -> None:
    """The way for everything else."""
    header = request.header
    body = decode_request_body(ProduceRequest, request.body, header.api_version)
    produce = _Produce(services, request, body)
    is_appended = False
    if _has_transactional_records(body) and not _may_write_transactionally(services, request, body):
        produce.refuse_all(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif not produce.entries:
        produce.respond([])
    else:
        try:
            is_appended = services.replicas.handle_produce_append(
                body.transactional_id,
                produce.entries,
                body.acks,
                body.timeout_ms,
                produce.respond,
                internal_topics_allowed=header.client_id == _ADMIN_CLIENT,
                operation=TransactionSupportedOperation.of_produce(header.api_version),
            )
        except KafkaError as error:
            produce.fail(error)
    if is_appended:
        _release_if_waiting(request)


def _release_if_waiting(request: Request) -> None:
    """A request whose records are in the log and that waits for others to have them, too, holds no memory."""
    if not request.is_answered:
        request.release_buffer()


def _may_write_transactionally(services: BrokerServices, request: Request, body: ProduceRequest) -> bool:
    return body.transactional_id is not None and services.authorizer.authorize(
        request.context, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, body.transactional_id
    )


class _Answer:
    """The response, growing around the results of the partitions that are appended to."""

    __slots__ = ("_acks", "_pending", "_request", "_services", "_topics")

    def __init__(self, services: BrokerServices, request: Request, acks: int) -> None:
        self._services = services
        self._request = request
        self._acks = acks
        self._topics: list[TopicProduceResponse] = []
        self._pending: list[tuple[str, PartitionProduceResponse]] = []
        """The topics and responses of the partitions whose results are to come, in the order of these."""

    def expect(self, topic: str, topic_id: Uuid | None, partition: int) -> None:
        """One more topic with one partition whose result is to come."""
        response = PartitionProduceResponse(index=partition)
        self._pending.append((topic, response))
        topic_response = TopicProduceResponse(name=topic, partition_responses=[response])
        if topic_id is not None:
            topic_response.topic_id = topic_id
        self._topics.append(topic_response)

    def refuse_all(self, error: ErrorCode) -> None:
        """Answer the whole request with one error."""
        for topic in self._topics:
            for response in topic.partition_responses:
                response.error_code = error
        self._answer()

    def fail(self, error: KafkaError) -> None:
        """Answer the whole request, its refused partitions included, with what is wrong with it as such."""
        for topic in self._topics:
            for partition in topic.partition_responses:
                partition.error_code = error.code
                partition.error_message = str(error)
        self._answer()

    def respond(self, results: Sequence[AppendResult]) -> None:
        """Fill in what appending gave, in the order of ``entries``."""
        for (_topic, response), result in zip(self._pending, results, strict=True):
            response.error_code = result.error_code
            response.base_offset = result.base_offset
            response.log_append_time_ms = result.log_append_time_ms
            response.log_start_offset = result.log_start_offset
            if result.error_message is not None:
                response.error_message = result.error_message
                response.record_errors = [
                    BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                    for index, message in result.record_errors
                ]
        self._answer()

    def _answer(self) -> None:
        request = self._request
        throttle_time_ms = self._services.quotas.record_produce(request)
        if throttle_time_ms:
            request.throttle_time_ms = throttle_time_ms
        if self._acks == 0:
            self._answer_nothing()
            return
        header = request.header
        response = ProduceResponse(responses=self._topics, throttle_time_ms=throttle_time_ms)
        self._services.errors.count_response(header.api_key, response)
        if header.api_version >= _NAMES_LEADER:
            self._name_leaders(response)
        request.send(response_frame(header.api_key, header.api_version, header.correlation_id, response))

    def _answer_nothing(self) -> None:
        request = self._request
        failed = {
            f"{topic.name or topic.topic_id}-{partition.index}": ErrorCode(partition.error_code).name
            for topic in self._topics
            for partition in topic.partition_responses
            if partition.error_code
        }
        if not failed:
            request.no_op()
            return
        logger.info(
            "Closing connection %s due to errors in a produce with correlation id %d from client id %s and acks=0: %s",
            request.context.connection_id,
            request.header.correlation_id,
            request.header.client_id,
            failed,
        )
        codes = [partition.error_code for topic in self._topics for partition in topic.partition_responses]
        self._services.errors.count(request.header.api_key, codes)
        request.close_connection()

    def _name_leaders(self, response: ProduceResponse) -> None:
        """A client that came to the wrong broker is told the right one."""
        endpoints: dict[int, NodeEndpoint] = {}
        for topic, partition in self._pending:
            if partition.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            leader = self._services.metadata.current_leader(topic, partition.index, self._request.context.listener_name)
            partition.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
            if leader.node is not None:
                endpoints[leader.id] = NodeEndpoint(
                    node_id=leader.id,
                    host=leader.node.endpoint.host,
                    port=leader.node.endpoint.port,
                    rack=leader.node.rack,
                )
        response.node_endpoints = list(endpoints.values())


class _Produce(_Answer):
    """One request: which of its partitions are appended to."""

    __slots__ = ("entries",)

    def __init__(self, services: BrokerServices, request: Request, body: ProduceRequest) -> None:
        super().__init__(services, request, body.acks)
        self.entries: list[Entry] = []
        version = request.header.api_version
        authorize = services.authorizer.authorize
        for topic in body.topic_data:
            name, topic_id = self._identify(topic.name, topic.topic_id, version)
            error = ErrorCode.NONE
            if name is None:
                error = ErrorCode.UNKNOWN_TOPIC_ID
            elif not authorize(request.context, AclOperation.WRITE, ResourceType.TOPIC, name):
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            partitions = []
            for partition in topic.partition_data:
                response = PartitionProduceResponse(index=partition.index, error_code=error, base_offset=-1)
                partitions.append(response)
                if name is not None and error == ErrorCode.NONE:
                    records = partition.records
                    assert not isinstance(records, FileSlice)
                    self._admit(TopicPartition(name, partition.index), topic_id, records, version, response)
            self._topics.append(
                TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=partitions)
            )

    def _identify(self, name: str, topic_id: Uuid, version: int) -> tuple[str | None, Uuid | None]:
        if version < _BY_TOPIC_ID or topic_id == ZERO_UUID:
            return name, None
        topic = self._services.metadata.image.topics.by_id.get(topic_id)
        return (None if topic is None else topic.name), topic_id

    def _admit(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid | None,
        records: Buffer | None,
        version: int,
        response: PartitionProduceResponse,
    ) -> None:
        """Take a partition's records up for appending, if there is such a partition and they can be looked at."""
        if self._services.metadata.image.topics.partition(*topic_partition) is None:
            response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return
        if records is None:
            response.error_code = ErrorCode.INVALID_RECORD
            return
        try:
            _check_framing(records, version)
        except KafkaError as error:
            response.error_code = error.code
            return
        self._pending.append((topic_partition.topic, response))
        self.entries.append((topic_partition, topic_id, records))


def _has_transactional_records(body: ProduceRequest) -> bool:
    """Whether any batch is transactional; of what is damaged the framing is checked later."""
    for topic in body.topic_data:
        for partition in topic.partition_data:
            records = partition.records
            assert not isinstance(records, FileSlice)
            if records is not None and len(records) >= HEADER_BYTES:
                _length, magic, attributes = _LENGTH_AND_MAGIC.unpack_from(records)
                if magic == MAGIC and attributes & TRANSACTIONAL_FLAG:
                    return True
    return False


def _check_framing(records: Buffer, version: int) -> None:
    """One batch of format 2; what follows it may be no batch. Raises what Apache's ProduceRequest answers."""
    frames = framed_batches(records)
    frame = next(frames, None)
    if frame is None or frame.magic != MAGIC:
        raise InvalidRecordError(f"Produce requests with version {version} must have a record batch of magic 2")
    if version < _ZSTD_FROM and records[ATTRIBUTES_POSITION + 1] & _CODEC == Compression.ZSTD:
        raise UnsupportedCompressionTypeError(f"Produce requests with version {version} must not use ZStandard")
    if next(frames, None) is not None:
        raise InvalidRecordError(f"Produce requests with version {version} must have exactly one record batch")


def error_response(body: ProduceRequest, error: KafkaError) -> ProduceResponse:
    """The error, at every partition."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=partition.index, error_code=error.code, base_offset=-1)
                    for partition in topic.partition_data
                ],
            )
            for topic in body.topic_data
        ]
    )


APIS: Final = (Api(ApiKey.PRODUCE, 3, 13, handle, error_response=error_response, advertised_from=0, raw=True),)
