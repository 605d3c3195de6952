"""Brokers that answer a scan's fetches from simulated logs, and can fail in all the ways that brokers do."""

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from ottla.spark.scan.scan_plan import LogBounds
from tests.clients.consumer.simulated_log import SimulatedLog

TOPIC = "t"
TOPIC_ID = Uuid(bytes([7] * 16))
NODES = {number: Node(number, "host", 9092 + number) for number in (1, 2)}


class SimulatedPartition:
    """A log, what compaction and retention have left of it, and who leads it."""

    def __init__(self, log: SimulatedLog) -> None:
        self.log = log
        self.batches = list(log.batches)
        self.log_start_offset = 0
        self.local_start_offset = 0
        self.is_remote_slow = False
        """What is before the local start does not come in time then."""
        self.leader_id = 1
        self.leader_epoch = 0

    def compact(self, rng: Random) -> None:
        """Lose some batches whole; the last stays, as in a real log."""
        self.batches = [each for each in self.batches[:-1] if rng.random() < 0.6] + self.batches[-1:]

    def answer(self, asked: FetchPartition, node_id: int, isolation: int, room_bytes: int) -> PartitionData:
        """What a broker says, given so much room in its answer (a first batch is sent whole in any case)."""
        code = self._refusal(asked, node_id)
        committed = isolation == IsolationLevel.READ_COMMITTED
        end = self.log.last_stable_offset if committed else self.log.end_offset
        data = b""
        if code == ErrorCode.NONE:
            found = [raw for base, last, raw in self.batches if last >= asked.fetch_offset and base < end]
            is_late = self.is_remote_slow and asked.fetch_offset < self.local_start_offset
            if found and room_bytes > 0 and not is_late:
                data = b"".join(found)[: max(min(asked.partition_max_bytes, room_bytes), len(found[0]))]
        return PartitionData(
            partition_index=asked.partition,
            error_code=code,
            high_watermark=self.log.end_offset,
            last_stable_offset=self.log.last_stable_offset,
            aborted_transactions=[
                AbortedTransaction(producer_id=producer, first_offset=first)
                for producer, first, marker in self.log.aborted
                if committed and marker >= asked.fetch_offset and first < end
            ],
            records=data,
        )

    def _refusal(self, asked: FetchPartition, node_id: int) -> ErrorCode:
        if node_id != self.leader_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if asked.current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if not self.log_start_offset <= asked.fetch_offset <= self.log.end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE


class SimulatedCluster:
    """Two brokers. Metadata is as old as the last ``refresh``."""

    def __init__(self, logs: Mapping[int, SimulatedLog], rng: Random) -> None:
        self.partitions = {number: SimulatedPartition(log) for number, log in logs.items()}
        self.rng = rng
        self.metadata = self._image()

    def refresh(self) -> None:
        self.metadata = self._image()

    def elect(self, number: int) -> None:
        partition = self.partitions[number]
        partition.leader_id = 3 - partition.leader_id
        partition.leader_epoch += 1

    def fetch(self, node_id: int, request: FetchRequest) -> FetchResponse:
        """NetworkError now and then is the caller's business."""
        room_bytes = request.max_bytes
        answers = []
        for topic in request.topics:
            for asked in topic.partitions:
                data = self.partitions[asked.partition].answer(asked, node_id, request.isolation_level, room_bytes)
                assert isinstance(data.records, bytes)
                room_bytes -= len(data.records)
                answers.append(data)
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=answers)])

    def bounds(self) -> dict[TopicPartition, LogBounds]:
        return {
            TopicPartition(TOPIC, number): LogBounds(
                each.log_start_offset, max(each.log_start_offset, each.local_start_offset), each.log.end_offset
            )
            for number, each in self.partitions.items()
        }

    def _image(self) -> ClusterMetadata:
        partitions = {
            number: PartitionMetadata(number, each.leader_id, each.leader_epoch, (1, 2), (1, 2), (), 0)
            for number, each in self.partitions.items()
        }
        topic = TopicMetadata(TOPIC, TOPIC_ID, False, MappingProxyType(partitions), 0)
        return ClusterMetadata("c", 1, NODES, {TOPIC: topic}, {})


def lost() -> NetworkError:
    return NetworkError("The connection was closed before the response was read")
