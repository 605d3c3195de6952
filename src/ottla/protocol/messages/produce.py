"""Produce (api key 0)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.file_slice import Records
from ottla.protocol.message import INT16, INT32, INT64, RECORDS, STRING, UUID, ArrayOf, Message, field


class PartitionProduceData(Message):
    index: int = field(INT32, "0+", default=0)
    records: Records | None = field(RECORDS, "0+", default=None, nullable="0+")


class TopicProduceData(Message):
    name: str = field(STRING, "0-12", default="")
    topic_id: Uuid = field(UUID, "13+", default=ZERO_UUID)
    partition_data: Sequence[PartitionProduceData] = field(ArrayOf(PartitionProduceData), "0+", default=())


class ProduceRequest(Message, api_key=0, versions="3-13", flexible="9+"):
    transactional_id: str | None = field(STRING, "3+", default=None, nullable="3+")
    acks: int = field(INT16, "0+", default=0)
    timeout_ms: int = field(INT32, "0+", default=0)
    topic_data: Sequence[TopicProduceData] = field(ArrayOf(TopicProduceData), "0+", default=())


class BatchIndexAndErrorMessage(Message):
    batch_index: int = field(INT32, "8+", default=0)
    batch_index_error_message: str | None = field(STRING, "8+", default=None, nullable="8+")


class LeaderIdAndEpoch(Message):
    leader_id: int = field(INT32, "10+", default=-1)
    leader_epoch: int = field(INT32, "10+", default=-1)


class PartitionProduceResponse(Message):
    index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    base_offset: int = field(INT64, "0+", default=0)
    log_append_time_ms: int = field(INT64, "2+", default=-1)
    log_start_offset: int = field(INT64, "5+", default=-1)
    record_errors: Sequence[BatchIndexAndErrorMessage] = field(ArrayOf(BatchIndexAndErrorMessage), "8+", default=())
    error_message: str | None = field(STRING, "8+", default=None, nullable="8+")
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, "10+", default=None, tag=0, tagged="10+")


class TopicProduceResponse(Message):
    name: str = field(STRING, "0-12", default="")
    topic_id: Uuid = field(UUID, "13+", default=ZERO_UUID)
    partition_responses: Sequence[PartitionProduceResponse] = field(ArrayOf(PartitionProduceResponse), "0+", default=())


class NodeEndpoint(Message):
    node_id: int = field(INT32, "10+", default=0)
    host: str = field(STRING, "10+", default="")
    port: int = field(INT32, "10+", default=0)
    rack: str | None = field(STRING, "10+", default=None, nullable="10+")


class ProduceResponse(Message, api_key=0, versions="3-13", flexible="9+"):
    responses: Sequence[TopicProduceResponse] = field(ArrayOf(TopicProduceResponse), "0+", default=())
    throttle_time_ms: int = field(INT32, "1+", default=0)
    node_endpoints: Sequence[NodeEndpoint] = field(ArrayOf(NodeEndpoint), "10+", default=(), tag=0, tagged="10+")
