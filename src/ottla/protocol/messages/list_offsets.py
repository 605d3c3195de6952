"""ListOffsets (api key 2)."""

from collections.abc import Sequence

from ottla.protocol.message import INT8, INT16, INT32, INT64, STRING, ArrayOf, Message, field


class ListOffsetsPartition(Message):
    partition_index: int = field(INT32, "0+", default=0)
    current_leader_epoch: int = field(INT32, "4+", default=-1)
    timestamp: int = field(INT64, "0+", default=0)


class ListOffsetsTopic(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[ListOffsetsPartition] = field(ArrayOf(ListOffsetsPartition), "0+", default=())


class ListOffsetsRequest(Message, api_key=2, versions="1-11", flexible="6+"):
    replica_id: int = field(INT32, "0+", default=0)
    isolation_level: int = field(INT8, "2+", default=0)
    topics: Sequence[ListOffsetsTopic] = field(ArrayOf(ListOffsetsTopic), "0+", default=())
    timeout_ms: int = field(INT32, "10+", default=0)


class ListOffsetsPartitionResponse(Message):
    partition_index: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    timestamp: int = field(INT64, "1+", default=-1)
    offset: int = field(INT64, "1+", default=-1)
    leader_epoch: int = field(INT32, "4+", default=-1)


class ListOffsetsTopicResponse(Message):
    name: str = field(STRING, "0+", default="")
    partitions: Sequence[ListOffsetsPartitionResponse] = field(ArrayOf(ListOffsetsPartitionResponse), "0+", default=())


class ListOffsetsResponse(Message, api_key=2, versions="1-11", flexible="6+"):
    throttle_time_ms: int = field(INT32, "2+", default=0)
    topics: Sequence[ListOffsetsTopicResponse] = field(ArrayOf(ListOffsetsTopicResponse), "0+", default=())
