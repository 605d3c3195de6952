"""Fetch 4–18: read from partitions, for consumers and followers, with fetch sessions (KIP-227) from version 7 on.

Topics are named up to version 12 and given by id from 13 on. Records leave as ranges of files.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.readable_log import FetchIsolation
from ottla.metadata.image.topics import TopicsImage
from ottla.network.request import Request
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_request_body, response_frame
from ottla.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ottla.replication.fetch_context import FetchAnswer, FetchContext, new_context
from ottla.replication.fetch_session import PartitionKey
from ottla.replication.partition import Partition
from ottla.replication.read_result import UNCHANGED, FetchParams, FetchPartition, ReadResult
from ottla.server.api import Api
from ottla.server.authorizer import CLUSTER_NAME, AclOperation, ResourceType
from ottla.server.services import BrokerServices

_BY_TOPIC_ID: Final = 13
_REPLICA_STATE_FROM: Final = 15
_NAMES_LEADER: Final = 16
_FROM_FOLLOWERS: Final = 11
_KNOWS_STORAGE_ERROR: Final = 6
_READ_COMMITTED: Final = 1
_NOT_READ: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
_ASK_THE_LEADER: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle(services: BrokerServices, request: Request) -> None:
    """Answer at once with what is there, or wait for ``min_bytes`` until ``max_wait_ms`` has passed."""
    body = decode_request_body(FetchRequest, request.body, request.header.api_version)
    request.release_buffer()
    _Fetch(services, request, body).run()


class _TopicNames(Mapping[Uuid, str]):
    """The names of topics by their ids, out of the image."""

    __slots__ = ("_topics",)

    def __init__(self, topics: TopicsImage) -> None:
        self._topics = topics.by_id

    def __getitem__(self, topic_id: Uuid) -> str:
        return self._topics[topic_id].name

    def __iter__(self) -> Iterator[Uuid]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)


class _Fetch:
    """One request."""

    __slots__ = ("_body", "_context", "_refused", "_replica_id", "_request", "_services", "_version")

    def __init__(self, services: BrokerServices, request: Request, body: FetchRequest) -> None:
        self._services = services
        self._request = request
        self._body = body
        self._version = request.header.api_version
        state = body.replica_state
        has_state = self._version >= _REPLICA_STATE_FROM and state is not None
        self._replica_id = state.replica_id if has_state and state is not None else body.replica_id
        request.metric_name = "FetchFollower" if self._replica_id >= 0 else "FetchConsumer"
        self._context = self._new_context()
        self._refused: dict[int, ReadResult] = {}
        """By position among the context's partitions: those that are not read."""

    def _new_context(self) -> FetchContext:
        body = self._body
        topics = self._services.metadata.image.topics
        fetches: list[FetchPartition] = []
        forgotten: list[PartitionKey] = []
        by_id = self._version >= _BY_TOPIC_ID
        for topic in body.topics:
            found = topics.by_id.get(topic.topic_id) if by_id else None
            name = (None if found is None else found.name) if by_id else topic.topic
            topic_id = topic.topic_id if by_id else None
            fetches += [
                FetchPartition(
                    None if name is None else TopicPartition(name, partition.partition),
                    partition.fetch_offset,
                    partition.partition_max_bytes,
                    topic_id=topic_id,
                    index=partition.partition,
                    log_start_offset=partition.log_start_offset,
                    current_leader_epoch=partition.current_leader_epoch,
                    last_fetched_epoch=partition.last_fetched_epoch,
                )
                for partition in topic.partitions
            ]
        for gone in body.forgotten_topics_data:
            key = gone.topic_id if by_id else gone.topic
            forgotten += [(key, index) for index in gone.partitions]
        return new_context(
            self._services.fetch_sessions,
            fetches,
            forgotten,
            version=self._version,
            session_id=body.session_id,
            session_epoch=body.session_epoch,
            is_follower=self._replica_id >= 0,
            topic_names=_TopicNames(topics),
            now_ms=self._services.runtime.clock.monotonic_ms(),
        )

    def run(self) -> None:
        """Read what may be read."""
        fetches = [fetch for position, fetch in enumerate(self._context.fetches) if self._admit(position, fetch)]
        if not fetches:
            self._respond([])
            return
        self._services.replicas.fetch(self._params(), fetches, self._respond)

    def _admit(self, position: int, fetch: FetchPartition) -> bool:
        key = fetch.topic_partition
        if key is None:
            self._refused[position] = ReadResult(ErrorCode.UNKNOWN_TOPIC_ID)
        elif not self._is_authorized(key.topic):
            self._refused[position] = ReadResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif fetch.hosted is None and self._services.metadata.image.topics.partition(*key) is None:
            # Not for the replicas to find out: the other partitions may be waited for, so that a client that holds on
            # to a topic that is gone does not ask without pause.
            self._refused[position] = ReadResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return position not in self._refused

    def _is_authorized(self, topic: str) -> bool:
        authorize, context = self._services.authorizer.authorize, self._request.context
        if self._replica_id >= 0:
            return authorize(context, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        return authorize(context, AclOperation.READ, ResourceType.TOPIC, topic)

    def _params(self) -> FetchParams:
        body = self._body
        max_bytes = min(body.max_bytes, self._services.config.current.server.fetch_max_bytes)
        if self._replica_id >= 0:
            isolation = FetchIsolation.LOG_END
        elif body.isolation_level == _READ_COMMITTED:
            isolation = FetchIsolation.TXN_COMMITTED
        else:
            isolation = FetchIsolation.HIGH_WATERMARK
        state = body.replica_state
        return FetchParams(
            replica_id=self._replica_id,
            replica_epoch=-1 if state is None else state.replica_epoch,
            max_wait_ms=body.max_wait_ms,
            min_bytes=min(body.min_bytes, max_bytes),
            max_bytes=max_bytes,
            isolation=isolation,
            fetch_only_leader=self._replica_id >= 0 or (self._replica_id == -1 and self._version < _FROM_FOLLOWERS),
        )

    # -- answering ----------------------------------------------------------------------------------------------------

    def _respond(self, results: Sequence[ReadResult]) -> None:
        if self._refused:
            read = iter(results)
            results = [
                self._refused[position] if position in self._refused else next(read)
                for position in range(len(self._context.fetches))
            ]
        answer = self._context.response(results)
        response = self._response(answer)
        codes = [result.error_code for _fetch, result in answer.partitions]
        self._services.errors.count(ApiKey.FETCH, [answer.error_code, *codes])
        throttle_time_ms = self._services.quotas.record_fetch(self._request, _size(answer))
        if throttle_time_ms:
            self._request.throttle_time_ms = response.throttle_time_ms = throttle_time_ms
        header = self._request.header
        self._request.send(response_frame(header.api_key, header.api_version, header.correlation_id, response))

    def _response(self, answer: FetchAnswer) -> FetchResponse:
        topics: list[FetchableTopicResponse] = []
        endpoints: dict[int, NodeEndpoint] = {}
        last: tuple[str, Uuid | None] | None = None
        partitions: list[PartitionData] = []
        for fetch, result in answer.partitions:
            key = fetch.topic_partition
            topic = (key.topic if key is not None else "", fetch.topic_id)
            if topic != last:
                last = topic
                partitions = []
                topics.append(FetchableTopicResponse(topic=topic[0], partitions=partitions))
                if fetch.topic_id is not None:
                    topics[-1].topic_id = fetch.topic_id
            partitions.append(self._partition(fetch, result, endpoints))
        return FetchResponse(
            error_code=answer.error_code,
            session_id=answer.session_id,
            responses=topics,
            node_endpoints=list(endpoints.values()),
        )

    def _partition(
        self, fetch: FetchPartition, result: ReadResult, endpoints: dict[int, NodeEndpoint]
    ) -> PartitionData:
        data = PartitionData(
            partition_index=fetch.index,
            error_code=result.error_code,
            high_watermark=result.high_watermark,
            last_stable_offset=result.last_stable_offset,
            log_start_offset=result.log_start_offset,
            aborted_transactions=None,
            preferred_read_replica=result.preferred_read_replica,
            records=b"" if result.records is None else result.records,
        )
        if result is UNCHANGED:
            data.high_watermark, data.log_start_offset = fetch.high_watermark, fetch.local_log_start_offset
        if result.records is not None and fetch.hosted is not None:
            self._count_bytes(fetch.hosted, result.records.size)
        if result.aborted_transactions is not None:
            data.aborted_transactions = [
                AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset)
                for txn in result.aborted_transactions
            ]
        if result.diverging_epoch is not None:
            data.diverging_epoch = EpochEndOffset(
                epoch=result.diverging_epoch.leader_epoch, end_offset=result.diverging_epoch.end_offset
            )
        if result.error_code:
            self._explain(fetch, data, endpoints)
        return data

    def _count_bytes(self, partition: Partition, size_bytes: int) -> None:
        replica_id = self._replica_id
        self._services.replicas.stats.update_bytes_out(
            partition,
            size_bytes,
            is_follower=replica_id >= 0,
            is_reassignment=replica_id >= 0 and replica_id in partition.adding_replicas,
        )

    def _explain(self, fetch: FetchPartition, data: PartitionData, endpoints: dict[int, NodeEndpoint]) -> None:
        """Make an error useful: old clients know no storage error, new ones are told who leads.

        Of a partition that was not read no transactions are listed; null stands for those that nobody asked for.
        """
        if data.error_code in _NOT_READ:
            data.aborted_transactions = ()
        if data.error_code == ErrorCode.KAFKA_STORAGE_ERROR and self._version < _KNOWS_STORAGE_ERROR:
            data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        key = fetch.topic_partition
        if self._version < _NAMES_LEADER or data.error_code not in _ASK_THE_LEADER or key is None:
            return
        leader = self._services.metadata.current_leader(*key, self._request.context.listener_name)
        data.current_leader = LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
        if leader.node is not None:
            endpoints[leader.id] = NodeEndpoint(
                node_id=leader.id,
                host=leader.node.endpoint.host,
                port=leader.node.endpoint.port,
                rack=leader.node.rack,
            )


def _size(answer: FetchAnswer) -> int:
    return sum(result.size_bytes for _fetch, result in answer.partitions)


def error_response(_body: FetchRequest, error: KafkaError) -> FetchResponse:
    """The error, for the whole request."""
    return FetchResponse(error_code=error.code)


APIS: Final = (Api(ApiKey.FETCH, 4, 18, handle, error_response=error_response, raw=True),)
