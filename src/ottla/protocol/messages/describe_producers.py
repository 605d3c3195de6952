"""DescribeProducers (api key 61)."""

from collections.abc import Sequence

from ottla.protocol.message import INT16, INT32, INT64, STRING, ArrayOf, Message, field


class TopicRequest(Message):
    name: str = field(STRING, "0+", default="")
    partition_indexes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class DescribeProducersRequest(Message, api_key=61, versions="0", flexible="0+"):
    topics: Sequence[TopicRequest] = field(ArrayOf(TopicRequest), "0+", default=())


class ProducerState(Message):
    producer_id: int = field(INT64, "0+", default=0)
    producer_epoch: int = field(INT32, "0+", default=0)
    last_sequence: int = field(INT32, "0+", default=-1)
    last_timestamp: int = field(INT64, "0+", default=-1)
    coordinator_epoch: int = field(INT32, "0+", default=0)
    current_txn_start_offset: int = field(INT64, "0+", default=-1)


class PartitionResponse(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    active_producers: Sequence[ProducerState] = field(ArrayOf(ProducerState), "0+", default=())


class TopicResponse(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[PartitionResponse] = field(ArrayOf(PartitionResponse), "0+", default=())


class DescribeProducersResponse(Message, api_key=61, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    topics: Sequence[TopicResponse] = field(ArrayOf(TopicResponse), "0+", default=())
