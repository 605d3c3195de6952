"""A client that does nothing wrong, and wants its answers: what it writes and commits is there when it reads."""

import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_response, encode_request
from ottla.protocol.message import Message
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.describe_quorum import DescribeQuorumRequest
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord, decode_records

ANSWER_BOUND_S = 20
"""Not a measurement: beyond it a node is taken for dead."""
_NOT_YET = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class Connection:
    """Requests and their answers, one at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_BOUND_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def request(self, api_key: ApiKey, version: int, body: Message) -> Message:
        self._correlation_id += 1
        self._socket.sendall(encode_request(api_key, version, self._correlation_id, "healthy", body))
        (size,) = struct.unpack(">i", self._exactly(4))
        correlation_id, response = decode_response(api_key, version, memoryview(self._exactly(size)))
        assert correlation_id == self._correlation_id
        return response

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            assert piece, "the connection of the healthy client was closed"
            data += piece
        return bytes(data)

    def close(self) -> None:
        self._socket.close()


class HealthyClient:
    """Writes numbered records to a topic of its own, reads each of them back, and commits how far it has come."""

    def __init__(self, broker_port: int, controller_port: int, topic: str, group_id: str) -> None:
        self._broker = Connection(broker_port)
        self._controller = Connection(controller_port)
        self._topic = topic
        self._group_id = group_id
        self.written = 0
        self.longest_s = 0.0

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> ErrorCode:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        response = self._broker.request(ApiKey.CREATE_TOPICS, 7, request)
        return ErrorCode(response.topics[0].error_code)  # type: ignore[attr-defined]

    def topics(self) -> dict[str, Uuid]:
        response = self._broker.request(ApiKey.METADATA, 12, MetadataRequest(topics=None))
        return {topic.name: topic.topic_id for topic in response.topics}  # type: ignore[attr-defined]

    def broker_epoch(self) -> int:
        """What the controller knows the broker by; nobody tells, so it is tried out."""
        for epoch in range(1000):
            request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
            response = self._controller.request(ApiKey.ALLOCATE_PRODUCER_IDS, 0, request)
            if response.error_code == ErrorCode.NONE:  # type: ignore[attr-defined]
                return epoch
        raise AssertionError("no broker epoch was right")

    def delete_topics(self, names: list[str]) -> None:
        states = [DeleteTopicState(name=name) for name in names]
        self._broker.request(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=states, timeout_ms=10_000))

    def find_coordinator(self) -> None:
        """Wait for the group's coordinator, which is not there before somebody asks for it."""
        self._within_bound(self._coordinator_code)
        self._within_bound(lambda: ErrorCode(self._committed_offsets().error_code))

    def _within_bound(self, code: Callable[[], ErrorCode]) -> None:
        start_s = time.monotonic()
        while (answered := code()) != ErrorCode.NONE:
            assert answered in _NOT_YET, answered.name
            assert time.monotonic() - start_s < ANSWER_BOUND_S, answered.name
            time.sleep(0.02)

    def _coordinator_code(self) -> ErrorCode:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[self._group_id])
        response = self._broker.request(ApiKey.FIND_COORDINATOR, 4, request)
        return ErrorCode(response.coordinators[0].error_code)  # type: ignore[attr-defined]

    def delete_records(self, topic: str, partitions: Sequence[int]) -> None:
        """All of them, as far as the partitions have leaders."""
        data = [DeleteRecordsPartition(partition_index=index, offset=-1) for index in partitions]
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=data)], timeout_ms=10_000)
        self._broker.request(ApiKey.DELETE_RECORDS, 2, request)

    def delete_other_groups(self) -> None:
        """Those that have members stay."""
        response = self._broker.request(ApiKey.LIST_GROUPS, 5, ListGroupsRequest())
        names = [group.group_id for group in response.groups if group.group_id != self._group_id]  # type: ignore[attr-defined]
        self._broker.request(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=names))

    def check(self) -> None:
        """Metadata, a record written, the same record read, its offset committed, and the controller asked."""
        start_s = time.monotonic()
        self._ask_for_metadata()
        value = b"record %d" % self.written
        offset = self._produce(value)
        assert offset == self.written, f"offset {offset} for the record {self.written}"
        self.written += 1
        assert self._fetch(offset) == [value]
        code = self._commit()
        assert code == ErrorCode.NONE, code.name
        assert self.committed() == self.written
        quorum = self._controller.request(ApiKey.DESCRIBE_QUORUM, 2, DescribeQuorumRequest())
        assert quorum.error_code == ErrorCode.NONE  # type: ignore[attr-defined]
        self.longest_s = max(self.longest_s, time.monotonic() - start_s)

    def _ask_for_metadata(self) -> None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=self._topic)])
        response = self._broker.request(ApiKey.METADATA, 12, request)
        (topic,) = response.topics  # type: ignore[attr-defined]
        assert topic.error_code == ErrorCode.NONE
        assert topic.partitions[0].leader_id == 1

    def _produce(self, value: bytes) -> int:
        batch = bytes(build_batch([SimpleRecord(1_700_000_000_000, None, value)]))
        data = TopicProduceData(name=self._topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        response = self._broker.request(
            ApiKey.PRODUCE, 12, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        )
        partition = response.responses[0].partition_responses[0]  # type: ignore[attr-defined]
        assert partition.error_code == ErrorCode.NONE, ErrorCode(partition.error_code).name
        return int(partition.base_offset)

    def _fetch(self, offset: int) -> list[bytes | None]:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=10_000, min_bytes=1, topics=[FetchTopic(topic=self._topic, partitions=[wanted])]
        )
        response = self._broker.request(ApiKey.FETCH, 12, request)
        partition = response.responses[0].partitions[0]  # type: ignore[attr-defined]
        assert partition.error_code == ErrorCode.NONE, ErrorCode(partition.error_code).name
        return [record.value for record in decode_records(RecordBatch(partition.records))]

    def _commit(self) -> ErrorCode:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=self.written)
        topic = OffsetCommitRequestTopic(name=self._topic, partitions=[partition])
        request = OffsetCommitRequest(group_id=self._group_id, topics=[topic])
        response = self._broker.request(ApiKey.OFFSET_COMMIT, 9, request)
        return ErrorCode(response.topics[0].partitions[0].error_code)  # type: ignore[attr-defined]

    def committed(self) -> int:
        """What the group has committed; it has committed nothing else."""
        group = self._committed_offsets()
        assert group.error_code == ErrorCode.NONE, ErrorCode(group.error_code).name
        (topic,) = group.topics
        (partition,) = topic.partitions
        assert (topic.name, partition.error_code) == (self._topic, ErrorCode.NONE)
        return int(partition.committed_offset)

    def _committed_offsets(self) -> OffsetFetchResponseGroup:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self._group_id, topics=None)])
        response = self._broker.request(ApiKey.OFFSET_FETCH, 9, request)
        assert isinstance(response, OffsetFetchResponse)
        (group,) = response.groups
        return group

    def read_all(self) -> list[bytes | None]:
        """Everything in the topic, from its first record on."""
        values: list[bytes | None] = []
        while len(values) < self.written:
            values += self._fetch(len(values))
        return values

    def close(self) -> None:
        self._broker.close()
        self._controller.close()
